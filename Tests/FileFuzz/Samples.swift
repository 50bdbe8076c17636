import Driftless
import DriftlessSQLite
import Foundation
import TestSupport

/// What mutants are made of: files that are made here, and real ones where a folder of them is given.
struct Samples {
  /// Models in XML, archives, or stores, as files' bytes.
  private(set) var files: [Data] = []
  /// The store that formats are asked of, and a model for stores that say of none.
  let store: PersistentStore
  /// A store with large values in files beside it, where those are changed.
  private(set) var pages: PersistentStore?
  /// Models that a store of ``model(isFrozen:)`` is migrated to.
  private(set) var newer: [ManagedObjectModel] = []
  /// What stands in such files and may stand at another place.
  let words: [String]

  init(_ kind: Kind, folder: URL, real: URL?) throws {
    let url = folder.appendingPathComponent("sample.sqlite")
    store = try PersistentStore.open(url: url, model: try Self.model())
    try Self.fill(store)
    switch kind {
    case .model:
      words = Self.wordsOfModels
      files = [try ModelDocument.xml(of: try Self.model())]
      files += Self.real(real) {
        $0.hasSuffix("xcdatamodel/contents") || $0.hasSuffix("xcmapping.xml")
      }
    case .archive:
      words = Self.wordsOfArchives
      files = [try ModelArchive.encode(try Self.model())]
      files += Self.real(real) { $0.hasSuffix(".mom") || $0.hasSuffix(".cdm") }
    case .format, .grammar, .predicate: words = Self.wordsOfFormats
    case .binary: words = []
    case .side:
      words = []
      pages = try SideFileTrial.makeSample(in: folder)
    case .migration:
      words = ["Z_PK", "ZNAME", "NULL"]
      let copy = folder.appendingPathComponent("copy.sqlite")
      try store.backup(to: copy)
      files = [try Data(contentsOf: copy)]
      newer = try MigrationTrial.models()
    case .store:
      words = ["CREATE VIEW", "SELECT", "Z_PK", "ZNAME", "NULL"]
      let copy = folder.appendingPathComponent("copy.sqlite")
      try store.backup(to: copy)
      files = [try Data(contentsOf: copy)]
      files += Self.real(real) { $0.hasSuffix(".sqlite") }.filter { $0.count < 300_000 }
    }
  }

  func file(_ numbers: inout SeededNumbers) -> Data { files[numbers.number(below: files.count)] }

  /// The real files under a folder whose paths fit.
  private static func real(_ folder: URL?, where fits: (String) -> Bool) -> [Data] {
    guard let folder, let names = FileManager.default.enumerator(atPath: folder.path) else {
      return []
    }
    var paths: [String] = []
    while let name = names.nextObject() as? String { if fits(name) { paths.append(name) } }
    return paths.sorted().compactMap { try? Data(contentsOf: folder.appendingPathComponent($0)) }
  }

  // MARK: The store

  /// Every type of attribute, each kind of relationship, an entity beneath another one.
  static func model(isFrozen: Bool = true) throws -> ManagedObjectModel {
    let book = EntityDescription("Book")
    let count = DerivedAttributeDescription()
    count.name = "tagCount"
    count.type = .integer64
    count.derivationExpressionFormat = "tags.@count"
    let place = CompositeAttributeDescription()
    place.name = "place"
    place.elements = [AttributeDescription("lat", .double), AttributeDescription("lon", .double)]
    book.properties = [
      AttributeDescription("name", .string), AttributeDescription("pages", .integer32),
      AttributeDescription("price", .decimal), AttributeDescription("weight", .double),
      AttributeDescription("made", .date), AttributeDescription("isOpen", .boolean),
      AttributeDescription("code", .uuid), AttributeDescription("photo", .binaryData),
      AttributeDescription("link", .uri), count, place,
      RelationshipDescription("writer", to: "Writer", inverse: "books"),
      RelationshipDescription("tags", to: "Tag", inverse: "books", toMany: true),
    ]
    book.uniquenessConstraints = [["code"]]
    book.indexes = [
      FetchIndexDescription(
        name: "byName", elements: [FetchIndexElementDescription(propertyName: "name")])
    ]
    let novel = EntityDescription("Novel")
    novel.properties = [AttributeDescription("genre", .string)]
    book.subentities = [novel]
    let writer = EntityDescription("Writer")
    writer.properties = [
      AttributeDescription("name", .string), AttributeDescription("born", .integer16),
      RelationshipDescription(
        "books", to: "Book", inverse: "writer", toMany: true, isOrdered: true),
    ]
    let tag = EntityDescription("Tag")
    tag.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("books", to: "Book", inverse: "tags", toMany: true),
    ]
    let model = ManagedObjectModel(entities: [book, novel, writer, tag])
    if isFrozen { try model.freeze() }
    return model
  }

  private static func fill(_ store: PersistentStore) throws {
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    let tags = try (0..<3).map { try make("Tag", ["name": "tag \($0)"], context) }
    let writer = try make("Writer", ["name": "Ada", "born": Int64(1815)], context)
    for index in 0..<6 {
      let values: [String: Any] = [
        "name": "Book \(index)", "pages": Int64(index * 100), "price": Decimal(index),
        "weight": Double(index) / 3, "made": Date(timeIntervalSinceReferenceDate: Double(index)),
        "isOpen": index > 2, "code": UUID(), "photo": Data([1, 2]),
        "link": URL(string: "https://a.b/\(index)") as Any,
      ]
      let book = try make(index > 3 ? "Novel" : "Book", values, context)
      if index != 2 { try book.setValue(writer, forKey: "writer") }
      try book.setValue(Set(tags.prefix(index % 4)), forKey: "tags")
    }
    try context.save()
    try writer.setValue("Ada L.", forKey: "name")
    context.delete(tags[0])
    try context.save()
  }

  private static func make(
    _ entity: String, _ values: [String: Any], _ context: ManagedObjectContext
  ) throws -> ManagedObject {
    let object = try context.insert(entityNamed: entity)
    for (name, value) in values { try object.setValue(value, forKey: name) }
    return object
  }

  // MARK: Words

  static let formats = [
    "name == %@ AND pages > 3", "name CONTAINS[cd] 'x' OR NOT pages BETWEEN {1, 300}",
    "ANY tags.name IN {'tag 1', %@}", "ALL tags.name LIKE[c] 't*' AND writer.born >= %d",
    "SUBQUERY(tags, $t, $t.name ENDSWITH '1' AND $t.books.@count > 1).@count == 1",
    "writer.books.@max.pages > writer.books.@avg.pages + 1", "uppercase:(name) BEGINSWITH 'B'",
    "price * 2 - 1 > -pages / 3 ** 2", "made < CAST(700000000.5, 'NSDate')", "SELF IN %@",
    "code == CAST('6BA7B810-9DAD-11D1-80B4-00C04FD430C8', 'UUID')", "place.lat > 0x1F",
    "name MATCHES '[A-Z].*\\\\d+'", "TERNARY(pages > 3, name, 'x') == 'x'", "%K != nil",
    "NONE tags.books.name == $name", "length:(name) == 6", "tags.@count == 2", "photo != NULL",
    "FETCH(%@, %@, NO).@count > 0", "bitwiseAnd:with:(pages, 4) == 4", "TRUEPREDICATE",
    "{1, 2, pages} CONTAINS pages", "writer.books[FIRST].name == 'Book 0'", "isOpen == YES",
    "median:({1, pages, 3}) > 1", "function(name, 'length') > 2", "name ==[n] 'Book 1'",
    "sum:(writer.books.pages) > 3 AND now() > made", "name < 'Book 3' && name >= %@",
  ]

  private static let wordsOfFormats = [
    "AND", "OR", "NOT", "ANY", "ALL", "NONE", "SUBQUERY(", "$x", "$FETCH_SOURCE", "SELF", "nil",
    "%@", "%K", "%d", "%ld", "%%", "CONTAINS[cd]", "MATCHES", "LIKE", "IN", "BETWEEN", "@count",
    "@sum", ".@distinctUnionOfObjects.name", "TERNARY(", "CAST(", "FETCH(", "[FIRST]", "[SIZE]",
    "[0]", "{", "}", "(", ")", "'", "\"", "\\", "1e999", "-9223372036854775808", "0x", "**", "/",
    "name", "pages", "tags", "writer.books.tags.books", "#and", "TRUEPREDICATE", ":=", "==",
    "raise:toPower:(", "sqrt:(", "stddev:(", "random:(", "castObject:toType:(", "%", "'(a+)+$'",
  ]

  private static let wordsOfModels = [
    "<entity name=\"Book\">", "</entity>", "<attribute name=\"x\" attributeType=\"", "Integer 16",
    "Transformable", "<relationship ", " toMany=\"YES\"", " optional=\"NO\"", " maxCount=\"1\"",
    " minCount=\"-1\"", " parentEntity=\"Book\"", " inverseName=\"x\"", " ordered=\"YES\"",
    " derivationExpression=\"tags.@count\"", " defaultValueString=\"1e999\"", "<fetchIndex ",
    "<uniquenessConstraint>", "<!DOCTYPE a [<!ENTITY b \"c\">]>", "&b;", "&#0;", "<![CDATA[",
    "<!--",
    " elementID=\"1\"", " renamingIdentifier=\"Tag\"", " attributeType=\"Composite\"",
    " fetchRequestPredicate=\"", "\"", "<", ">", "/>", "&", "é", " abstract=\"YES\"",
  ]

  private static let wordsOfArchives = [
    "NSEntities", "NSProperties", "$objects", "$top", "NS.keys", "NSSuperentity", "NSDictionary",
    "[", "]", "{", "}", "\"entities\":", "\"name\":\"Book\"", "\"type\":", "null", "-1", "1e999",
    "NSManagedObjectModel", "NSPredicate", "NSDestinationEntity", ",", "\u{0}",
  ]
}
