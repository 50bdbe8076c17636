public import Foundation
import Logging
import Synchronization

/// Stores and what is needed to work with them.
///
/// ```swift
/// let container = PersistentContainer(name: "Library", model: model, storeURL: url)
/// try container.loadPersistentStores()
/// let titles = try await container.perform { context in
///   try context.fetch(Book.self).map(\.title)
/// }
/// ```
///
/// With ``persistentStoreDescriptions`` it has several stores, say one for each configuration of the model.
public final class PersistentContainer: Sendable {
  /// What the application calls the container.
  public let name: String
  /// The coordinator of its stores.
  public let persistentStoreCoordinator: PersistentStoreCoordinator
  /// Where stores are opened that the caller does not wait for: that may wait for other processes, or migrate.
  private let queue = OperationQueue()
  private let descriptions: Mutex<[PersistentStoreDescription]>
  @MainActor private var mainContext: ManagedObjectContext?
  private let loaded = Mutex<[ObjectIdentifier: PersistentStore]>([:])
  /// One store is loaded after the other; who is told of it may ask for the next.
  private let loading = NSRecursiveLock()
  /// Descriptions of stores that are being opened.
  private let opening = Mutex<Set<ObjectIdentifier>>([])

  /// A container with one store, which ``loadPersistentStores()`` opens.
  ///
  /// - Parameters:
  ///   - name: What the application calls it; no file is named by it here.
  ///   - model: The model of the objects; it is frozen when a store is opened.
  ///   - storeURL: nil for a store in memory.
  ///   - options: How the store is opened.
  public convenience init(
    name: String, model: ManagedObjectModel, storeURL: URL?, options: StoreOptions = StoreOptions()
  ) {
    self.init(
      name: name, model, [PersistentStoreDescription(url: storeURL, options: options)])
  }

  /// A container with one store, `NAME.sqlite` in ``defaultDirectoryURL()``, which is migrated when that can be done
  /// without a mapping.
  public convenience init(name: String, managedObjectModel model: ManagedObjectModel) {
    let url = Self.defaultDirectoryURL().appendingPathComponent("\(name).sqlite")
    self.init(name: name, model, [PersistentStoreDescription(url: url)])
  }

  /// A container with the model of that name in the program's resources, and one store, `NAME.sqlite` in
  /// ``defaultDirectoryURL()``, which is migrated when that can be done without a mapping.
  ///
  /// It looks in the main bundle's folder of resources, beside the program, and then in the bundles that lie in these two
  /// (`….resources`, `….bundle`), in the order of their names. In each it takes the first that is there of `NAME.momd`,
  /// `NAME.mom`, `NAME.xcdatamodeld` and `NAME.xcdatamodel`.
  ///
  /// - Parameter name: That of the model and of the store's file, without an extension.
  /// - Throws: ``ModelError`` when there is none, or it cannot be read.
  public convenience init(name: String) throws {
    var folders = [Bundle.main.resourceURL, Bundle.main.bundleURL].compactMap { $0 }
    for folder in folders {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
      folders += names.filter { $0.hasSuffix(".resources") || $0.hasSuffix(".bundle") }.sorted()
        .map(folder.appendingPathComponent)
    }
    let files = folders.flatMap { folder in
      ["momd", "mom", "xcdatamodeld", "xcdatamodel"].map {
        folder.appendingPathComponent("\(name).\($0)")
      }
    }
    let found = files.first { FileManager.default.fileExists(atPath: $0.path) }
    let missing = Bundle.main.bundleURL.appendingPathComponent("\(name).momd")
    self.init(
      name: name, managedObjectModel: try ManagedObjectModel(contentsOf: found ?? missing))
  }

  /// Tells of a model that a container cannot have, where its initialiser throws nothing.
  package static func logMissingModel(_ text: String) {
    Logger(label: "driftless.model").error("\(text)")
  }

  private init(
    name: String, _ model: ManagedObjectModel, _ descriptions: [PersistentStoreDescription]
  ) {
    self.name = name
    self.descriptions = Mutex(descriptions)
    persistentStoreCoordinator = PersistentStoreCoordinator(managedObjectModel: model)
    queue.name = "driftless.container.\(name)"
    queue.maxConcurrentOperationCount = StoreTuning.openersMax
  }

  /// The user's folder for the data of programs: `$XDG_DATA_HOME`, else `~/.local/share`.
  public static func defaultDirectoryURL() -> URL {
    FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
      ?? FileManager.default.homeDirectoryForCurrentUser
  }

  /// The model of all its stores.
  public var managedObjectModel: ManagedObjectModel {
    persistentStoreCoordinator.managedObjectModel
  }

  /// The file of the first store; nil for a store in memory.
  public var storeURL: URL? { persistentStoreDescriptions.first?.url }

  // MARK: Stores

  /// The stores to load. A store that is loaded stays as it is when its description changes or goes.
  public var persistentStoreDescriptions: [PersistentStoreDescription] {
    get { descriptions.withLock { $0 } }
    set { descriptions.withLock { $0 = newValue } }
  }

  /// Opens the stores that are described, or makes them, before it returns. Those that are loaded already stay as they are.
  ///
  /// - Throws: `StoreError`, `ModelError` or ``ObjectError`` for the first that cannot be opened; nothing of it is left open.
  ///   Those before it are loaded. When the cause is gone, a further call loads the rest.
  public func loadPersistentStores() throws {
    for description in persistentStoreDescriptions { try load(description) }
  }

  /// Opens the stores that are described, or makes them, and calls the handler once for each that was not loaded before: with
  /// an error, and nothing of it left open, or with nil.
  ///
  /// The handler is called before this returns, for a description that says `shouldAddStoreAsynchronously` later, on a
  /// thread of the container.
  public func loadPersistentStores(
    completionHandler: @escaping @Sendable (PersistentStoreDescription, (any Error)?) -> Void
  ) {
    for description in persistentStoreDescriptions where !isLoaded(description) {
      if description.shouldAddStoreAsynchronously {
        queue.addOperation { completionHandler(description, self.failure(of: description)) }
      } else {
        completionHandler(description, failure(of: description))
      }
    }
  }

  /// Does what ``loadPersistentStores()`` does on a thread of the container, while the caller's goes on: opening may wait for
  /// other processes, or migrate.
  ///
  /// - Throws: as ``loadPersistentStores()``.
  public func loadPersistentStoresInBackground() async throws {
    try await withCheckedThrowingContinuation { continuation in
      queue.addOperation { continuation.resume(with: Result { try self.loadPersistentStores() }) }
    }
  }

  private func failure(of description: PersistentStoreDescription) -> (any Error)? {
    do { try load(description) } catch { return error }
    return nil
  }

  private func load(_ description: PersistentStoreDescription) throws {
    loading.lock()
    defer { loading.unlock() }
    let id = ObjectIdentifier(description)
    guard !isLoaded(description), opening.withLock({ $0.insert(id).inserted }) else { return }
    defer { _ = opening.withLock { $0.remove(id) } }
    let store = try persistentStoreCoordinator.addPersistentStore(with: description)
    loaded.withLock { $0[id] = store }
  }

  private func isLoaded(_ description: PersistentStoreDescription) -> Bool {
    loaded.withLock { isAttached($0[ObjectIdentifier(description)]) }
  }

  private func isAttached(_ store: PersistentStore?) -> Bool {
    // Another file may have taken its place, or the same under another name.
    persistentStoreCoordinator.persistentStores.contains { $0.identifier == store?.identifier }
  }

  // MARK: Contexts

  /// The main actor's context, whose objects can be observed (``ManagedObjectContext/tracksObservation``). It is made at
  /// first use and takes over what others save, sync brings or another process writes only when it is told to, by
  /// ``ManagedObjectContext/automaticallyMergesChangesFromParent``; then it does so at once.
  @MainActor public var viewContext: ManagedObjectContext {
    if let mainContext { return mainContext }
    let context = newContext()
    context.name = "viewContext"
    context.use(on: .main)
    context.tracksObservation = true
    context.inbox.setBell { [weak self] in
      Task { @MainActor in self?.mainContext?.processPendingChanges() }
    }
    mainContext = context
    return context
  }

  /// A context for the caller's own use: in an actor, on the main thread.
  public func newContext() -> ManagedObjectContext {
    let context = ManagedObjectContext(persistentStoreCoordinator)
    context.name = name
    return context
  }

  /// A long-lived context off the caller's thread, which any task can send work to.
  public func newBackgroundContext() -> BackgroundContext {
    BackgroundContext(persistentStoreCoordinator, name: name)
  }

  /// Works in a context of its own, on a thread of the container. Objects cannot leave; values and
  /// IDs can. What is not saved is lost.
  ///
  /// Several pieces of work run at once, with those of background contexts at most as many as the stores have readers
  /// (``StoreOptions/readersMax``); others wait in the order in which they came, and hold no thread meanwhile. So a piece should
  /// not wait for another: that may begin only when none has ended for ten seconds.
  /// The work is done also where the task is cancelled.
  /// - Throws: what `body` throws.
  public func perform<Value: Sendable>(
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> Value
  ) async throws -> Value {
    let queue = ContextQueue(label: "driftless.container", line: persistentStoreCoordinator.line)
    return try await queue.run { try self.work(on: queue, body) }
  }

  /// Works in a context of its own, on the calling thread.
  public func performAndWait<Value: Sendable>(
    _ body: (ManagedObjectContext) throws -> Value
  ) rethrows -> Value {
    // The thread holds a queue meanwhile: whoever lets go of an object elsewhere is told from it.
    let queue = ContextQueue(label: "driftless.container")
    return try queue.sync { try work(on: queue, body) }
  }

  private func work<Value: Sendable>(
    on queue: ContextQueue, _ body: (ManagedObjectContext) throws -> Value
  ) rethrows -> Value {
    let context = newContext()
    context.use(on: queue)
    return try body(context)
  }
}
