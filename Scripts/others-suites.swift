// What the suites of `others-suites` use of Apple's systems beside Core Data, for Linux: copied into each of their targets.
#if !canImport(Darwin)
  import Foundation

  let NSEC_PER_SEC: UInt64 = 1_000_000_000

  func autoreleasepool<Result>(invoking body: () throws -> Result) rethrows -> Result { try body() }

  /// Apple's lock of `os`.
  final class OSAllocatedUnfairLock<State>: @unchecked Sendable {  // its state, under the lock alone
    private let mutex = NSLock()
    private var state: State
    init(initialState: State) { state = initialState }
    init(uncheckedState: State) { state = uncheckedState }
    func lock() { mutex.lock() }
    func unlock() { mutex.unlock() }
    func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
      mutex.lock()
      defer { mutex.unlock() }
      return try body(&state)
    }
  }

  extension OSAllocatedUnfairLock where State == Void {
    convenience init() { self.init(initialState: ()) }
  }

  /// Apple's `os.Logger`, to nowhere.
  struct Logger: Sendable {
    struct Disabled: Sendable { static let disabled = Disabled() }
    init(subsystem: String, category: String) {}
    init(_ disabled: Disabled) {}
    init() {}
    func debug(_ message: LogText) {}
    func info(_ message: LogText) {}
    func notice(_ message: LogText) {}
    func warning(_ message: LogText) {}
    func error(_ message: LogText) {}
  }

  struct LogText: ExpressibleByStringInterpolation {
    enum Privacy { case `public`, `private`, auto }
    enum Format { case fixed(precision: Int) }
    struct StringInterpolation: StringInterpolationProtocol {
      init(literalCapacity: Int, interpolationCount: Int) {}
      mutating func appendLiteral(_ literal: String) {}
      mutating func appendInterpolation<Value>(_ value: Value, privacy: Privacy = .auto) {}
      mutating func appendInterpolation<Value>(
        _ value: Value, format: Format, privacy: Privacy = .auto
      ) {}
    }
    init(stringLiteral value: String) {}
    init(stringInterpolation: StringInterpolation) {}
  }
#endif
