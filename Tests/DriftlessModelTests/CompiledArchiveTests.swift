import Foundation
import TestSupport
import Testing

@testable import Driftless

/// What the archive of a compiled model can hold, and archives that are meant to do harm.
struct CompiledArchiveTests {
  private typealias Value = ArchiveBuilder.Value

  private static func list(_ values: [Value]) -> Value {
    .object("NSMutableArray", ["NS.objects": .array(values)])
  }

  private static func expression(_ type: Int, _ more: [String: Value]) -> Value {
    .object("NSExpression", ["NSExpressionType": .integer(type)].merging(more) { $1 })
  }

  private static let itself = expression(1, [:])

  private static func constant(_ value: Value) -> Value {
    expression(0, ["NSConstantValue": value])
  }

  /// `$variable.path`, or the path from the object itself.
  private static func path(_ path: String, of variable: String? = nil) -> Value {
    let base = variable.map { expression(2, ["NSVariable": .text($0)]) } ?? itself
    return expression(
      4,
      [
        "NSOperand": base, "NSSelectorName": .text("valueForKeyPath:"),
        "NSArguments": list([expression(10, ["NSKeyPath": .text(path)])]),
      ])
  }

  private static func comparison(_ left: Value, _ sign: Int, _ right: Value) -> Value {
    .object(
      "NSComparisonPredicate",
      [
        "NSLeftExpression": left, "NSRightExpression": right,
        "NSPredicateOperator": .object(
          "NSPredicateOperator", ["NSOperatorType": .integer(sign), "NSModifier": .integer(0)]),
      ])
  }

  private static func compound(_ type: Int, _ parts: [Value]) -> Value {
    .object(
      "NSCompoundPredicate",
      ["NSCompoundPredicateType": .integer(type), "NSSubpredicates": list(parts)])
  }

  /// A model with what the real ones here do not have.
  static let full = ArchiveBuilder.model(
    [
      "Base": ArchiveBuilder.entity(
        "Base", [:],
        [
          "NSIsAbstract": .bool(true), "NSClassNameForEntity": .text("NSManagedObject"),
          "NSVersionHashModifier": .text("v2"), "NSRenamingIdentifier": .text("Root"),
          "NSUserInfo": .dictionary(["driftless.deletePolicy": .text("editWins")]),
        ]),
      "Book": ArchiveBuilder.entity(
        "Book",
        [
          "title": ArchiveBuilder.attribute(
            "title", 700,
            [
              "NSRenamingIdentifier": .text("name"),
              "NSValidationPredicates": list([
                comparison(path("length"), 3, constant(.integer(2))),
                comparison(path("length"), 1, constant(.integer(80))),
                comparison(itself, 6, constant(.text("[A-Z].*"))),
                comparison(itself, 5, constant(.text("Untitled"))),
              ]),
              "NSValidationWarnings": list([
                .integer(1670), .null, .text(""), .text("Give it a title"),
              ]),
            ]),
          "count": ArchiveBuilder.attribute(
            "count", 300,
            [
              "NSIsOptional": .bool(true),
              "NSDerivationExpression": expression(10, ["NSKeyPath": .text("pages.@count")]),
            ], class: "NSDerivedAttributeDescription"),
          "place": ArchiveBuilder.attribute(
            "place", 2100,
            [
              "NSElements": list([
                ArchiveBuilder.attribute("lat", 500), ArchiveBuilder.attribute("lon", 500),
              ])
            ], class: "NSCompositeAttributeDescription"),
          "pages": .object(
            "NSRelationshipDescription",
            [
              "NSPropertyName": .text("pages"), "_NSDestinationEntityName": .text("Page"),
              "_NSInverseRelationshipName": .text("book"), "NSDeleteRule": .integer(2),
              "NSMaxCount": .integer(0), "NSMinCount": .integer(0), "NSIsOrdered": .bool(true),
              "NSIsOptional": .bool(true),
            ]),
          "twins": .object(
            "NSFetchedPropertyDescription",
            [
              "NSPropertyName": .text("twins"), "NSIsOptional": .bool(true),
              "NSFetchRequest": .object(
                "NSFetchRequest",
                [
                  "NSEntity": .reference("Book"), "NSFetchLimit": .integer(3),
                  "NSPredicate": compound(
                    1,
                    [
                      comparison(path("title", of: "FETCH_SOURCE"), 4, path("title")),
                      compound(0, [comparison(path("title"), 8, constant(.text("x")))]),
                    ]),
                ]),
            ]),
        ],
        [
          "NSSuperentity": .reference("Base"),
          "NSUniqueTuples": list([list([.text("title")])]),
          "NSFetchIndexDescriptions": list([
            .object(
              "NSFetchIndexDescription",
              [
                "NSIndexName": .text("byTitle"),
                "NSPartialIndexPredicate": comparison(path("title"), 5, constant(.null)),
                "NSIndexElements": list([
                  .object(
                    "NSFetchIndexElementDescription",
                    [
                      "NSPropertyName": .text("title"), "NSFetchIndexElementType": .integer(0),
                      "NSAscending": .bool(false),
                    ])
                ]),
              ])
          ]),
        ]),
      "Page": ArchiveBuilder.entity(
        "Page",
        [
          "book": .object(
            "NSRelationshipDescription",
            [
              "NSPropertyName": .text("book"), "NSDestinationEntity": .reference("Book"),
              "_NSInverseRelationshipName": .text("pages"), "NSDeleteRule": .integer(1),
              "NSMaxCount": .integer(1), "NSIsOptional": .bool(true),
            ])
        ],
        ["NSCompoundIndexes": list([list([.text("book")])])]),
    ],
    templates: [
      "long": .object(
        "NSFetchRequest",
        [
          "NSEntityName": .text("Book"), "NSPredicate": .text("title.length > $least"),
          "NSBatchSize": .integer(20),
        ])
    ],
    configurations: [
      "Local": .object(
        "NSSet", ["NS.objects": .array([.reference("Page"), .reference("Book")])])
    ],
    identifiers: ["1", "two"])

  private static let source = """
    <model userDefinedModelVersionIdentifier="">
    <entity name="Base" isAbstract="YES" versionHashModifier="v2" elementID="Root">
      <userInfo><entry key="driftless.deletePolicy" value="editWins"/></userInfo></entity>
    <entity name="Book" representedClassName="Book" parentEntity="Base">
      <attribute name="title" attributeType="String" elementID="name" minValueString="2"
        maxValueString="80" regularExpressionString="[A-Z].*"/>
      <attribute name="count" optional="YES" attributeType="Integer 64" derived="YES"
        derivationExpression="pages.@count"/>
      <attribute name="place" attributeType="Composite" composite="place"/>
      <relationship name="pages" optional="YES" toMany="YES" ordered="YES" deletionRule="Cascade"
        destinationEntity="Page" inverseName="book" inverseEntity="Page"/>
      <fetchedProperty name="twins" optional="YES">
        <fetchRequest name="fetchedPropertyFetchRequest" entity="Book"
          predicateString="$FETCH_SOURCE.title == title AND NOT title BEGINSWITH &quot;x&quot;"/>
      </fetchedProperty>
      <fetchIndex name="byTitle" partialIndexPredicate="title != nil">
        <fetchIndexElement property="title" type="Binary" order="descending"/></fetchIndex>
      <uniquenessConstraints><uniquenessConstraint><constraint value="title"/>
      </uniquenessConstraint></uniquenessConstraints>
    </entity>
    <entity name="Page" representedClassName="Page">
      <relationship name="book" optional="YES" maxCount="1" deletionRule="Nullify"
        destinationEntity="Book" inverseName="pages" inverseEntity="Book"/>
      <compoundIndexes><compoundIndex><index value="book"/></compoundIndex></compoundIndexes>
    </entity>
    <composite name="place"><attribute name="lat" attributeType="Double"/>
      <attribute name="lon" attributeType="Double"/></composite>
    <fetchRequest name="long" entity="Book" predicateString="title.length &gt; $least"
      fetchBatchSize="20"/>
    <configuration name="Local"><memberEntity name="Book"/><memberEntity name="Page"/>
    </configuration>
    </model>
    """

  @Test("An archive with everything in it reads as the XML that says the same")
  func everything() throws {
    let compiled = try ManagedObjectModel(compiled: Self.full)
    #expect(compiled.versionIdentifiers == ["1", "two"])
    let title = try #require(compiled.entitiesByName["Book"]?.attributesByName["title"])
    #expect(title.validationPredicates.count == 4)
    #expect(title.validationWarnings.last == "Give it a title")
    #expect(title.minimum == .integer(2) && title.maximum == .integer(80))
    // What a model file has no place for.
    compiled.versionIdentifiers = []
    title.setValidationPredicates(
      Array(title.validationPredicates.prefix(3)),
      withValidationWarnings: Array(title.validationWarnings.prefix(3)))
    let written = try ManagedObjectModel(xml: Data(Self.source.utf8))
    for entity in written.entities {
      for case let composite as CompositeAttributeDescription in entity.ownProperties {
        composite.attributeValueClassName = nil
      }
      for case let fetched as FetchedPropertyDescription in entity.ownProperties {
        #expect(fetched.fetchRequest?.predicate?.description == fetched.fetchPredicate)
      }
    }
    #expect(
      String(decoding: try ModelArchive.meaning(of: compiled), as: UTF8.self)
        == String(decoding: try ModelArchive.meaning(of: written), as: UTF8.self))
    try compiled.freeze()
    try written.freeze()
    #expect(compiled.entityVersionHashesByName == written.entityVersionHashesByName)
    #expect(compiled.entitiesByName["Base"]?.deletePolicy == .editWins)
    let request = try compiled.fetchRequestFromTemplate(
      withName: "long", substitutionVariables: ["least": 3])
    #expect(request?.predicate == (try FetchPredicate(format: "title.length > 3")))
  }

  private func failure(_ bytes: Data) -> ModelError? {
    do {
      try ManagedObjectModel(compiled: bytes, path: "M.mom").freeze()
      return nil
    } catch {
      return error
    }
  }

  @Test("What is no archive of a model is refused by a typed error that names the file")
  func refusals() throws {
    for text in ["", "bplist00", "<?xml version=\"1.0\"?><plist><dict/></plist>"] {
      #expect(failure(Data(text.utf8))?.code == .malformed)
      #expect(failure(Data(text.utf8))?.element == "M.mom")
    }
    #expect(failure(Data(repeating: 0xFF, count: 4096))?.code == .malformed)
    let other = ArchiveBuilder.archive(.object("NSMappingModel", [:]))
    #expect(failure(other)?.code == .unsupportedFormat)
    let strange = ArchiveBuilder.model([
      "A": ArchiveBuilder.entity("A", ["x": ArchiveBuilder.attribute("x", 700, class: "NSOdd")])
    ])
    #expect(failure(strange)?.element == "A.x" && failure(strange)?.code == .unsupportedFormat)
    let untyped = ArchiveBuilder.model([
      "A": ArchiveBuilder.entity("A", ["x": ArchiveBuilder.attribute("x", 701)])
    ])
    #expect(failure(untyped)?.code == .unknownType)
    let dangling = ArchiveBuilder.model(["A": .reference("nothing")])
    #expect(failure(dangling)?.code == .malformed)
  }

  @Test("Archives whose objects hold themselves, or nest without end, are refused at once")
  func bombs() throws {
    let circle = Value.named(
      "c", "NSCompositeAttributeDescription",
      [
        "NSPropertyName": .text("c"), "NSAttributeType": .integer(2100),
        "NSElements": Self.list([.reference("c"), .reference("c")]),
      ])
    let composites = ArchiveBuilder.model(["A": ArchiveBuilder.entity("A", ["c": circle])])
    #expect(failure(composites)?.code == .tooLarge)
    let loop = Value.named(
      "p", "NSCompoundPredicate",
      [
        "NSCompoundPredicateType": .integer(1),
        "NSSubpredicates": Self.list([.reference("p"), .reference("p")]),
      ])
    let predicates = ArchiveBuilder.model([
      "A": ArchiveBuilder.entity(
        "A",
        ["x": ArchiveBuilder.attribute("x", 700, ["NSValidationPredicates": Self.list([loop])])])
    ])
    #expect(failure(predicates)?.code == .unsupportedFormat)
    let echo = Value.named("s", "NSMutableString", ["NS.string": .reference("s")])
    let texts = ArchiveBuilder.model([
      "A": ArchiveBuilder.entity("A", [:], ["NSVersionHashModifier": echo])
    ])
    #expect(failure(texts) == nil)
    let inheriting = ArchiveBuilder.model([
      "A": ArchiveBuilder.entity("A", [:], ["NSSuperentity": .reference("A")])
    ])
    #expect(failure(inheriting)?.code == .cyclicInheritance)
  }

  @Test("One property under thousands of names does not become thousands in thousands of entities")
  func repetition() throws {
    let property = Value.named(
      "p", "NSAttributeDescription", ["NSAttributeType": .integer(700)])
    var properties: [String: Value] = [:]
    for number in 0..<500 { properties["p\(number)"] = number == 0 ? property : .reference("p") }
    let all = Value.named(
      "all", "NSDictionary",
      [
        "NS.keys": .array(properties.keys.sorted().map { .text($0) }),
        "NS.objects": .array(properties.keys.sorted().map { properties[$0] ?? .null }),
      ])
    var entities: [String: Value] = [:]
    for number in 0..<500 {
      entities["E\(number)"] = .object(
        "NSEntityDescription", ["NSProperties": number == 0 ? all : .reference("all")])
    }
    #expect(failure(ArchiveBuilder.model(entities))?.code == .malformed)
  }

  @Test("A list whose objects overlap is read no more than a few times over")
  func overlap() throws {
    // 20,000 objects that are all one array of 20,000 references: 400 million of them, unfolded.
    let count = 20_000
    var bytes = Array("bplist00".utf8)
    bytes += [0xAF, 0x11, UInt8(count >> 8), UInt8(count & 0xFF)]
    for number in 0..<count { bytes += [UInt8(number >> 8), UInt8(number & 0xFF)] }
    let table = bytes.count
    for _ in 0..<count { bytes += [0, 8] }
    bytes += [0, 0, 0, 0, 0, 0, 2, 2]
    for value in [count, 0, table] {
      bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
    let list = try BinaryPropertyList(Data(bytes))
    #expect(throws: BinaryPropertyList.Damage.self) {
      for index in 0..<count { _ = try list.object(at: index) }
    }
    #expect(failure(Data(bytes))?.code == .malformed)
  }

  @Test("Damaged archives give an error or a model, never a trap", arguments: 0..<20)
  func damage(seed: Int) throws {
    var numbers = SeededNumbers(seed: UInt64(seed) &+ 3000)
    var samples = [Self.full]
    samples += try RealModels.compiled().map { try Data(contentsOf: $0) }
    for sample in samples {
      for _ in 0..<60 {
        var damaged = sample
        for _ in 0...Int.random(in: 0..<4, using: &numbers) {
          let index = Int.random(in: 0..<damaged.count, using: &numbers)
          damaged[index] = UInt8.random(in: .min ... .max, using: &numbers)
        }
        if Int.random(in: 0..<4, using: &numbers) == 0 {
          // The trailer stays: without it nothing is looked at.
          let tail = damaged.suffix(32)
          damaged = damaged.prefix(Int.random(in: 0..<damaged.count, using: &numbers)) + tail
        }
        let error = failure(Data(damaged))
        #expect(error == nil || error?.suggestion.isEmpty == false)
      }
    }
  }
}
