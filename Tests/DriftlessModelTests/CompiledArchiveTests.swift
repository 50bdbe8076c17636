import Foundation
import TestSupport
import Testing

@testable import Driftless

/// What the archive of a compiled model can hold.
struct CompiledArchiveTests {
  typealias Value = ArchiveBuilder.Value

  static func list(_ values: [Value]) -> Value {
    .object("NSMutableArray", ["NS.objects": .array(values)])
  }

  private static func expression(_ type: Int, _ more: [String: Value]) -> Value {
    .object("NSExpression", ["NSExpressionType": .integer(type)].merging(more) { $1 })
  }

  private static let itself = expression(1, [:])

  private static func constant(_ value: Value) -> Value {
    expression(0, ["NSConstantValue": value])
  }

  /// `$variable.path`, or the path from the object itself, as Core Data archives them.
  private static func path(_ path: String, of variable: String? = nil) -> Value {
    let base = variable.map { expression(2, ["NSVariable": .text($0)]) } ?? itself
    return expression(
      variable == nil ? 3 : 4,
      [
        "NSOperand": base,
        "NSSelectorName": .text(variable == nil ? "valueForKey:" : "valueForKeyPath:"),
        "NSArguments": list([expression(10, ["NSKeyPath": .text(path)])]),
      ])
  }

  private static func comparison(
    _ left: Value, _ sign: Int, _ right: Value, options: Int = 0
  ) -> Value {
    .object(
      "NSComparisonPredicate",
      [
        "NSLeftExpression": left, "NSRightExpression": right,
        "NSPredicateOperator": .object(
          "NSPredicateOperator",
          [
            "NSOperatorType": .integer(sign), "NSModifier": .integer(0),
            "NSFlags": .integer(options),
          ]),
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
              "NSDerivationExpression": expression(
                4,
                [
                  "NSOperand": expression(
                    0, ["NSConstantValueClassName": .text("_NSPredicateUtilities")]),
                  "NSSelectorName": .text("count:"), "NSArguments": list([path("pages")]),
                ]),
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
              "NSMaxCount": .integer(-1), "NSMinCount": .integer(0), "NSIsOrdered": .bool(true),
              "NSIsOptional": .bool(true),
            ]),
          "twins": .object(
            "NSFetchedPropertyDescription",
            [
              "NSPropertyName": .text("twins"), "NSIsOptional": .bool(true),
              "NSIsTransient": .bool(true), "NSIsReadOnly": .bool(true),
              "NSFetchRequest": .object(
                "NSFetchRequest",
                [
                  "NSEntity": .reference("Book"), "NSFetchLimit": .integer(3),
                  "NSPredicate": compound(
                    1,
                    [
                      comparison(path("title", of: "FETCH_SOURCE"), 4, path("title")),
                      compound(0, [comparison(path("title"), 8, constant(.text("x")))]),
                      comparison(path("title"), 99, constant(.text("y")), options: 1),
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
          "NSBatchSize": .integer(20), "NSHasFetchRequestFlags": .bool(true),
          "NSSortDescriptors": list([
            .object(
              "NSSortDescriptor",
              [
                "NSKey": .text("title"), "NSAscending": .bool(false),
                "NSSelector": .text("caseInsensitiveCompare:"),
              ])
          ]),
        ])
    ],
    configurations: [
      "Local": .object(
        "NSSet", ["NS.objects": .array([.reference("Page"), .reference("Book")])])
    ],
    identifiers: ["1", "", "two"])

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
          predicateString="$FETCH_SOURCE.title == title AND NOT title BEGINSWITH &quot;x&quot; AND title CONTAINS[c] &quot;y&quot;"/>
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
    let long = try #require(compiled.fetchRequestTemplate(forName: "long"))
    #expect(long.sort == [FetchSort("title", ascending: false, options: .caseInsensitive)])
    // A compiled model names the class of objects that have none of their own.
    for entity in compiled.entities where entity.managedObjectClassName == "NSManagedObject" {
      entity.managedObjectClassName = nil
    }
    // What a model file has no place for.
    compiled.versionIdentifiers = []
    compiled.fetchRequestTemplatesByName["long"]?.sort = []
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

  @Test("A default of the application's own class is left out, as are keys that have no value")
  func foreignDefaults() throws {
    let cover = ArchiveBuilder.attribute(
      "cover", 1800, ["NSDefaultValue": .object("Shop.Cover", ["text": .text("x")])])
    // The form in which a model in use keeps its entities.
    let mapping = Value.object(
      "NSKnownKeysMappingStrategy1",
      ["keys": Self.list([.text("A"), .text("Gone")])])
    let entities = Value.object(
      "NSKnownKeysDictionary1",
      [
        "searchMapping": mapping, "emptyToken": .text("none"),
        "values": Self.list([ArchiveBuilder.entity("A", ["cover": cover]), .text("none")]),
      ])
    let bytes = ArchiveBuilder.archive(
      .object("NSManagedObjectModel", ["NSEntities": entities]))
    let model = try ManagedObjectModel(compiled: bytes)
    try model.freeze()
    #expect(model.entities.map(\.name) == ["A"])
    #expect(model.entities[0].attributesByName["cover"]?.defaultValue == .null)
  }
}
