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
///
/// The pieces of work of all background contexts of a coordinator, and those of its container, share a number of threads
/// (``StoreOptions/readersMax``): beyond it contexts wait for their turn, first come, first served, one piece of work a
/// turn, and hold no thread meanwhile. So a piece should not wait, by a semaphore of its own say, for another piece that was
/// sent: that may begin only when none has ended for ten seconds. ``performAndWait(_:)`` on another context is no such
/// wait, for it does not depend on a thread that is free.
///
/// One on a parent reads the parent and saves into it, on the parent's queue, and waits while it does so. It takes over what
/// others save before its next piece of work.
public final class BackgroundContext: @unchecked Sendable {  // used on its queue alone
  /// The coordinator of the stores that it works on.
  public let persistentStoreCoordinator: PersistentStoreCoordinator
  private let context: ManagedObjectContext
  private let queue: ContextQueue

  /// A context on the stores of a coordinator.
  ///
  /// - Parameters:
  ///   - coordinator: The coordinator of the stores.
  ///   - name: Recorded with each save.
  public convenience init(_ coordinator: PersistentStoreCoordinator, name: String? = nil) {
    self.init(name) { ManagedObjectContext(coordinator, queue: $0) }
  }

  /// A context on another one with a queue of its own.
  ///
  /// Work of the parent must not wait for the child while the child waits for the parent: that never ends, but inside of a
  /// piece of work of the child that the parent waits for.
  /// - Parameters:
  ///   - parent: What it reads from and saves to.
  ///   - name: The context's name.
  public convenience init(parent: BackgroundContext, name: String? = nil) {
    self.init(name) { ManagedObjectContext(parent: parent.context, queue: $0) }
  }

  /// A context on one of the main actor: long work that shows there when it is saved.
  ///
  /// ```swift
  /// let edit = BackgroundContext(parent: container.viewContext)
  /// try await edit.perform { context in
  ///   try importBooks(into: context)
  ///   try context.save()  // into the view context, which saves it into the store
  /// }
  /// ```
  /// - Parameters:
  ///   - parent: A context that the main actor alone uses, from now on at the latest: a container's `viewContext`.
  ///   - name: The context's name.
  @MainActor
  public convenience init(parent: ManagedObjectContext, name: String? = nil) {
    if parent.queue == nil { parent.use(on: .main) }
    self.init(name) { ManagedObjectContext(parent: parent, queue: $0) }
  }

  private init(_ name: String?, _ make: (ContextQueue) -> ManagedObjectContext) {
    queue = ContextQueue(label: "driftless.context.\(name ?? "background")")
    context = make(queue)
    context.name = name
    persistentStoreCoordinator = context.persistentStoreCoordinator
    // News that a child takes over it reads from its parent, whose work may be waiting for the child: not by itself.
    guard context.parent == nil else { return }
    context.inbox.setBell { [weak self] in
      self?.queue.async { [weak self] in self?.context.processPendingChanges() }
    }
  }

  /// Works in the context, after the work that was sent before, and ends the event
  /// (``ManagedObjectContext/processPendingChanges()``).
  /// The work is done also where the task is cancelled.
  /// - Throws: what `body` throws.
  public func perform<Value: Sendable>(
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> Value
  ) async throws -> Value {
    try await queue.run { try self.work { try body(self.context) } }
  }

  /// How many pieces of work were sent and have not begun.
  package var waitingCount: Int { queue.waitingCount }

  /// Works in the context, after the work that was sent before, ends the event, and does not wait.
  func send(_ body: @escaping @Sendable (ManagedObjectContext) -> Void) {
    queue.async { self.work { body(self.context) } }
  }

  private func work<Value>(_ body: () throws -> Value) rethrows -> Value {
    context.beginWork()
    return try context.perform(body)
  }

  /// Works in the context and waits for it. Inside a piece of work it is part of that one, and does not end the event.
  ///
  /// Two contexts whose work waits for each other wait for ever.
  /// - Throws: what `body` throws.
  public func performAndWait<Value: Sendable>(
    _ body: @Sendable (ManagedObjectContext) throws -> Value
  ) rethrows -> Value {
    if queue.isHeld { return try body(context) }
    return try queue.sync { try work { try body(context) } }
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
