import Dispatch
public import Foundation

/// A store and what is needed to work with it.
///
/// ```swift
/// let container = PersistentContainer(name: "Library", model: model, storeURL: url)
/// try container.loadPersistentStores()
/// let titles = try await container.perform { context in
///   try context.fetch(Book.self).map(\.title)
/// }
/// ```
public final class PersistentContainer: Sendable {
  public let name: String
  public let storeURL: URL?
  public let options: StoreOptions
  public let persistentStoreCoordinator: PersistentStoreCoordinator
  private let queue: DispatchQueue

  /// - Parameter storeURL: nil for a store in memory.
  public init(
    name: String, model: ManagedObjectModel, storeURL: URL?, options: StoreOptions = StoreOptions()
  ) {
    self.name = name
    self.storeURL = storeURL
    self.options = options
    persistentStoreCoordinator = PersistentStoreCoordinator(managedObjectModel: model)
    queue = DispatchQueue(label: "driftless.container.\(name)", attributes: .concurrent)
  }

  public var managedObjectModel: ManagedObjectModel {
    persistentStoreCoordinator.managedObjectModel
  }

  /// Opens the store, or makes it. A second call does nothing.
  /// - Throws: `StoreError` or `ModelError`; nothing is left open.
  public func loadPersistentStores() throws {
    guard persistentStoreCoordinator.persistentStores.isEmpty else { return }
    try persistentStoreCoordinator.addPersistentStore(at: storeURL, options: options)
  }

  /// A context for the caller's own use: in an actor, on the main thread.
  public func newContext() -> ManagedObjectContext {
    let context = ManagedObjectContext(persistentStoreCoordinator)
    context.name = name
    return context
  }

  /// Works in a context of its own, on a thread of the container. Objects cannot leave; values and
  /// IDs can. What is not saved is lost.
  public func perform<Value: Sendable>(
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      queue.async {
        continuation.resume(with: Result { try self.performAndWait(body) })
      }
    }
  }

  /// Works in a context of its own, on the calling thread.
  public func performAndWait<Value: Sendable>(
    _ body: (ManagedObjectContext) throws -> Value
  ) rethrows -> Value {
    try body(newContext())
  }
}
