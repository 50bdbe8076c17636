import Driftless
import DriftlessSync
import Synchronization
import Testing

/// What makes one set of another is found by looking at each element once.
struct ElementChangeTests {
  private final class Count: Sendable {
    let comparisons = Mutex(0)
  }

  private struct Element: Hashable {
    let number: Int
    let count: Count

    static func == (one: Self, other: Self) -> Bool {
      one.count.comparisons.withLock { $0 += 1 }
      return one.number == other.number
    }

    func hash(into hasher: inout Hasher) { hasher.combine(number) }
  }

  @Test("Two lists that differ are compared by each element, and not by each pair")
  func comparisons() {
    let count = Count()
    let all = (0..<2_000).map { Element(number: $0, count: count) }
    let (former, wanted) = (Array(all.prefix(1_500)), Array(all.suffix(1_500)))
    #expect(wanted.without(former).map(\.number) == Array(1_500..<2_000))
    #expect(former.without(wanted).map(\.number) == Array(0..<500))
    #expect(former.united(with: wanted).map(\.number) == Array(0..<2_000))
    #expect(count.comparisons.withLock { $0 } < 20 * all.count)
  }

  @Test("What is in both stays in its order, and what comes twice counts once where it is added")
  func order() {
    #expect([3, 1, 2, 1].without([2]) == [3, 1, 1])
    #expect([3, 1].united(with: [4, 1, 4, 2]) == [3, 1, 4, 2])
    #expect([Int]().united(with: [1]) == [1] && [1].without([]) == [1])
  }
}
