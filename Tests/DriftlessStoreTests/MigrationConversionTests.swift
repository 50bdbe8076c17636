import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Attributes that get another type, and default values for objects that are there.
struct MigrationConversionTests {
  private let directory: TemporaryDirectory
  private var url: URL { directory.file("things.sqlite") }

  init() throws { directory = try TemporaryDirectory() }

  private static func model(_ attributes: AttributeDescription...) -> ManagedObjectModel {
    let thing = EntityDescription("Thing")
    thing.properties = attributes + [AttributeDescription("name", .string)]
    return ManagedObjectModel(entities: [thing])
  }

  /// - Returns: The object, once the store has one of that value beside one without.
  private func fill(_ type: AttributeType, _ value: PropertyValue) throws -> (ObjectKey, UUID) {
    for suffix in ["", "-wal", "-shm"] { unlink(url.path + suffix) }
    let store = try PersistentStore.open(
      url: url, model: Self.model(AttributeDescription("value", type)))
    defer { store.close() }
    try store.insert("Thing")
    let key = try store.insert("Thing", ["value": value])
    return (key, try store.read { try $0.identity(of: key) })
  }

  private func migrated(
    _ attributes: AttributeDescription..., inPlace: Bool = false
  ) throws -> PersistentStore {
    let thing = EntityDescription("Thing")
    thing.properties = attributes + [AttributeDescription("name", .string)]
    var options = StoreOptions(migratesAutomatically: true)
    options.defersMigrationCleanup = inPlace
    return try PersistentStore.open(
      url: url, model: ManagedObjectModel(entities: [thing]), options: options)
  }

  @Test(
    "A value that the new type does not give back is refused with the object, and the store stays",
    arguments: [
      (AttributeType.string, AttributeType.uri, PropertyValue.string("hello world")),
      (.string, .uri, .string("")), (.double, .decimal, .double(1e300)),
      (.double, .decimal, .double(1e-300)), (.double, .decimal, .double(.infinity)),
      (.double, .float, .double(1e300)), (.integer64, .double, .integer(1 << 53 + 1)),
      (.integer64, .float, .integer(.max)),
    ])
  func refused(_ old: AttributeType, _ new: AttributeType, _ value: PropertyValue) throws {
    let (key, identity) = try fill(old, value)
    for inPlace in [false, true] {
      let error = #expect(throws: StoreError.self) {
        try migrated(AttributeDescription("value", new), inPlace: inPlace)
      }
      #expect(error?.code == .cannotMigrate)
      #expect(error?.message.contains("Thing.value") == true)
      #expect(error?.message.contains(identity.uuidString.lowercased()) == true)
    }
    let store = try PersistentStore.open(url: url)
    #expect(try store.values(key)?["value"] == value)
  }

  @Test(
    "A value that the new type gives back is taken over",
    arguments: [
      (
        AttributeType.string, AttributeType.uri, PropertyValue.string("http://a.b/c%20d"),
        PropertyValue.uri(URL(string: "http://a.b/c%20d")!)  // which is one
      ),
      (.double, .decimal, .double(0.1), .decimal(Decimal(string: "0.1")!)),  // which is one
      (.double, .decimal, .double(-0.0), .decimal(0)),
      (.double, .float, .double(0.1), .double(0.1)),
      (.integer64, .double, .integer(-1 << 53), .double(-0x1p53)),
      (.integer64, .decimal, .integer(.max), .decimal(Decimal(Int64.max))),
      (.boolean, .integer64, .bool(true), .integer(1)),
    ])
  func kept(
    _ old: AttributeType, _ new: AttributeType, _ value: PropertyValue, _ wanted: PropertyValue
  ) throws {
    let (key, _) = try fill(old, value)
    let store = try migrated(AttributeDescription("value", new))
    #expect(try store.values(key)?["value"] == wanted)
    #expect(try store.check().isSound)
  }

  @Test(
    "Objects that are there have a new attribute's default value exactly",
    arguments: [
      (AttributeType.decimal, PropertyValue.decimal(Decimal(string: "12345678901234567890.123")!)),
      (.decimal, .decimal(.nan)), (.double, .double(.infinity)), (.double, .double(-0.0)),
      (.double, .double(0.1 + 0.2)), (.double, .double(.leastNonzeroMagnitude)),
      (.string, .string("a\0b'c")),
      (.date, .date(Date(timeIntervalSinceReferenceDate: .infinity))),
      (.integer64, .integer(.min)), (.uuid, .uuid(UUID())), (.binaryData, .data(Data([0, 39]))),
    ])
  func defaults(_ type: AttributeType, _ value: PropertyValue) throws {
    for inPlace in [false, true] {
      let (key, _) = try fill(.string, .string("a"))
      let store = try migrated(
        AttributeDescription("value", .string),
        AttributeDescription("new", type, isOptional: false, defaultValue: value),
        inPlace: inPlace)
      let found = try #require(try store.values(key)?["new"])
      if case .decimal(let decimal) = value, decimal.isNaN {
        guard case .decimal(let other) = found else { throw Missing() }
        #expect(other.isNaN)
      } else {
        #expect(found == value)
      }
      if case (.double(let one), .double(let other)) = (found, value) {
        #expect(one.bitPattern == other.bitPattern)
      }
      store.close()
    }
  }

  private struct Missing: Error {}

  @Test("A large default value of data that lie beside the store comes to objects that are there")
  func external() throws {
    let (key, _) = try fill(.string, .string("a"))
    let data = AttributeDescription(
      "new", .binaryData, isOptional: false, defaultValue: .data(Data([1, 2, 3])))
    data.allowsExternalBinaryDataStorage = true
    let store = try migrated(AttributeDescription("value", .string), data)
    #expect(try store.values(key)?["new"] == .data(Data([1, 2, 3])))
    #expect(try store.check().isSound)
  }
}
