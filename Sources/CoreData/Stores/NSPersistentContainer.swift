public import Driftless
public import Foundation
import Synchronization

/// Stores and what is needed to work with them.
open class NSPersistentContainer: NSObject, @unchecked Sendable {  // what changes is behind a lock
  /// What the application calls the container.
  public let name: String
  /// The coordinator of its stores.
  public var persistentStoreCoordinator: NSPersistentStoreCoordinator { coordinator }
  private var coordinator: NSPersistentStoreCoordinator  // set while the container is made
  private let descriptions: Mutex<[NSPersistentStoreDescription]>
  /// Descriptions that were loaded, with their stores.
  private let loaded = Mutex<
    [(description: NSPersistentStoreDescription, store: NSPersistentStore)]
  >(
    [])
  private let main = Mutex<NSManagedObjectContext?>(nil)
  /// Why there is no model; nil where there is one.
  private let missingModel = Mutex<(any Error)?>(nil)

  /// A container with one store, `NAME.sqlite` in `defaultDirectoryURL()`.
  ///
  /// - Parameters:
  ///   - name: What the application calls it.
  ///   - model: It is frozen when a store is loaded.
  public init(name: String, managedObjectModel model: NSManagedObjectModel) {
    self.name = name
    coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let url = Self.defaultDirectoryURL().appendingPathComponent("\(name).sqlite")
    descriptions = Mutex([PersistentStoreDescription(url: url)])
  }

  /// A container with the model of that name in the program's resources, and one store. Where there is none, or it cannot be
  /// read, the log says so (`driftless.model`), the container has a model without entities, and
  /// ``loadPersistentStores(completionHandler:)`` gives the error.
  public convenience init(name: String) {
    do {
      let found = try PersistentContainer(name: name)
      self.init(name: name, managedObjectModel: found.managedObjectModel)
    } catch {
      self.init(name: name, managedObjectModel: NSManagedObjectModel())
      let missing = Self.missingModel(named: name, error)
      PersistentContainer.logMissingModel("\(missing.localizedDescription)")
      missingModel.withLock { $0 = missing }
    }
  }

  private static func missingModel(named name: String, _ reason: any Error) -> CocoaError {
    CocoaError(
      CocoaError.Code(rawValue: NSManagedObjectModelReferenceNotFoundError),
      userInfo: [
        NSLocalizedDescriptionKey: "There is no model \(name) to load: \(reason)",
        NSLocalizedRecoverySuggestionErrorKey:
          "Put \(name).momd or \(name).xcdatamodeld into the resources of the program, or make the container with "
          + "init(name:managedObjectModel:).",
        NSUnderlyingErrorKey: reason,
      ])
  }

  /// A container on stores that are open. Not a designated one: a class of an application's inherits `init(name:)` only where it
  /// sees all of these.
  convenience init(_ known: PersistentContainer) {
    self.init(
      name: known.name,
      managedObjectModel: known.persistentStoreCoordinator.managedObjectModel)
    coordinator = known.persistentStoreCoordinator
    descriptions.withLock { $0 = known.persistentStoreDescriptions }
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
          // A file without any tables would be no store of the model that is missing.
          if let missing = self.missingModel.withLock({ $0 }) { throw missing }
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
