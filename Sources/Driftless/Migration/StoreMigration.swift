import DriftlessSQLite
public import Foundation

/// Brings a store to another model, in one step or several: all of it is written anew beside the file, and takes the
/// file's place in one transaction when it is whole. Killed at any moment, the store is as it was or as it shall be, and
/// the next attempt starts over.
struct StoreMigration {
  /// One step to a model.
  struct Step {
    let destination: ManagedObjectModel
    /// Nil for what follows from the two models.
    var mapping: MappingModel?
    /// Whether it may be done in the file itself, where it is the only one and works on no objects.
    var defersCleanup = false
    /// Works on a copy of the store before the step.
    var willMigrate: ((URL) throws -> Void)?
    /// Works on the new file after the step.
    var didMigrate: ((URL) throws -> Void)?
  }

  let url: URL
  /// The configuration of the models whose entities the store shall have; nil for all.
  var configuration: String?
  /// The model that the store shall have.
  let destination: ManagedObjectModel
  /// How the new store keeps to-many relationships without inverse; nil as the one before it.
  var layout: ToManyLayout?
  /// How long it waits for those who write, sync or migrate.
  var busyTimeoutMilliseconds = StoreOptions().busyTimeoutMilliseconds
  /// What the store has before it.
  let steps: (PersistentStore) throws -> [Step]
  let progress: (Double) throws -> Void

  func run() throws {
    let url = StorePath.resolved(url)
    guard url == self.url else {
      return try StoreMigration(
        url: url, configuration: configuration, destination: destination, layout: layout,
        busyTimeoutMilliseconds: busyTimeoutMilliseconds, steps: steps, progress: progress
      ).run()
    }
    try StoreObstacle.checkKind(of: url)
    let syncing = try SyncLock(
      path: url.path + "-driftless-sync", milliseconds: busyTimeoutMilliseconds)
    let writing = try FileLock(path: url.path + "-driftless-lock")
    try writing.lock(.exclusive, milliseconds: busyTimeoutMilliseconds)
    defer { withExtendedLifetime(syncing) { writing.unlock() } }
    do {
      try run(stepsAhead())
    } catch let error as SQLiteError {
      throw StoreError(error, path: url.path)
    }
    try progress(1)
  }

  /// As the store is now: somebody else may have migrated it while this waited for the locks.
  private func stepsAhead() throws -> [Step] {
    let store = try PersistentStore.open(
      url: url, options: StoreOptions(isReadOnly: true, createsFile: false))
    store.close()
    return try isThere(store) ? [] : steps(store)
  }

  /// Whether the store is what it shall become.
  private func isThere(_ store: PersistentStore) throws -> Bool {
    let names = try StoreConfiguration(configuration, of: destination).entityNames
    return layout == nil && store.metadata.format > 0 && store.modelOrigin == .inside
      && store.configurationName == configuration
      && destination.incompatibleEntities(store.metadata.values, among: names).isEmpty
  }

  private func run(_ steps: [Step]) throws {
    guard !steps.isEmpty else { return }
    let partials = (0...steps.count).map { number in
      let partial = NewFile.partialURL(of: url)
      return number == 0 ? partial : partial.appendingPathExtension("\(number)")
    }
    partials.forEach(Self.remove)
    defer { partials.forEach(Self.remove) }
    do {
      if try isDoneInPlace(steps) { return }
      var current = url
      for number in steps.indices {
        current = try take(number, of: steps, from: current, partials)
      }
      try swap(current)
    } catch {
      throw DuplicateKeys.told(error)
    }
  }

  private func isDoneInPlace(_ steps: [Step]) throws -> Bool {
    guard steps.count == 1, let step = steps.first, step.defersCleanup, step.mapping == nil,
      layout == nil, step.willMigrate == nil, step.didMigrate == nil
    else { return false }
    return try MigrationInPlace(
      url: url, destination: step.destination, configuration: configuration
    ).run()
  }

  /// Removes a file of the migration, and all that lies beside it.
  private static func remove(_ partial: URL) {
    NewFile.remove(partial)
    for suffix in StorePath.suffixes { unlink(partial.path + suffix) }
    ExternalDataFolder(store: partial.path).destroy()
  }

  // MARK: Steps

  /// - Returns: The file after the step.
  private func take(
    _ number: Int, of steps: [Step], from current: URL, _ partials: [URL]
  ) throws -> URL {
    let step = steps[number]
    var source = current
    if let willMigrate = step.willMigrate {
      if source == url {
        source = partials[0]
        try PersistentStore.open(
          url: url, options: StoreOptions(isReadOnly: true, createsFile: false)
        ).backup(to: source)
      }
      try willMigrate(source)
    }
    let target = partials[number + 1]
    let file = MigrationFile(
      source: source, target: target, destination: step.destination, configuration: configuration,
      layout: layout
    ) {
      try progress((Double(number) + $0 * 0.9) / Double(steps.count))
    }
    if let mapping = step.mapping {
      let manager = MigrationManager(
        sourceModel: try Self.model(of: source), destinationModel: step.destination)
      manager.mappingModel = mapping
      try file.write(by: manager)
    } else {
      try file.write()
      let (former, folder) = (
        ExternalDataFolder(store: source.path), ExternalDataFolder(store: target.path)
      )
      // The rows name the same files. Where nothing works on the new file, they need not lie beside it.
      if source != url || step.didMigrate != nil || steps.count > 1 {
        try former.copy(former.names, to: folder)
      }
    }
    if source != current || source != url { Self.remove(source) }
    if let didMigrate = step.didMigrate {
      try didMigrate(target)
      // It worked on plain objects, and left that model inside.
      try PersistentStore.open(
        url: target, model: step.destination, configuration: configuration,
        options: StoreOptions(durability: .normal, createsFile: false)
      ).close()
    }
    return target
  }

  private static func model(of url: URL) throws -> ManagedObjectModel {
    let store = try PersistentStore.open(
      url: url, options: StoreOptions(isReadOnly: true, createsFile: false))
    defer { store.close() }
    return store.model
  }

  /// Writes what a store becomes by a mapping to a new file of its own.
  static func write(
    from source: URL, to destination: URL, by manager: MigrationManager
  ) throws {
    try manager.sourceModel.freeze()
    try manager.destinationModel.freeze()
    do {
      try NewFile.write(at: destination) { partial in
        defer {
          for suffix in ["-wal", "-shm"] + StorePath.suffixes {
            unlink(partial.path + suffix)
          }
          ExternalDataFolder(store: partial.path).destroy()
        }
        try MigrationFile(
          source: source, target: partial, destination: manager.destinationModel,
          configuration: nil, progress: { _ in }
        ).write(by: manager)
        let folder = ExternalDataFolder(store: partial.path)
        try folder.copy(folder.names, to: ExternalDataFolder(store: destination.path))
      }
    } catch let error as SQLiteError {
      throw DuplicateKeys.told(StoreError(error, path: destination.path))
    } catch {
      throw DuplicateKeys.told(error)
    }
  }

  // MARK: Its place

  /// Puts the content of the new file in place of the old, in one transaction of the old file.
  private func swap(_ partial: URL) throws {
    // New files of large values first: rows name them. Those that none names are swept up later.
    let folder = ExternalDataFolder(store: partial.path)
    try folder.copy(folder.names, to: ExternalDataFolder(store: url.path))
    let original = try SQLiteConnection(
      path: url.path, mode: .readWrite,
      busyTimeoutMilliseconds: StoreTuning.checkpointWaitMilliseconds)
    defer { original.close() }
    _ = try original.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    // It is the same file as before, whatever its content went through on the way.
    let new = try SQLiteConnection(path: partial.path, mode: .readWrite)
    defer { new.close() }
    try FileIdentity.keep(FileIdentity.notes(original), in: new)
    // The file says that it has no write-ahead log as long as it has a rollback journal, whatever page is written first.
    _ = try new.scalar("PRAGMA journal_mode = DELETE")
    try Self.useAlone(original)
    try new.withSnapshot { try new.backUp(to: original) { _ in } }
  }

  /// Succeeds only when no other connection of any process has the file open: one that has works with the old tables.
  static func useAlone(_ connection: SQLiteConnection) throws {
    do {
      if try connection.scalar("PRAGMA journal_mode = DELETE") == .text("delete") { return }
    } catch let error as SQLiteError where error.isBusy {
      // It is open elsewhere.
    }
    throw StoreError(
      .busy, "\(connection.path) is open elsewhere, and cannot be migrated meanwhile.",
      suggestion: "Close it there, stop syncd, and try again; the file was not changed.")
  }
}

extension PersistentStore {
  /// Brings a store to another model: see ``StoreOptions/migratesAutomatically``.
  ///
  /// History, identities and the state of sync are carried over. A store that has the model already, because somebody else
  /// migrated it say, stays as it is: a mapping is applied once.
  /// - Parameters:
  ///   - url: The store's file, which nobody has open.
  ///   - model: The model that the store is to have; it is frozen.
  ///   - configuration: The configuration of the model whose entities the store shall have; nil for all. Objects of
  ///     entities that are not among them are deleted, as those of entities that the model no longer has.
  ///   - mapping: What becomes of the objects; nil for what follows from the two models.
  ///   - toManyLayout: How the store shall keep to-many relationships without inverse; nil as it does. The model may be the
  ///     one that it has. Columns are refused where several objects hold one, and of a store that is enrolled for sync.
  ///   - progress: Called with the part that is done, 0 … 1; it ends the migration by throwing, and nothing has changed.
  /// - Throws: `StoreError`: `cannotMigrate` with what needs a mapping of its own, `newerModel` when the store has been
  ///   further than the model, `busy` while it is open elsewhere, `syncLocked` while somebody syncs it for longer than ten seconds, `constraint` when values break a new constraint; what a
  ///   migration policy threw. The store is then as it was.
  public static func migrate(
    at url: URL, to model: ManagedObjectModel, configuration: String? = nil,
    mapping: MappingModel? = nil, toManyLayout: ToManyLayout? = nil,
    progress: (Double) throws -> Void = { _ in }
  ) throws {
    try model.freeze()
    _ = try StoreConfiguration(configuration, of: model)
    try withoutActuallyEscaping(progress) { progress in
      try StoreMigration(
        url: url, configuration: configuration, destination: model, layout: toManyLayout,
        steps: { _ in [StoreMigration.Step(destination: model, mapping: mapping)] },
        progress: progress
      ).run()
    }
  }
}
