import Foundation

/// Where the work of a context runs.
final class ContextQueue: Sendable {
  /// Nil for the caller's own thread.
  private let queue: DispatchQueue?
  private let isMain: Bool

  private static let owner = DispatchSpecificKey<ObjectIdentifier>()

  /// The main queue.
  static let main = ContextQueue(.main, isMain: true)
  /// Wherever it is asked.
  static let caller = ContextQueue(nil, isMain: false)

  private init(_ queue: DispatchQueue?, isMain: Bool) {
    self.queue = queue
    self.isMain = isMain
    queue?.setSpecific(key: Self.owner, value: ObjectIdentifier(self))
  }

  /// A queue of its own.
  convenience init(label: String) { self.init(DispatchQueue(label: label), isMain: false) }

  /// Whether the caller is on it.
  var isHere: Bool {
    guard queue != nil else { return true }
    // The main queue may be drained by another thread than the first one.
    return isMain && Thread.isMainThread
      || DispatchQueue.getSpecific(key: Self.owner) == ObjectIdentifier(self)
  }

  /// Runs the work after what was sent before.
  func async(_ work: @escaping @Sendable () -> Void) {
    if let queue { queue.async(execute: work) } else { work() }
  }

  /// Runs the work and waits for it; at once when the caller is on the queue.
  func sync<T, E: Error>(_ work: () throws(E) -> T) throws(E) -> T {
    guard let queue, !isHere else { return try work() }
    // The queue's own method knows no typed errors.
    let outcome = queue.sync { () -> Result<T, E> in
      do throws(E) { return .success(try work()) } catch { return .failure(error) }
    }
    return try outcome.get()
  }
}

/// Carries a value to a queue, and back, where the compiler cannot see that it goes along with the work.
struct Carried<Value>: @unchecked Sendable {  // used by one side at a time: who sends it waits, or lets go of it
  let value: Value

  init(_ value: Value) { self.value = value }
}

/// A reference that keeps nothing alive.
final class WeakReference<Object: AnyObject>: @unchecked Sendable {  // weak references may be read anywhere
  weak let object: Object?

  init(_ object: Object) { self.object = object }
}
