import DriftlessSQLite
public import Foundation

/// Brings a store to another model: all of it is written anew beside the file, and takes the file's place in one
/// transaction when it is whole. Killed at any moment, the store is as it was or as it shall be, and the next attempt
/// starts over.
struct StoreMigration {
  let url: URL
  let destination: ManagedObjectModel
  let configuration: StoreConfiguration
  let progress: (Double) throws -> Void

  /// The key of the models that a store had before, oldest first.
  private static let formerModels = "formerModels"

  func run() throws {
    let syncing = try SyncLock(path: url.path + "-driftless-sync")
    let writing = try FileLock(path: url.path + "-driftless-lock")
    try writing.lock(.exclusive)
    defer { writing.unlock() }
    do {
      let partial = NewFile.partialURL(of: url)
      NewFile.remove(partial)
      defer { NewFile.remove(partial) }
      try write(partial)
      try swap(partial)
    } catch let error as SQLiteError {
      throw StoreError(error, path: url.path)
    }
    try progress(1)
    withExtendedLifetime(syncing) {}
  }

  // MARK: The new file

  private func write(_ partial: URL) throws {
    let options = StoreOptions(isReadOnly: true, createsFile: false)
    let source = try PersistentStore.open(url: url, options: options)
    defer { source.close() }
    guard source.modelOrigin != .tables else {
      throw StoreError(
        .missingModel, "\(url.path) does not say with which model it was written.",
        suggestion: "Open it once with that model, and then with the new one.")
    }
    let former = try formerModels(of: source)
    let plan = try MigrationPlan(
      from: source.model, source.schema.entities, to: destination, configuration.entityNames)
    let schema = StoreSchema(
      model: destination, entityNames: configuration.entityNames,
      numbers: plan.numbers(from: source.schema))
    let file = StoreFile(url: partial, options: StoreOptions(durability: .normal))
    let connection = try file.connect(readOnly: false)
    defer { connection.close() }
    try ExternalData.attachReading(to: connection, folder: ExternalDataFolder(store: url.path))
    let metadata = metadata(of: source)
    try file.create(
      schema, metadata, identifier: UUID(uuidString: source.identifier) ?? UUID(), on: connection)
    try connection.run("ATTACH ? AS old", .text(url.path))
    try connection.execute("BEGIN IMMEDIATE")
    let keys = try MigrationKeys(
      plan: plan, old: source.schema, new: schema, connection: connection)
    try MigrationCopy(keys: keys, connection: connection).run { try progress($0 * 0.8) }
    try MigrationHistory(keys: keys, connection: connection).run()
    try connection.run("UPDATE main.Z_METADATA SET Z_UUID = ?", .text(source.identifier))
    try connection.run(
      "INSERT OR REPLACE INTO main.ZDL_STORE VALUES (?, ?)", .text(Self.formerModels),
      .text(former.joined(separator: "\n")))
    try connection.execute("COMMIT")
    try progress(0.9)
    try connection.execute("DETACH old")
    _ = try connection.rows("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  private func formerModels(of source: PersistentStore) throws -> [String] {
    var former: [String] = []
    if case .text(let text)? = try source.read({ try $0.setting(Self.formerModels) }) {
      former = text.split(separator: "\n").map(String.init)
    }
    guard !former.contains(destination.versionChecksum) else {
      throw StoreError(
        .newerModel,
        "\(url.path) was migrated from this model to a newer one, which this program does not have.",
        suggestion: "Use a newer version of the program; the file was not changed.")
    }
    return former + [source.model.versionChecksum]
  }

  private func metadata(of source: PersistentStore) -> StoreMetadata {
    var metadata = source.metadata
    metadata.values.removeValue(forKey: StoreMetadata.ownVersionHashesKey)
    metadata.values.removeValue(forKey: "NSStoreModelVersionHashesDigest")
    metadata.values.removeValue(forKey: StoreMetadata.configurationKey)
    let fresh = StoreMetadata(model: destination, configuration: configuration)
    for (key, value) in fresh.values { metadata.values[key] = value }
    return metadata
  }

  // MARK: Its place

  /// Puts the content of the new file in place of the old, in one transaction of the old file.
  private func swap(_ partial: URL) throws {
    let new = try SQLiteConnection(path: partial.path, mode: .readOnly)
    defer { new.close() }
    let original = try SQLiteConnection(
      path: url.path, mode: .readWrite,
      busyTimeoutMilliseconds: StoreTuning.checkpointWaitMilliseconds)
    defer { original.close() }
    _ = try original.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    // Succeeds only when no other connection of any process has the file open: one that has works with the old tables.
    let mode = try? original.scalar("PRAGMA journal_mode = DELETE")
    guard mode == .text("delete") else {
      throw StoreError(
        .busy, "\(url.path) is open elsewhere, and cannot be migrated meanwhile.",
        suggestion: "Close it there, stop syncd, and try again; the file was not changed.")
    }
    try new.withSnapshot { try new.backUp(to: original) { _ in } }
  }
}

extension PersistentStore {
  /// Brings a store to another model, whose mapping follows from the two: see ``StoreOptions/migratesAutomatically``.
  ///
  /// History, identities and the state of sync are carried over.
  /// - Parameters:
  ///   - configuration: The configuration of the model whose entities the store shall have; nil for all. Objects of
  ///     entities that are not among them are deleted, as those of entities that the model no longer has.
  ///   - progress: Called with the part that is done, 0 … 1; it ends the migration by throwing, and nothing has changed.
  /// - Throws: `StoreError`: `cannotMigrate` with what needs a mapping of its own, `newerModel` when the store has been
  ///   further than the model, `busy` while it is open elsewhere, `constraint` when values break a new constraint. The
  ///   store is then as it was.
  public static func migrate(
    at url: URL, to model: ManagedObjectModel, configuration: String? = nil,
    progress: (Double) throws -> Void = { _ in }
  ) throws {
    try model.freeze()
    let configuration = try StoreConfiguration(configuration, of: model)
    try withoutActuallyEscaping(progress) { progress in
      try StoreMigration(
        url: url, destination: model, configuration: configuration, progress: progress
      ).run()
    }
  }
}
