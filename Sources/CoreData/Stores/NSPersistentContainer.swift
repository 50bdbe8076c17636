public import Driftless
public import Foundation
import Synchronization

/// Stores and what is needed to work with them.
open class NSPersistentContainer: NSObject, @unchecked Sendable {  // what changes is behind a lock
  /// What the application calls the container.
  public let name: String
  /// The coordinator of its stores.
  public let persistentStoreCoordinator: NSPersistentStoreCoordinator
  private let descriptions: Mutex<[NSPersistentStoreDescription]>
  /// Descriptions that were loaded, with their stores.
  private let loaded = Mutex<
    [(description: NSPersistentStoreDescription, store: NSPersistentStore)]
  >(
    [])
  private let main = Mutex<NSManagedObjectContext?>(nil)

  /// A container with one store, `NAME.sqlite` in `defaultDirectoryURL()`.
  ///
  /// - Parameters:
  ///   - name: What the application calls it.
  ///   - model: It is frozen when a store is loaded.
  public init(name: String, managedObjectModel model: NSManagedObjectModel) {
    self.name = name
    persistentStoreCoordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let url = Self.defaultDirectoryURL().appendingPathComponent("\(name).sqlite")
    descriptions = Mutex([PersistentStoreDescription(url: url)])
  }

  /// A container with the model of that name in the program's resources, and one store. A model that is not there, or that
  /// cannot be read, is a precondition failure.
  public convenience init(name: String) {
    do {
      let found = try PersistentContainer(name: name)
      self.init(name: name, managedObjectModel: found.managedObjectModel)
    } catch {
      preconditionFailure("\(error)")
    }
  }

  /// A container on stores that are open.
  init(_ known: PersistentContainer) {
    name = known.name
    persistentStoreCoordinator = known.persistentStoreCoordinator
    descriptions = Mutex(known.persistentStoreDescriptions)
  }

  /// The user's folder for the data of programs: `$XDG_DATA_HOME`, else `~/.local/share`.
  open class func defaultDirectoryURL() -> URL { PersistentContainer.defaultDirectoryURL() }

  /// The model of all its stores.
  public var managedObjectModel: NSManagedObjectModel {
    persistentStoreCoordinator.managedObjectModel
  }

  /// The stores to load.
  open var persistentStoreDescriptions: [NSPersistentStoreDescription] {
    get { descriptions.withLock { $0 } }
    set { descriptions.withLock { $0 = newValue } }
  }

  /// Opens the stores that are described, or makes them, and calls the block once for each that was not loaded before: with
  /// an error, and nothing of it left open, or with nil.
  ///
  /// The block is called before this returns; for a description that says `shouldAddStoreAsynchronously` later, on another
  /// thread.
  @preconcurrency
  open func loadPersistentStores(
    completionHandler block:
      @escaping @Sendable (NSPersistentStoreDescription, (any Error)?) -> Void
  ) {
    for description in persistentStoreDescriptions where !isLoaded(description) {
      let work: @Sendable () -> Void = {
        do {
          let store = try self.persistentStoreCoordinator.attach(description)
          self.loaded.withLock { loaded in
            loaded.removeAll { $0.description === description }
            loaded.append((description, store))
          }
          block(description, nil)
        } catch { block(description, error) }
      }
      if description.shouldAddStoreAsynchronously {
        // It may wait for other processes, which would keep tasks waiting on one of their threads.
        ContextQueue(label: "driftless.opening").async(work)
      } else {
        work()
      }
    }
  }

  private func isLoaded(_ description: NSPersistentStoreDescription) -> Bool {
    let store = loaded.withLock { $0.first { $0.description === description }?.store }
    return persistentStoreCoordinator.persistentStores.contains { $0 === store }
  }

  // MARK: Contexts

  /// The main queue's context, made at first use.
  open var viewContext: NSManagedObjectContext {
    main.withLock { main in
      if let main { return main }
      let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
      context.persistentStoreCoordinator = persistentStoreCoordinator
      context.name = "viewContext"
      main = context
      return context
    }
  }

  /// A context with a queue of its own.
  open func newBackgroundContext() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = persistentStoreCoordinator
    return context
  }

  /// Works in a context of its own, on its queue. It does not wait.
  @preconcurrency
  open func performBackgroundTask(_ block: @escaping @Sendable (NSManagedObjectContext) -> Void) {
    let context = newBackgroundContext()
    context.perform { block(context) }
  }

  /// Works in a context of its own, on its queue, and gives what the block gave: values and IDs, not objects.
  /// - Throws: what the block throws.
  @preconcurrency
  @discardableResult
  public func performBackgroundTask<T, E: Error>(
    _ block: @escaping @Sendable (NSManagedObjectContext) throws(E) -> T
  ) async throws(E) -> sending T {
    let context = newBackgroundContext()
    return try await context.perform { () throws(E) -> T in try block(context) }
  }
}
