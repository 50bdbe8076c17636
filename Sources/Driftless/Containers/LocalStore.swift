public import Foundation

/// One store of this device, with a way to read it and a way to write it.
///
/// ```swift
/// let library = try await LocalStore.open(model: model, at: storeURL)
/// try await library.write { context in
///   try context.insert(Book.self).title = "Persuasion"
/// }
/// let titles = try await library.read { context in
///   try context.fetch(Book.self, order: Book.title.ascending).map(\.title)
/// }
/// ```
/// The module `DriftlessSync` keeps it in step with a zone of a server, by `sync(through:)`, and `DriftlessHTTP` by
/// `sync(with:zone:token:)`: it is *local* whether or not there is a network, and a *replica* once a server has answered.
///
/// Below it is what Core Data has: ``container`` with its contexts, and ``store``. Work of both goes together. Several local
/// stores on one file, of this process or others, are as several containers: one sees what the others save.
///
/// No type here is called `Driftless`: one of the module's own name would hide the module, and `Driftless.Attribute` could
/// not be said any more.
public final class LocalStore: Sendable {
  /// The container of the store: contexts that stay, the main actor's context, live results.
  public let container: PersistentContainer
  /// The store: its history, its metadata, the care of its file.
  public let store: PersistentStore
  /// Writes of this store wait for each other here.
  private let writes: ContextQueue

  /// Opens a store, or makes it with the folder that it is in, on a thread of its own: that may wait for other processes, or
  /// migrate.
  ///
  /// - Parameters:
  ///   - model: The model of the objects; it is frozen then.
  ///   - url: The file; nil for a store in memory.
  ///   - options: How it is opened. Unless they say otherwise, a store of an older model is brought to this one by what
  ///     follows from the two (a lightweight migration); what does not follow from them is refused.
  /// - Returns: The store, open as long as anybody has it or a context of it.
  /// - Throws: `StoreError` that names the file and says what to do, or `ModelError`. Nothing is left open then.
  public static func open(
    model: ManagedObjectModel, at url: URL?,
    options: StoreOptions = StoreOptions(migratesAutomatically: true)
  ) async throws -> LocalStore {
    try await ContextQueue(label: "driftless.opening").run {
      try LocalStore(model: model, at: url, options: options)
    }
  }

  /// Opens a store, or makes it with the folder that it is in, on the calling thread: see ``open(model:at:options:)``.
  ///
  /// - Parameters:
  ///   - model: The model of the objects; it is frozen then.
  ///   - url: The file; nil for a store in memory.
  ///   - options: How it is opened.
  /// - Throws: `StoreError` that names the file and says what to do, or `ModelError`. Nothing is left open then.
  public init(
    model: ManagedObjectModel, at url: URL?,
    options: StoreOptions = StoreOptions(migratesAutomatically: true)
  ) throws {
    if let url {
      guard url.isFileURL else {
        throw StoreError(
          .invalidArgument, "\(url.absoluteString) names no file.",
          suggestion: "Give the path of the store's file: URL(filePath:).")
      }
      if options.createsFile, !options.isReadOnly { try StoreFolder.make(for: url) }
    }
    let name = url?.deletingPathExtension().lastPathComponent ?? "memory"
    container = PersistentContainer(name: name, model: model, storeURL: url, options: options)
    try container.loadPersistentStores()
    guard let store = container.persistentStoreCoordinator.persistentStores.first else {
      throw ObjectError(
        .noStore, "The store \(name) was not loaded", suggestion: "Open it again.")
    }
    self.store = store
    writes = ContextQueue(
      label: "driftless.writes.\(name)", line: container.persistentStoreCoordinator.line)
  }

  /// Reads one state of the store, which stays as it is until the work ends, whatever others save meanwhile. A store in
  /// memory has no states: it is read as it is.
  ///
  /// Objects cannot leave; values and IDs can. Many reads go on at once, beside a write. The state is kept as long as the work
  /// goes on, and the store's log grows with every write until then: long work with the values comes after it.
  ///
  /// - Parameter body: The work, in a context of its own.
  /// - Returns: What the work gives.
  /// - Throws: What the work throws; what accessors met and could not throw (``ManagedObjectContext/accessorErrors``);
  ///   ``ObjectError`` with the code `changed-in-read` where it changed objects or saved: nothing is saved then;
  ///   `CancellationError` where its task was cancelled before it began.
  public func read<Value: Sendable>(
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> Value
  ) async throws -> Value {
    let interruption = FetchInterruption()
    return try await withTaskCancellationHandler {
      try await container.perform { context in
        guard !interruption.isCancelled else { throw CancellationError() }
        return try context.reading(body)
      }
    } onCancel: {
      interruption.cancel()
    }
  }

  /// Changes objects and saves them: all that the work changed, or nothing.
  ///
  /// The work does not save; that is done when it ends. When it throws, nothing of it is saved. Writes of one local store are
  /// done one after the other, first come, first served, each on the newest state; also where their task is cancelled, as
  /// all work that is sent to a context.
  ///
  /// Where others (sync, another process, another context) changed the same objects between the work and its save, the merge
  /// policy decides. With `.error`, as at first, the work is done again on what is there then, up to eight times in all: so it
  /// does nothing but work on its context. With another policy, here or set by the work, the save is made by that, once.
  ///
  /// Objects cannot leave; values and IDs can. The ID of a new object, or an array of IDs, is given as it is after the save.
  ///
  /// - Parameters:
  ///   - mergePolicy: What the save does about objects that another one changed.
  ///   - author: Who makes the changes; recorded with the save, nil for nobody.
  ///   - body: The work, in a context of its own.
  /// - Returns: What the work gives.
  /// - Throws: What the work throws; what a save throws (``ManagedObjectContext/save()``), ``SaveConflictError`` where others
  ///   kept changing the same objects; ``ObjectError`` with the code `nested-save` where the work saved by itself, or asked
  ///   for a batch request, which is not undone with it. Nothing is saved then.
  public func write<Value: Sendable>(
    mergePolicy: MergePolicyType = .error, author: String? = nil,
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> Value
  ) async throws -> Value {
    try await writes.run { try self.write(mergePolicy, author, body) }
  }

  private func write<Value>(
    _ policy: MergePolicyType, _ author: String?,
    _ body: (ManagedObjectContext) throws -> Value
  ) throws -> Value {
    var attempts = 1
    while true {
      let context = container.newContext()
      context.use(on: writes)
      context.mergePolicy = MergePolicy(merge: policy)
      context.transactionAuthor = author
      let newest = try newestTransaction
      let value = try context.changing(body)
      do {
        try context.save()
        return (value as? any NamedBySave)?.named(in: context) as? Value ?? value
      } catch  where context.mergePolicy.mergeType == .error && Self.isConflict(error) {
        // Done again on what is there already, it would end the same way.
        guard attempts < StoreTuning.writeAttemptsMax, try newestTransaction != newest else {
          throw error
        }
        attempts += 1
      }
    }
  }

  private var newestTransaction: Int64 {
    get throws { try store.read { try $0.maximumTransactionNumber() } }
  }

  private static func isConflict(_ error: any Error) -> Bool {
    error is SaveConflictError || error is ConstraintConflictError
  }
}

extension ManagedObjectContext {
  /// Work that reads one state, and changes nothing.
  fileprivate func reading<Value>(
    _ body: (ManagedObjectContext) throws -> Value
  ) throws -> Value {
    saving.refuseWrites(
      ObjectError(
        .changedInRead, "Work that was to read asked to save, or for a batch request",
        suggestion: "Do it in write: that saves when the work ends."))
    try setQueryGenerationFrom(.current)
    let value = try body(self)
    try throwAccessorError()
    // One whose row was gone when it was read counts as deleted, and nobody changed it.
    let changed = changedObjects.filter {
      $0.hasChanges && !$0.isOnlyTouched && $0.isIn(self)
        && !($0.isDeleted && $0.state.contains(.missing))
    }
    guard let first = changed.first else { return value }
    throw ObjectError(
      .changedInRead,
      "Work that was to read changed \(first.entity.name)"
        + (changed.count > 1 ? " and \(changed.count - 1) more; they were" : "; it was")
        + " not saved",
      suggestion: "Change objects in write: that saves when the work ends.")
  }

  /// Work that is saved when it ends, and not before.
  fileprivate func changing<Value>(
    _ body: (ManagedObjectContext) throws -> Value
  ) throws -> Value {
    saving.refuseWrites(
      ObjectError(
        .nestedSave, "Work that is saved when it ends asked to save, or for a batch request",
        suggestion:
          "Leave save() out; for batch requests, and to save in parts, use container.perform."))
    defer { saving.refuseWrites(nil) }
    return try body(self)
  }
}

/// A value that is another one once a new object is saved.
private protocol NamedBySave {
  /// As it is after the save.
  func named(in context: ManagedObjectContext) -> Self
}

extension ManagedObjectID: NamedBySave {
  fileprivate func named(in context: ManagedObjectContext) -> ManagedObjectID {
    isTemporaryID ? context.object(with: self)?.objectID ?? self : self
  }
}

extension Optional: NamedBySave where Wrapped == ManagedObjectID {
  fileprivate func named(in context: ManagedObjectContext) -> ManagedObjectID? {
    map { $0.named(in: context) }
  }
}

extension Array: NamedBySave where Element == ManagedObjectID {
  fileprivate func named(in context: ManagedObjectContext) -> [ManagedObjectID] {
    map { $0.named(in: context) }
  }
}
