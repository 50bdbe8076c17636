import Foundation

/// Where the work of a context runs.
final class ContextQueue: Sendable {
  /// Nil for the caller's own thread.
  private let queue: DispatchQueue?
  private let isMain: Bool

  /// The main queue.
  static let main = ContextQueue(.main, isMain: true)
  /// Wherever it is asked.
  static let caller = ContextQueue(nil, isMain: false)

  private init(_ queue: DispatchQueue?, isMain: Bool) {
    self.queue = queue
    self.isMain = isMain
  }

  /// A queue of its own.
  convenience init(label: String) { self.init(DispatchQueue(label: label), isMain: false) }

  /// Whether the caller is on it, or waits on it for what runs here.
  var isHere: Bool {
    guard queue != nil else { return true }
    return isMain && Self.isOnMain || Self.held.contains(ObjectIdentifier(self))
  }

  private static let key = "coredata.queues"

  private static let mainKey = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// The main queue may be drained by another thread than the first one.
  private static var isOnMain: Bool {
    Thread.isMainThread || DispatchQueue.getSpecific(key: mainKey) == true
  }

  /// The queues that wait for what the thread does, its own among them: work that is waited for may wait for work of
  /// those in turn.
  private static var held: Set<ObjectIdentifier> {
    get { Thread.current.threadDictionary[key] as? Set<ObjectIdentifier> ?? [] }
    set { Thread.current.threadDictionary[key] = newValue.isEmpty ? nil : newValue }
  }

  private func holding<T, E: Error>(
    _ others: Set<ObjectIdentifier>, _ work: () throws(E) -> T
  ) throws(E) -> T {
    let former = Self.held
    Self.held = others.union([ObjectIdentifier(self)])
    defer { Self.held = former }
    return try work()
  }

  /// Runs the work after what was sent before.
  func async(_ work: @escaping @Sendable () -> Void) {
    if let queue { queue.async { self.holding([], work) } } else { work() }
  }

  /// Runs the work and waits for it; at once when the caller is on the queue.
  func sync<T, E: Error>(_ work: () throws(E) -> T) throws(E) -> T {
    guard let queue, !isHere else { return try work() }
    let others = Self.held
    // The queue's own method knows no typed errors.
    let outcome = queue.sync { () -> Result<T, E> in
      do throws(E) { return .success(try holding(others, work)) } catch { return .failure(error) }
    }
    return try outcome.get()
  }
}

/// Carries a value to a queue, and back, where the compiler cannot see that it goes along with the work.
struct Carried<Value>: @unchecked Sendable {  // one side uses it at a time
  let value: Value

  init(_ value: Value) { self.value = value }
}

/// A reference that keeps nothing alive.
final class WeakReference<Object: AnyObject>: @unchecked Sendable {  // read only
  weak let object: Object?

  init(_ object: Object) { self.object = object }
}
