/// Why a push is stale: the first reason in words, and the objects to look at, each once.
package struct StaleObjects {
  private var message: String?
  package private(set) var numbers: [UInt64] = []
  private var seen: Set<UInt64> = []
  /// Whether a pull brings something of what is in the way: all else is stale for good.
  package private(set) var hasNews = false

  package init() {}

  /// Whether an answer can list no more.
  package var isFull: Bool { numbers.count >= ProtocolError.objectsMax }

  /// - Parameter isNews: Whether what is in the way came after what the pusher knows.
  package mutating func add(
    _ number: UInt64, isNews: Bool = true, _ message: @autoclosure () -> String
  ) {
    if isNews { hasNews = true }
    if self.message == nil { self.message = message() }
    guard numbers.count < ProtocolError.objectsMax, seen.insert(number).inserted else { return }
    numbers.append(number)
  }

  /// Refuses what has no number: an identity that the zone knows as deleted.
  package mutating func refuse(_ message: @autoclosure () -> String) {
    hasNews = true
    if self.message == nil { self.message = message() }
  }

  package func throwIfAny() throws(ProtocolError) {
    guard let message else { return }
    throw ProtocolError(.stale, message, suggestion: "Pull, then push again.", objects: numbers)
  }
}
