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
    /// Whether nobody asked for it but by opening the store: a program that knows its versions is refused where it is older.
    var isUnasked = false
    /// Whether what the store was is kept beside it where something goes that nobody asked to go.
    var keepsCopy = false
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
  /// Whether it may be a model that the store had before.
  var goesBack = false
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
        goesBack: goesBack, busyTimeoutMilliseconds: busyTimeoutMilliseconds, steps: steps,
        progress: progress
      ).run()
    }
    try StoreObstacle.checkKind(of: url)
    let end = ContinuousClock.now + .milliseconds(busyTimeoutMilliseconds)
    var pause: UInt32 = 10_000
    while true {
      do {
        try runAlone(until: end)
        break
      } catch let other as OpenElsewhere {
        // Who opens the store as it is, to see that it is another model's, has it open for a moment; who has it for longer saves
        // into it in between.
        guard ContinuousClock.now < end else { throw other.failure }
        usleep(pause)
        pause = min(pause * 2, 320_000)
      }
    }
    try progress(1)
  }

  /// - Throws: ``OpenElsewhere``: nothing was changed.
  private func runAlone(until end: ContinuousClock.Instant) throws {
    func left() -> Int32 {
      let left = (end - .now) / .milliseconds(1)
      return Int32(max(0, min(left, Double(busyTimeoutMilliseconds))))
    }
    let syncing = try SyncLock(path: url.path + "-driftless-sync", milliseconds: left())
    let writing = try FileLock(path: url.path + "-driftless-lock")
    try writing.lock(.exclusive, milliseconds: left())
    defer { withExtendedLifetime(syncing) { writing.unlock() } }
    do {
      try run(stepsAhead())
    } catch let error as SQLiteError {
      throw PersistentStore.naming(lost: StoreError(error, path: url.path), at: url, "migrate")
    } catch let error as StoreError {
      throw PersistentStore.naming(lost: error, at: url, "migrate")
    }
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
    partials.forEach(NewFile.removeStore)
    defer { partials.forEach(NewFile.removeStore) }
    try checkIsAlone()
    var copy: URL?
    do {
      for step in steps where step.isUnasked {
        try UnaskedDrops(url: url, destination: step.destination).check()
      }
      if try isDoneInPlace(steps) { return }
      copy = try keepCopy(before: steps)
      var current = url
      for number in steps.indices {
        current = try take(number, of: steps, from: current, partials)
      }
      try swap(current, keeping: copy)
    } catch {
      if let copy { KeptCopies.remove([copy.lastPathComponent], of: url) }
      throw DuplicateKeys.told(error)
    }
  }

  private func keepCopy(before steps: [Step]) throws -> URL? {
    guard steps.count == 1, let step = steps.first, step.keepsCopy else { return nil }
    return try UnaskedDrops(url: url, destination: step.destination).keep()
  }

  /// Looks whether the file is open elsewhere before it is copied: who has it open keeps it, and may save meanwhile.
  private func checkIsAlone() throws {
    let connection = try SQLiteConnection(
      path: url.path, mode: .readWrite,
      busyTimeoutMilliseconds: StoreTuning.checkpointWaitMilliseconds)
    defer { connection.close() }
    guard try connection.isAlone() else { throw OpenElsewhere(path: url.path) }
  }

  private func isDoneInPlace(_ steps: [Step]) throws -> Bool {
    guard steps.count == 1, let step = steps.first, step.defersCleanup, step.mapping == nil,
      layout == nil, step.willMigrate == nil, step.didMigrate == nil
    else { return false }
    return try MigrationInPlace(
      url: url, destination: step.destination, configuration: configuration
    ).run()
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
      layout: layout, goesBack: goesBack
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
    if source != current || source != url { NewFile.removeStore(source) }
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
      let error = StoreError(error, path: destination.path)
      throw DuplicateKeys.told(PersistentStore.naming(lost: error, at: source, "migrate"))
    } catch {
      throw DuplicateKeys.told(error)
    }
  }

  // MARK: Its place

  /// Puts the content of the new file in place of the old, in one transaction of the old file.
  private func swap(_ partial: URL, keeping copy: URL?) throws {
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
    try KeptCopies.set(
      KeptCopies.names(on: original) + (copy.map { [$0.lastPathComponent] } ?? []), on: new)
    if !ExternalDataFolder(store: url.path).names.isEmpty {
      // Rows that named some may be gone. They go when this is in place: whoever opens it first looks for them.
      try StoreSettings.set(PersistentStore.sweepingSetting, .integer(1), on: new)
    }
    // The file says that it has no write-ahead log as long as it has a rollback journal, whatever page is written first.
    _ = try new.scalar("PRAGMA journal_mode = DELETE")
    try Self.useAlone(original)
    try new.withSnapshot { try new.backUp(to: original) { _ in } }
  }

  /// Succeeds only when no other connection of any process has the file open: one that has works with the old tables.
  ///
  /// - Throws: ``OpenElsewhere``.
  static func useAlone(_ connection: SQLiteConnection) throws {
    do {
      if try connection.scalar("PRAGMA journal_mode = DELETE") == .text("delete") { return }
    } catch let error as SQLiteError where error.isBusy {
      // It is open elsewhere.
    }
    throw OpenElsewhere(path: connection.path)
  }

  /// Somebody else has the file open.
  private struct OpenElsewhere: Error {
    let path: String

    var failure: StoreError {
      StoreError(
        .busy, "\(path) is open elsewhere, and cannot be migrated meanwhile.",
        suggestion: "Close it there, stop syncd, and try again; the file was not changed.")
    }
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
  ///   - goesBack: Whether the model may be one that the store had before. It is refused otherwise. What came after that model
  ///     may come again then.
  ///   - progress: Called with the part that is done, 0 … 1; it ends the migration by throwing, and nothing has changed.
  /// - Throws: `StoreError`: `cannotMigrate` with what needs a mapping of its own, `newerModel` when the store has been
  ///   further than the model, `busy` while it is open elsewhere, `syncLocked` while somebody syncs it for longer than ten seconds, `constraint` when values break a new constraint; what a
  ///   migration policy threw. The store is then as it was.
  public static func migrate(
    at url: URL, to model: ManagedObjectModel, configuration: String? = nil,
    mapping: MappingModel? = nil, toManyLayout: ToManyLayout? = nil, goesBack: Bool = false,
    progress: (Double) throws -> Void = { _ in }
  ) throws {
    try model.freeze()
    _ = try StoreConfiguration(configuration, of: model)
    try withoutActuallyEscaping(progress) { progress in
      try StoreMigration(
        url: url, configuration: configuration, destination: model, layout: toManyLayout,
        goesBack: goesBack,
        steps: { _ in [StoreMigration.Step(destination: model, mapping: mapping)] },
        progress: progress
      ).run()
    }
  }
}
