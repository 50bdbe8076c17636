import DriftlessSQLite
import Foundation
import Synchronization

extension StoreMetadata {
  static let identifierKey = "NSStoreUUID"
  /// There as long as a migration has left something to be cleaned up.
  static let deferredCleanupKey = "NSPersistentStoreDeferredLightweightMigrationOptionKey"

  /// The keys that a store keeps for itself.
  private static func isOwn(_ key: String) -> Bool {
    key.hasPrefix("NSStore") || key.hasPrefix("Driftless") || key.hasPrefix("_NS")
      || key == frameworkVersionKey || key == deferredCleanupKey
  }

  /// With what is kept beside the property list.
  func described(identifier: String) -> [String: Any] {
    values.merging([Self.identifierKey: identifier, Self.typeKey: "SQLite"]) { $1 }
  }

  /// An application's keys anew, and the store's own as they are.
  func replacing(with given: [String: Any]) -> StoreMetadata {
    var replaced = self
    replaced.values = values.filter { Self.isOwn($0.key) }
    for (key, value) in given where !Self.isOwn(key) { replaced.values[key] = value }
    return replaced
  }
}

extension PersistentStore {
  /// The metadata of a file, and its identifier.
  static func metadata(at url: URL) throws -> (identifier: String, StoreMetadata) {
    try onFile(url, .inspecting(url)) { try MetadataTable.read(on: $0, path: url.path) }
  }

  static func setMetadata(_ given: [String: Any], at url: URL) throws {
    let url = StorePath.resolved(url)
    let lock = try FileLock(path: url.path + "-driftless-lock")
    try lock.lock(.shared)
    defer { lock.unlock() }
    try onFile(url, StoreOptions(createsFile: false)) { connection in
      try connection.transaction(.immediate) {
        let (_, metadata) = try MetadataTable.read(on: connection, path: url.path)
        try MetadataTable.set(metadata.replacing(with: given), on: connection)
      }
    }
  }

  /// Runs `body` on a connection of its own to a file that is there.
  static func onFile<T>(
    _ url: URL, _ options: StoreOptions, _ body: (SQLiteConnection) throws -> T
  ) throws -> T {
    guard FileManager.default.fileExists(atPath: url.path) else { throw missing(url.path) }
    do {
      if !options.isImmutable { try StrayLogs.check(url) }
      let connection = try StoreFile(url: url, options: options)
        .connect(readOnly: options.isReadOnly)
      defer { connection.close() }
      return try body(connection)
    } catch let error as SQLiteError {
      throw StoreError(error, path: url.path)
    }
  }

  static func missing(_ path: String) -> StoreError {
    StoreError(
      .cannotOpen, "There is no store at \(path).",
      suggestion: "Check the path, or create the store first.")
  }
}

extension PersistentStore {
  /// Sets a key of the metadata. Values are those of a property list.
  ///
  /// - Throws: ``StoreError`` (`invalidArgument`) for a value that no property list can have; where the store cannot be read or written,
  ///   or its metadata is damaged.
  public func setMetadata(_ value: Any?, forKey key: String) throws {
    try changeMetadata { $0.values[key] = value }
  }

  /// Sets an application's keys of the metadata: all of them, those that are missing go.
  func setMetadata(_ values: [String: Any]) throws {
    try changeMetadata { $0 = $0.replacing(with: values) }
  }

  /// Changes what the file has: others may have set keys since this store was opened.
  private func changeMetadata(_ change: (inout StoreMetadata) -> Void) throws {
    let changed = try write(TransactionInfo()) { transaction in
      var (_, metadata) = try MetadataTable.read(on: transaction.connection, path: file.name)
      change(&metadata)
      try MetadataTable.set(metadata, on: transaction.connection)
      return metadata
    }.0
    storedMetadata.withLock { $0 = changed }
  }
}

extension PersistentStore {
  /// Keeps the model that travels inside in step with the one that an application opens with: policies, defaults, indexes
  /// and class names are in no version hash, and those who open the store without the application need them too.
  func keepModelInside(_ configuration: String?) throws {
    if metadata.configurationName != configuration {
      try setMetadata(configuration, forKey: StoreMetadata.configurationKey)
    }
    let given = try ModelArchive.encode(model)
    guard try read({ try ModelInside.content(on: $0.connection) }) != given else { return }
    _ = try write(TransactionInfo()) { transaction in
      try ModelInside.replace(by: given, on: transaction.connection)
      try StoreSettings.setIfMissing(
        ExternalColumns.setting, .text(ExternalColumns.text(of: schema)),
        on: transaction.connection)
      try StoreDefinition.completeIndexes(schema, on: transaction.connection)
      try ChangeTable.completeTombstones(schema, on: transaction.connection)
    }
  }
}
