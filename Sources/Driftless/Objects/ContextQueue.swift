import Dispatch
import Foundation
import Synchronization

/// Where a context and its objects are used: the main queue, or one of its own.
///
/// Work that holds a queue may use it again without waiting, also from inside of work on another queue for which it waits:
/// a context asks its parent while code of the parent waits for the context.
///
/// Work that is sent to it waits for a thread in the line of its coordinator, if it has one.
package final class ContextQueue: Sendable {
  /// The main actor's.
  package static let main = {
    DispatchQueue.main.setSpecific(key: isMain, value: true)
    return ContextQueue(.main)
  }()

  private let queue: DispatchQueue
  private let state = Mutex(State())
  /// How many threads work with the queue, of which all but one wait.
  private let holders = Atomic(0)

  private typealias Piece = @Sendable () -> Void

  private struct State {
    /// Where its pieces of work wait for a thread; nil for a queue whose pieces wait for each other alone.
    var line: WorkLine?
    /// What was sent and has not begun.
    var pieces = ArrivalOrder<Piece>()
    /// Turns that the dispatch queue has: each takes the first piece there is when it comes.
    var turns = 0
    var isInLine = false
  }

  package convenience init(label: String, line: WorkLine? = nil) {
    self.init(DispatchQueue(label: label))
    if let line { wait(in: line) }
  }

  private init(_ queue: DispatchQueue) { self.queue = queue }

  /// Pieces of work that are sent from now on wait in the line. The main queue has one thread, and they wait for that alone.
  func wait(in line: WorkLine) {
    if self !== Self.main { state.withLock { $0.line = line } }
  }

  /// Does the work after what was sent before, and waits for it; at once inside of work that holds the queue.
  package func sync<Value>(_ body: () throws -> Value) rethrows -> Value {
    if isHeld { return try body() }
    passLine()
    // What runs on the main actor was not sent there by this type.
    let waiting = Self.isOnMain ? Holding(.main, Self.held) : Self.held
    return try queue.sync { try hold(for: waiting, body) }
  }

  /// Does the work as ``sync(_:)`` does, unless the queue is at work for longer than a moment: that may be waiting for the caller.
  ///
  /// - Returns: Whether it was done.
  package func syncUnlessTaken(_ body: () throws -> Void) rethrows -> Bool {
    if isHeld {
      try body()
      return true
    }
    let loan = QueueLoan()
    let isAtWork = self.isAtWork
    async { loan.offer() }
    guard loan.take(isAtWork) else { return false }
    defer { loan.giveBack() }
    try hold(for: Self.isOnMain ? Holding(.main, Self.held) : Self.held, body)
    return true
  }

  /// Does the work after what was sent before.
  package func async(_ body: @escaping @Sendable () -> Void) {
    let line = state.withLock { add(body, to: &$0) }
    if let line { line.enter { self.takeTurn(in: line) } }
  }

  /// Does the work after what was sent before, and gives what it gives. A save is to be done also where the task that asked for
  /// it is cancelled, as in Core Data.
  ///
  /// - Throws: what `body` throws.
  package func run<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      async { continuation.resume(with: Result { try body() }) }
    }
  }

  /// How many pieces of work were sent and have not begun.
  package var waitingCount: Int { state.withLock { $0.pieces.count } }

  /// Whether a piece of its work goes on or waits.
  private var isAtWork: Bool {
    holders.load(ordering: .relaxed) > 0 || state.withLock { !$0.pieces.isEmpty }
  }

  // MARK: Pieces of work

  /// - Returns: The line that the queue has to enter, without the lock.
  private func add(_ piece: @escaping Piece, to state: inout State) -> WorkLine? {
    state.pieces.append(piece)
    guard let line = state.line else {
      send(to: &state)
      return nil
    }
    defer { state.isInLine = true }
    return state.isInLine ? nil : line
  }

  /// A turn for one piece, which waits in no line.
  private func send(to state: inout State) {
    state.turns += 1
    queue.async { self.runNext() }
  }

  /// The line has a thread for one piece.
  private func takeTurn(in line: WorkLine) {
    state.withLock { state in
      state.turns += 1
      queue.async {
        self.runNext()
        self.giveTurn(to: line)
      }
    }
  }

  private func giveTurn(to line: WorkLine) {
    let hasMore = state.withLock { state in
      state.isInLine = !state.pieces.isEmpty
      return state.isInLine
    }
    let next: @Sendable () -> Void = { self.takeTurn(in: line) }
    line.leave(andEnter: hasMore ? next : nil)
  }

  /// A thread waits for the queue: what was sent before begins without a turn of the line.
  private func passLine() {
    state.withLock { state in
      while state.turns < state.pieces.count { send(to: &state) }
    }
  }

  private func runNext() {
    let piece = state.withLock { state in
      state.turns -= 1
      return state.pieces.popFirst()
    }
    if let piece { hold(for: nil, piece) }
  }

  /// Whether what runs here may use what belongs to the queue.
  package var isHeld: Bool {
    // Asked at the end of each object: no reference is counted, and who runs on the main actor is asked last.
    let isHeld = pthread_getspecific(Self.heldKey).map {
      Unmanaged<Holding>.fromOpaque($0)._withUnsafeGuaranteedRef { $0.isOf(self) }
    }
    return isHeld == true || self === Self.main && Self.isOnMain
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

    func isOf(_ wanted: ContextQueue) -> Bool {
      queue === wanted || outer.map { $0.isOf(wanted) } ?? false
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
    holders.add(1, ordering: .relaxed)
    defer { holders.subtract(1, ordering: .relaxed) }
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
