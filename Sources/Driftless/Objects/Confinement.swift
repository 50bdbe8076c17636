import Dispatch
import Foundation

/// Where a context and its objects are used. They are not Sendable, so the compiler sees to it; code that hides them from it
/// (`nonisolated(unsafe)`, `@unchecked Sendable`) meets an assertion of a debug build in place of damaged memory.
enum Confinement {
  /// In one task, actor or thread at a time, which is not known here.
  case caller
  case main
  /// A queue whose `owner` this is.
  case queue(ObjectIdentifier)

  /// Says on a queue whose it is.
  static let owner = DispatchSpecificKey<ObjectIdentifier>()

  private static let mainQueue = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  private var isHere: Bool {
    switch self {
    case .caller: true
    // The main queue may be drained by another thread than the first one.
    case .main: Thread.isMainThread || DispatchQueue.getSpecific(key: Self.mainQueue) == true
    case .queue(let owner): DispatchQueue.getSpecific(key: Self.owner) == owner
    }
  }

  /// - Parameter user: What is used, for who reads the message.
  @inline(__always)
  func assertHere(_ user: @autoclosure () -> String) {
    assert(
      isHere,
      """
      \(user()) is used, or let go, off its context's \(self == .main ? "main actor" : "queue"). \
      Pass IDs and values between contexts, not objects.
      """)
  }
}

extension Confinement: Equatable {}
