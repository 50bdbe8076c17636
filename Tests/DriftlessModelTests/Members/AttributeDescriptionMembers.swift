import Foundation
import Testing

@testable import Driftless

/// Each member of `NSAttributeDescription`, `NSDerivedAttributeDescription` and
/// `NSCompositeAttributeDescription`.
struct AttributeDescriptionMembers {
  private func roundTrips(_ attribute: AttributeDescription) throws -> [AttributeDescription] {
    let entity = EntityDescription("A")
    entity.properties = [attribute]
    let model = ManagedObjectModel(entities: [entity])
    let copies = [try model.copy(), try ManagedObjectModel(xml: ModelDocument.xml(of: model))]
    return try copies.map { try #require($0.entities[0].attributesByName[attribute.name]) }
  }

  @Test("A new attribute has no type and no default")
  func defaults() {
    let attribute = AttributeDescription()
    #expect(attribute.type == .undefined && attribute.attributeType == .undefined)
    #expect(attribute.defaultValue == .null && attribute.valueTransformerName == nil)
    #expect(attribute.attributeValueClassName == nil)
    #expect(!attribute.allowsExternalBinaryDataStorage && !attribute.allowsCloudEncryption)
    #expect(!attribute.preservesValueInHistoryOnDeletion)
    attribute.attributeType = .date
    #expect(attribute.type == AttributeDescription.AttributeType.date)
  }

  @Test("The types have Core Data's numbers and value classes")
  func types() {
    let expected: [(AttributeType, Int, String?)] = [
      (.undefined, 0, nil), (.integer16, 100, "NSNumber"), (.integer32, 200, "NSNumber"),
      (.integer64, 300, "NSNumber"), (.decimal, 400, "NSDecimalNumber"),
      (.double, 500, "NSNumber"), (.float, 600, "NSNumber"), (.string, 700, "NSString"),
      (.boolean, 800, "NSNumber"), (.date, 900, "NSDate"), (.binaryData, 1000, "NSData"),
      (.uuid, 1100, "NSUUID"), (.uri, 1200, "NSURL"), (.transformable, 1800, nil),
      (.objectID, 2000, nil), (.composite, 2100, nil),
    ]
    #expect(expected.map(\.0) == AttributeType.allCases)
    for (type, number, className) in expected {
      #expect(type.rawValue == number)
      let attribute = AttributeDescription("x", type)
      #expect(attribute.attributeValueClassName == className)
      attribute.attributeValueClassName = "Mine"
      #expect(attribute.attributeValueClassName == "Mine")
    }
  }

  @Test("Every type keeps its default and its range through a copy and a model file")
  func defaultsAndRanges() throws {
    let (early, late) = (
      Date(timeIntervalSinceReferenceDate: -5.5), Date(timeIntervalSinceReferenceDate: 99)
    )
    let uri = PropertyValue.uri(try #require(URL(string: "https://example.org/a?b=c")))
    let cases: [(AttributeType, PropertyValue, PropertyValue?, PropertyValue?)] = [
      (.integer16, .integer(-3), .integer(-32_768), .integer(32_767)),
      (.integer32, .integer(7), .integer(-9), .integer(1 << 30)),
      (.integer64, .integer(.max), .integer(.min), .integer(.max)),
      (.decimal, .decimal(Decimal(string: "0.1") ?? 0), .decimal(-1), .decimal(12)),
      (.double, .double(0.1), .double(-1e300), .double(1e300)),
      (.float, .double(0.5), .double(0), .double(1)),
      (.string, .string("<&\"'>\n"), .integer(1), .integer(80)),
      (.boolean, .bool(true), nil, nil), (.date, .date(early), .date(early), .date(late)),
      (.binaryData, .data(Data([0, 255])), nil, nil), (.uuid, .uuid(UUID()), nil, nil),
      (.uri, uri, nil, nil), (.transformable, .data(Data([1])), nil, nil),
    ]
    for (type, value, least, greatest) in cases {
      let attribute = AttributeDescription("x", type, defaultValue: value)
      (attribute.minimum, attribute.maximum) = (least, greatest)
      for copy in try roundTrips(attribute) {
        #expect(copy.type == type && copy.defaultValue == value, "\(type)")
        #expect(copy.minimum == least && copy.maximum == greatest, "\(type)")
      }
    }
  }

  @Test("A new object has its defaults at once")
  func defaultsOfObjects() throws {
    let entity = EntityDescription("A")
    entity.properties = [
      AttributeDescription("n", .integer16, defaultValue: .integer(7)),
      AttributeDescription("s", .string, isOptional: false, defaultValue: .string("")),
      AttributeDescription("none", .date),
    ]
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: ManagedObjectModel(entities: [entity]))
    try coordinator.addPersistentStore(at: nil)
    let context = ManagedObjectContext(coordinator)
    let object = try context.insert(entityNamed: "A")
    #expect(try object.value(forKey: "n") as? Int64 == 7)
    #expect(try object.value(forKey: "s") as? String == "")
    #expect(try object.value(forKey: "none") == nil)
  }

  @Test("Switches of storage, history and cloud are kept, and are in no hash")
  func switches() throws {
    let attribute = AttributeDescription("x", .binaryData)
    let hash = attribute.versionHash
    attribute.allowsExternalBinaryDataStorage = true
    attribute.preservesValueInHistoryOnDeletion = true
    attribute.allowsCloudEncryption = true
    #expect(attribute.versionHash == hash)
    for copy in try roundTrips(attribute) {
      #expect(copy.allowsExternalBinaryDataStorage && copy.preservesValueInHistoryOnDeletion)
      #expect(copy.allowsCloudEncryption)
    }
  }

  @Test("A transformable attribute names its transformer, which a registry has")
  func valueTransformerName() throws {
    let attribute = AttributeDescription("x", .transformable)
    attribute.valueTransformerName = "NSSecureUnarchiveFromData"
    for copy in try roundTrips(attribute) {
      #expect(copy.valueTransformerName == "NSSecureUnarchiveFromData")
      #expect(copy.valueTransformer is SecureUnarchiveFromData)
    }
    attribute.valueTransformerName = "Unheard"
    #expect(attribute.valueTransformer == nil)
  }

  @Test(
    "A derived attribute has an expression, which is in the hash",
    arguments: [
      "name", "author.name", "uppercase:(name)", "lowercase:(name)", "canonical:(name)",
      "books.@count", "books.pages.@sum", "now()",
    ])
  func derivationExpression(format: String) throws {
    let derived = DerivedAttributeDescription()
    #expect(derived.derivationExpression == nil)
    (derived.name, derived.type) = ("x", .integer64)
    let hash = derived.versionHash
    derived.derivationExpressionFormat = format
    #expect(derived.versionHash != hash)
    let expression = try #require(derived.derivationExpression)
    let other = DerivedAttributeDescription()
    other.derivationExpression = expression
    #expect(other.derivationExpression == expression)
    for copy in try roundTrips(derived) {
      #expect((copy as? DerivedAttributeDescription)?.derivationExpression == expression)
    }
  }

  @Test("A composite attribute is made of attributes, composite ones too, which are in the hash")
  func elements() throws {
    let composite = CompositeAttributeDescription()
    #expect(composite.elements.isEmpty && composite.type == .composite)
    composite.name = "place"
    let inner = CompositeAttributeDescription()
    inner.name = "point"
    inner.elements = [AttributeDescription("lat", .double), AttributeDescription("lon", .double)]
    composite.elements = [AttributeDescription("name", .string), inner]
    let hash = composite.versionHash
    for copy in try roundTrips(composite) {
      let twin = try #require(copy as? CompositeAttributeDescription)
      #expect(twin.elements.map(\.name) == ["name", "point"])
      #expect(
        (twin.elements[1] as? CompositeAttributeDescription)?.elements.map(\.path)
          == ["place.point.lat", "place.point.lon"])
      #expect(twin.versionHash == hash)
    }
    inner.elements.removeLast()
    #expect(composite.versionHash != hash)
  }
}
