import DriftlessSQLite
import Foundation

/// Brings a store to another model within its own file, in one transaction: tables and columns get other names, new ones
/// come, and what nobody reads any more stays for later. It costs the same for few objects as for many, but for values that
/// are to be filled in and for new indexes. See ``StoreOptions/defersMigrationCleanup``.
struct MigrationInPlace {
  let url: URL
  let destination: ManagedObjectModel
  /// The configuration whose entities the store shall have; nil for all.
  let configuration: String?

  /// The locks of the store are the caller's.
  ///
  /// - Returns: False when the change asks for a file that is written anew; nothing was done then.
  func run() throws -> Bool {
    let file = MigrationFile(
      source: url, target: url, destination: destination, configuration: configuration,
      progress: { _ in })
    let source = try file.openSource()
    defer { source.close() }
    guard source.metadata.format > 0, source.modelOrigin == .inside else { return false }
    let former = try file.formerModels(of: source)
    let present = try StoreConfiguration(configuration, of: destination).entityNames
    let plan = try MigrationPlan(
      from: source.model, source.schema.entities, to: destination, present)
    let schema = StoreSchema(
      model: destination, entityNames: present, numbers: try plan.numbers(from: source.schema),
      holdsInColumns: try file.holdsInColumns(plan, source))
    try MigrationConversions(plan, source).check()
    try file.checkNames(plan, source)
    var metadata = try file.metadata(of: source, for: schema)
    let losses = try MigrationLosses(plan, source, isMapped: false)
    guard let unsent = try losses.held(of: source) else { return false }
    source.close()

    let options = StoreOptions(
      busyTimeoutMilliseconds: StoreTuning.checkpointWaitMilliseconds, createsFile: false)
    let connection = try StoreFile(url: url, options: options).connect(readOnly: false)
    defer { connection.close() }
    let keys = try MigrationKeys(
      plan: plan, old: source.schema, new: schema, connection: connection, former: "main")
    guard let changes = try TableChanges(keys) else { return false }
    metadata.values[StoreMetadata.deferredCleanupKey] = changes.leftovers.isEmpty ? nil : true

    _ = try connection.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    try StoreMigration.useAlone(connection)
    let files: Set<String>
    do {
      files = try connection.transaction(.exclusive) {
        // What an earlier migration left would stand in the way of new names.
        let files = try DeferredCleanup.finishAll(on: connection)
        for statement in changes.statements { try statement.run(on: connection) }
        try PrimaryKeyTable.replaceEntities(by: schema, on: connection)
        try StoreDefinition.complete(schema, on: connection)
        try MigrationHistory(keys: keys, connection: connection).mapRecords()
        try losses.write(keys, on: connection) { try unsent.forEach($0) }
        try MigrationIdentities(keys: keys, connection: connection).dropEntities()
        try StoreDefinition.completeIndexes(schema, on: connection)
        try MetadataTable.set(metadata, on: connection)
        try file.writeModels(former, of: source, schema, on: connection)
        try DeferredCleanup.set(changes.leftovers, on: connection)
        return files
      }
    } catch let error as SQLiteError where error.isConstraint {
      let copy = MigrationCopy(keys: keys, connection: connection)
      var found: DuplicateKeys?
      for match in plan.matches where found == nil {
        found = try copy.duplicates(in: match, of: "main")
      }
      guard let duplicates = found else { throw error }
      connection.close()
      let store = try file.openSource()
      defer { store.close() }
      throw try duplicates.error(in: store)
    }
    ExternalDataFolder(store: url.path).remove(
      Array(files), prefix: try StoreSettings.mintPrefix(on: connection) ?? [])
    return true
  }
}
