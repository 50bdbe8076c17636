import Dispatch

/// One long-lived context that any task can send work to: the pieces of work run one after another, in the order in
/// which they were sent, on a queue of its own.
///
/// ```swift
/// let context = container.newBackgroundContext()
/// let id = try await context.perform { context in
///   let book = try context.insert(Book.self)
///   book.title = "Baudolino"
///   try context.save()
///   return book.objectID
/// }
/// ```
///
/// The context lives as long as this does: unsaved changes of one piece of work are there for the next. Objects cannot
/// leave, for they are not Sendable; values and IDs can. It takes over what others save, between two pieces of work, when
/// `automaticallyMergesChangesFromParent` is on in it.
public final class BackgroundContext: @unchecked Sendable {  // used on its queue alone
  /// The coordinator of the stores that it works on.
  public let persistentStoreCoordinator: PersistentStoreCoordinator
  private let context: ManagedObjectContext
  private let queue: DispatchQueue
  /// A context on the stores of a coordinator.
  ///
  /// - Parameters:
  ///   - coordinator: The coordinator of the stores.
  ///   - name: Recorded with each save.
  public init(_ coordinator: PersistentStoreCoordinator, name: String? = nil) {
    persistentStoreCoordinator = coordinator
    context = ManagedObjectContext(coordinator)
    context.name = name
    queue = DispatchQueue(label: "driftless.context.\(name ?? "background")")
    queue.setSpecific(key: Confinement.owner, value: ObjectIdentifier(self))
    context.graph.confinement = .queue(ObjectIdentifier(self))
    context.inbox.setBell { [weak self] in
      self?.queue.async { [weak self] in self?.context.processPendingChanges() }
    }
  }

  /// Works in the context, after the work that was sent before, and ends the event
  /// (``ManagedObjectContext/processPendingChanges()``).
  /// - Throws: what `body` throws.
  public func perform<Value: Sendable>(
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      queue.async {
        continuation.resume(with: Result { try self.context.perform { try body(self.context) } })
      }
    }
  }

  /// Works in the context and waits for it. Inside a piece of work it is part of that one, and does not end the event.
  ///
  /// Two contexts whose work waits for each other wait for ever.
  /// - Throws: what `body` throws.
  public func performAndWait<Value: Sendable>(
    _ body: @Sendable (ManagedObjectContext) throws -> Value
  ) rethrows -> Value {
    if DispatchQueue.getSpecific(key: Confinement.owner) == ObjectIdentifier(self) {
      return try body(context)
    }
    return try queue.sync { try context.perform { try body(context) } }
  }
}

extension ManagedObjectContext {
  /// Works in the context, here and at once, and ends the event (``processPendingChanges()``).
  ///
  /// A context is used where it was made: in one task, actor or thread, which the compiler sees to. So there is nothing
  /// to wait for; a context that many send work to is a ``BackgroundContext``.
  public func perform<Value>(_ body: () throws -> Value) rethrows -> Value {
    defer { processPendingChanges() }
    return try body()
  }

  /// Works in the context, here and at once; the event goes on.
  public func performAndWait<Value>(_ body: () throws -> Value) rethrows -> Value { try body() }
}
