import Synchronization

/// Counts round and round, from any thread.
final class Turn: Sendable {
  private let count = Atomic<UInt>(0)

  func next(_ modulus: Int) -> Int {
    let (old, _) = count.wrappingAdd(1, ordering: .relaxed)
    return Int(old % UInt(max(1, modulus)))
  }
}
