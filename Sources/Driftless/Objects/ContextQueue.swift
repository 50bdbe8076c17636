import Dispatch
import Foundation

/// Where a context and its objects are used: the main queue, or one of its own.
///
/// Work that holds a queue may use it again without waiting, also from inside of work on another queue for which it waits:
/// a context asks its parent while code of the parent waits for the context.
package final class ContextQueue: Sendable {
  /// The main actor's.
  package static let main = {
    DispatchQueue.main.setSpecific(key: isMain, value: true)
    return ContextQueue(.main)
  }()

  private let queue: DispatchQueue

  package convenience init(label: String) { self.init(DispatchQueue(label: label)) }

  private init(_ queue: DispatchQueue) { self.queue = queue }

  /// Does the work after what was sent before, and waits for it; at once inside of work that holds the queue.
  package func sync<Value>(_ body: () throws -> Value) rethrows -> Value {
    if isHeld { return try body() }
    // What runs on the main actor was not sent there by this type.
    let waiting = Self.isOnMain ? Holding(.main, Self.held) : Self.held
    return try queue.sync { try hold(for: waiting, body) }
  }

  /// Does the work after what was sent before.
  package func async(_ body: @escaping @Sendable () -> Void) {
    queue.async { self.hold(for: nil, body) }
  }

  /// Whether what runs here may use what belongs to the queue.
  package var isHeld: Bool {
    if self === Self.main, Self.isOnMain { return true }
    var holding = Self.held
    while let next = holding {
      if next.queue === self { return true }
      holding = next.outer
    }
    return false
  }

  // MARK: Who holds what

  private static let isMain = DispatchSpecificKey<Bool>()

  /// The main queue may be drained by another thread than the first one.
  private static var isOnMain: Bool {
    Thread.isMainThread || DispatchQueue.getSpecific(key: isMain) == true
  }

  /// One queue that the work of a thread holds, with those that wait for this work.
  private final class Holding {
    let queue: ContextQueue
    let outer: Holding?

    init(_ queue: ContextQueue, _ outer: Holding?) {
      self.queue = queue
      self.outer = outer
    }
  }

  /// A task's values would be inherited by tasks that go on without the queue, so it is the thread that knows.
  private static let heldKey: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  /// The latest that this thread's work holds; whoever set it holds on to it.
  private static var held: Holding? {
    get {
      pthread_getspecific(heldKey).map { Unmanaged<Holding>.fromOpaque($0).takeUnretainedValue() }
    }
    set { pthread_setspecific(heldKey, newValue.map { Unmanaged.passUnretained($0).toOpaque() }) }
  }

  private func hold<Value>(
    for waiting: Holding?, _ body: () throws -> Value
  ) rethrows -> Value {
    let before = Self.held
    let holding = Holding(self, waiting)
    Self.held = holding
    defer {
      Self.held = before
      withExtendedLifetime(holding) {}
    }
    return try body()
  }
}
