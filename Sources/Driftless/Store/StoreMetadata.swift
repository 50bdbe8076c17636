public import Foundation

/// What a store says of itself in `Z_METADATA`: Core Data's keys, and an application's own.
public struct StoreMetadata: @unchecked Sendable {  // property-list values that nobody changes
  /// The type of the store.
  public static let typeKey = "NSStoreType"
  /// A hash for each entity of the model.
  public static let versionHashesKey = "NSStoreModelVersionHashes"
  /// The version identifiers of the model.
  public static let versionIdentifiersKey = "NSStoreModelVersionIdentifiers"
  /// A digest of all hashes.
  public static let versionChecksumKey = "NSStoreModelVersionChecksumKey"
  /// The version of Core Data that wrote the file; missing in a file that was made here.
  public static let frameworkVersionKey = "NSPersistenceFrameworkVersion"
  /// Our own hashes, where the model has Core Data's.
  static let ownVersionHashesKey = "DriftlessModelVersionHashes"
  /// The name of the configuration whose entities the store has; missing for all entities.
  static let configurationKey = "DriftlessConfiguration"
  /// The version of our own part of the format; missing where Core Data wrote the file.
  static let formatKey = "DriftlessFormat"
  /// The greatest version that is known here.
  static let newestFormat = 2

  /// All of it by key: values of a property list.
  public var values: [String: Any]

  /// - Parameter schema: How the model lies in the file; nil for one without columns that programs may not know.
  init(
    model: ManagedObjectModel, configuration: StoreConfiguration? = nil,
    for schema: StoreSchema? = nil
  ) {
    func part(_ hashes: [String: Data]) -> [String: Data] {
      configuration.map { wanted in hashes.filter { wanted.entityNames.contains($0.key) } }
        ?? hashes
    }
    let hashes = part(model.entityVersionHashesByName)
    values = [
      Self.typeKey: "SQLite",
      Self.versionHashesKey: hashes,
      "NSStoreModelVersionHashesVersion": 3,
      Self.versionChecksumKey: ManagedObjectModel.checksum(of: hashes),
      Self.versionIdentifiersKey: model.versionIdentifiers.sorted(),
      "_NSAutoVacuumLevel": "2",
      Self.formatKey: schema.map(Self.format) ?? 1,
    ]
    let own = part(model.ownVersionHashesByName)
    if own != hashes { values[Self.ownVersionHashesKey] = own }
    values[Self.configurationKey] = configuration?.name
  }

  init(plist: Data) throws {
    guard
      let values = BoundedPropertyList.values(plist) as? [String: Any]
    else {
      throw StoreError(
        .damaged, "The store's metadata cannot be read.",
        suggestion: "Restore the file from a copy.")
    }
    self.values = values
  }

  /// - Throws: `StoreError` for values that no property list can have.
  func plist() throws -> Data {
    guard PropertyListSerialization.propertyList(values, isValidFor: .binary) else {
      throw StoreError(
        .invalidArgument, "The metadata have a value that no property list can have.",
        suggestion: "Use texts, numbers, dates, data, and arrays and dictionaries of them.")
    }
    return try PropertyListSerialization.data(fromPropertyList: values, format: .binary, options: 0)
  }

  /// For each entity the hash of the model that the store was written with.
  public var versionHashes: [String: Data] {
    values[Self.versionHashesKey] as? [String: Data] ?? [:]
  }

  var configurationName: String? { values[Self.configurationKey] as? String }

  /// The version of our own part of the format; 0 where Core Data wrote the file.
  var format: Int { (values[Self.formatKey] as? NSNumber)?.intValue ?? 0 }

  /// The version that a file of ours says: programs that know no columns of to-many relationships would look for a table, and
  /// are to refuse it.
  static func format(of schema: StoreSchema) -> Int { schema.holdsInColumns ? 2 : 1 }
}
