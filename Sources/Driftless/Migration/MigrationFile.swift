import DriftlessSQLite
import Foundation

/// Writes what a store becomes with another model to a new file: with all that it remembers.
struct MigrationFile {
  let source: URL
  let target: URL
  let destination: ManagedObjectModel
  /// The configuration whose entities the new store has; nil for all.
  let configuration: String?
  /// How to-many relationships without inverse shall be kept; nil as they are.
  var layout: ToManyLayout?
  /// Whether it may be a model that the store had before.
  var goesBack = false
  /// Called with the part that is done, 0 … 1.
  let progress: (Double) throws -> Void

  /// The key of the models that a store had before, oldest first.
  private static let formerModels = "formerModels"
  private static let reading = StoreOptions(isReadOnly: true, createsFile: false)

  /// By what follows from the two models.
  func write() throws {
    let source = try openSource()
    defer { source.close() }
    let former = try formerModels(of: source)
    let present = try StoreConfiguration(configuration, of: destination).entityNames
    let plan = try MigrationPlan(
      from: source.model, source.schema.entities, to: destination, present)
    let schema = StoreSchema(
      model: destination, entityNames: present, numbers: try plan.numbers(from: source.schema),
      holdsInColumns: try holdsInColumns(plan, source))
    try MigrationConversions(plan, source).check()
    try checkNames(plan, source)
    let losses = try MigrationLosses(plan, source, isMapped: false)
    let connection = try connect(ExternalDataFolder(store: self.source.path))
    defer { connection.close() }
    try create(schema, like: source, derives: false, on: connection)
    do {
      try connection.transaction(.immediate) {
        let keys = try MigrationKeys(
          plan: plan, old: source.schema, new: schema, connection: connection)
        try MigrationCopy(keys: keys, connection: connection, isReplica: isReplica(source)).run {
          try progress($0 * 0.9)
        }
        try StoreDefinition.resumeDerivedTriggers(schema, on: connection)
        try MigrationHistory(keys: keys, connection: connection).run()
        try losses.write(keys, on: connection) { try losses.forEach(of: source, $0) }
        try writeModels(former, of: source, schema, on: connection)
      }
    } catch let duplicates as DuplicateKeys {
      throw try duplicates.error(in: source)
    }
    try finish(connection)
  }

  /// By a mapping model, object by object.
  func write(by manager: MigrationManager) throws {
    let inside = try openSource(closing: true)
    let source = try PersistentStore.open(
      url: source, model: Self.plain(inside.model), configuration: inside.configurationName,
      options: Self.reading)
    defer { source.close() }
    let former = try formerModels(of: source)
    let destination = try Self.plain(destination)
    let present = try StoreConfiguration(configuration, of: destination).entityNames
    let plan = try MigrationPlan(
      manager.mappingModel, from: source.model, source.schema.entities, to: destination, present)
    let schema = StoreSchema(
      model: destination, entityNames: present, numbers: try plan.numbers(from: source.schema),
      holdsInColumns: try holdsInColumns(plan, source))
    try checkNames(plan, source)
    let folder = ExternalDataFolder(store: target.path)
    let files = ExternalDataFolder(store: self.source.path)
    try files.copy(files.names, to: folder)

    let losses = try MigrationLosses(plan, source, isMapped: true)
    let keys = try prepare(plan, schema, source, folder)
    try migrateObjects(keys, source, manager)

    let connection = try connect(folder)
    defer { connection.close() }
    try connection.run("ATTACH ? AS old", .text(self.source.path))
    try connection.transaction(.immediate) {
      try forgetMaking(on: connection)
      try IdentityRuns.dropMinted(on: connection)
      try MigrationHistory(keys: keys, connection: connection, keepsIdentities: true).run()
      try losses.write(keys, on: connection) { try losses.forEach(of: source, $0) }
      try MigrationChanges(keys: keys, source: source, connection: connection).run()
      try MigrationTimes(keys: keys, connection: connection).run()
      try writeModels(former, of: source, schema, on: connection)
    }
    try finish(connection)
  }

  // MARK: Objects

  /// Makes the file with the identities that objects will take over.
  private func prepare(
    _ plan: MigrationPlan, _ schema: StoreSchema, _ source: PersistentStore,
    _ folder: ExternalDataFolder
  ) throws -> MigrationKeys {
    let connection = try connect(folder)
    defer { connection.close() }
    try create(schema, like: source, on: connection)
    return try connection.transaction(.immediate) {
      let keys = try MigrationKeys(
        plan: plan, old: source.schema, new: schema, connection: connection)
      if try IdentityRuns.exist(in: "old", on: connection) {
        try StoreSettings.copy(StoreSettings.mintPrefix, from: "old", on: connection)
        try IdentityRuns.copy(from: "old", on: connection)
      }
      try MigrationIdentities(keys: keys, connection: connection, writesMinted: true).run()
      try MigrationCopy(keys: keys, connection: connection).writeLastKeys()
      return keys
    }
  }

  private func migrateObjects(
    _ keys: MigrationKeys, _ source: PersistentStore, _ manager: MigrationManager
  ) throws {
    let store = try PersistentStore.open(
      url: target, model: keys.new.model, configuration: configuration,
      options: StoreOptions(durability: .normal))
    defer { store.close() }
    manager.sourceContext = ManagedObjectContext(PersistentStoreCoordinator(store: source))
    manager.destinationContext = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    manager.associations = try MigrationAssociations()
    manager.successor = { source, destination in
      guard let match = keys.plan.match(ofSource: source.entity),
        match.destination === destination.entity, let offset = keys.offset(of: match.source)
      else { return nil }
      let key = ObjectKey(
        entity: keys.new.entityNumber(of: match.destination), key: source.objectKey.key + offset)
      return try store.read { try $0.identity(of: key) }
    }
    defer { manager.reset() }
    try ObjectMigration(manager: manager) { try progress($0 * 0.9) }.run()
  }

  /// What making the objects left in the history: it is no change that anybody made.
  private func forgetMaking(on connection: SQLiteConnection) throws {
    try ChangeTable.dropAll(on: connection)
    try TransactionTable.dropAll(on: connection)
    try PrimaryKeyTable.resetHistory(on: connection)
    try TransactionNotes.dropAll(on: connection)
    try Graves.dropAll(on: connection)
    try BaseValues.dropAll(on: connection)
    try TransactionDeltas.dropAll(on: connection)
  }

  /// A copy of a model whose objects are plain: the application's classes are made for one version of it.
  static func plain(_ model: ManagedObjectModel) throws -> ManagedObjectModel {
    let copy = try model.copy()
    for entity in copy.entities { entity.managedObjectClassName = ObjectClasses.plain }
    try copy.freeze()
    return copy
  }

  // MARK: Files

  func openSource(closing: Bool = false) throws -> PersistentStore {
    let store = try PersistentStore.open(url: source, options: Self.reading)
    if closing { store.close() }
    guard store.modelOrigin != .tables else {
      store.close()
      throw StoreError(
        .missingModel, "\(source.path) does not say with which model it was written.",
        suggestion: "Open it once with that model, and then with the new one.")
    }
    return store
  }

  private func connect(_ folder: ExternalDataFolder) throws -> SQLiteConnection {
    let file = StoreFile(url: target, options: StoreOptions(durability: .normal))
    let connection = try file.connect(readOnly: false)
    try ExternalData.attachReading(to: connection, folder: folder)
    return connection
  }

  /// Makes the tables, and puts the source beside them as `old`.
  private func create(
    _ schema: StoreSchema, like source: PersistentStore, derives: Bool = true,
    on connection: SQLiteConnection
  ) throws {
    let file = StoreFile(url: target, options: StoreOptions(durability: .normal))
    try file.create(
      schema, metadata(of: source, for: schema),
      identifier: UUID(uuidString: source.identifier) ?? UUID(), derives: derives,
      on: connection)
    for statement in schema.views { try connection.execute(statement) }
    try connection.run("ATTACH ? AS old", .text(self.source.path))
  }

  private func finish(_ connection: SQLiteConnection) throws {
    try connection.execute("DETACH old")
    _ = try connection.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    try progress(1)
  }

  // MARK: Models

  /// The models that the store had, and the one that it has.
  func formerModels(of source: PersistentStore) throws -> [String] {
    try Self.formerModels(of: source, at: self.source.path, to: destination, goesBack)
  }

  /// The models that the store will have had, oldest first: those before the destination, where it goes back to one.
  ///
  /// - Throws: `StoreError` (`newerModel`) for one that had the destination before and does not go back to it: who made it newer
  ///   did so on purpose.
  static func formerModels(
    of source: PersistentStore, at path: String, to destination: ManagedObjectModel,
    _ goesBack: Bool
  ) throws -> [String] {
    var former: [String] = []
    if case .text(let text)? = try source.read({ try $0.setting(Self.formerModels) }) {
      former = text.split(separator: "\n").map(String.init)
    }
    if let place = former.firstIndex(of: destination.versionChecksum) {
      guard goesBack else { throw newerModel(path) }
      // What came after it may come again.
      return Array(former[..<place])
    }
    let present = source.model.versionChecksum
    return present == destination.versionChecksum ? former : former + [present]
  }

  private static func newerModel(_ path: String) -> StoreError {
    StoreError(
      .newerModel,
      "\(path) was migrated from this model to a newer one, which this program does not have.",
      suggestion:
        "The file was not changed: use a newer version of the program, or give the newer model; to go back to the older "
        + "one, put a copy from before the migration in its place. Where this model is the newer one, and an older program "
        + "took the store back: syncctl migrate \(path.shellWord) --model FILE --back")
  }

  /// Which to-many relationships without inverse are to be columns. A replica has none: see ``ToManyLayout/columns``.
  func holdsInColumns(
    _ plan: MigrationPlan, _ source: PersistentStore
  ) throws -> (RelationshipDescription) -> Bool {
    guard try isReplica(source) else {
      return { [layout] in plan.holdsInColumns($0, source.schema, layout) }
    }
    guard layout != .columns else {
      throw MigrationPlan.refusal(
        "it is enrolled, and a replica keeps to-many relationships without inverse in pairs",
        "Leave the layout as it is.")
    }
    return { _ in false }
  }

  func checkNames(_ plan: MigrationPlan, _ source: PersistentStore) throws {
    if try isReplica(source) { try plan.checkNamesOfReplica() }
  }

  private func isReplica(_ source: PersistentStore) throws -> Bool {
    try source.read { try StoreSettings.exist(on: $0.connection) && $0.isReplica }
  }

  func metadata(of source: PersistentStore, for schema: StoreSchema) throws -> StoreMetadata {
    var metadata = source.metadata
    metadata.values.removeValue(forKey: StoreMetadata.ownVersionHashesKey)
    metadata.values.removeValue(forKey: "NSStoreModelVersionHashesDigest")
    metadata.values.removeValue(forKey: StoreMetadata.configurationKey)
    metadata.values.removeValue(forKey: StoreMetadata.deferredCleanupKey)
    let fresh = StoreMetadata(
      model: destination, configuration: try StoreConfiguration(configuration, of: destination),
      for: schema)
    for (key, value) in fresh.values { metadata.values[key] = value }
    return metadata
  }

  /// What the history brought along from the source is not what the new store says of itself.
  func writeModels(
    _ former: [String], of source: PersistentStore, _ schema: StoreSchema,
    on connection: SQLiteConnection
  ) throws {
    try MetadataTable.setIdentifier(source.identifier, on: connection)
    try ModelInside.replace(by: ModelArchive.encode(destination), on: connection)
    try StoreSettings.set(
      Self.formerModels, .text(former.joined(separator: "\n")), on: connection)
    try StoreSettings.set(
      ExternalColumns.setting, .text(ExternalColumns.text(of: schema)), on: connection)
    try DeferredCleanup.set([], on: connection)
  }
}
