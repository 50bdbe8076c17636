import TestSupport
import Testing

@testable import DriftlessProtocol

/// The order of a set is one rule, in a replica that reads rows as in a log that is added up, wherever that is cut.
struct ElementSequenceTests {
  private struct Row {
    var added: [UInt64]
    var removed: [UInt64]
  }

  private func fold(_ rows: some Sequence<Row>, keepsRemoved: Bool) -> FoldElements? {
    var gathered: GatheredElements?
    for row in rows {
      let elements = FoldElements(
        entity: 0,
        transaction: FoldTransaction(sequence: 1, name: 1, hybridTime: 1, source: 0),
        added: row.added, removed: row.removed)
      var next = gathered ?? GatheredElements(elements)
      next.take(elements, keepsRemoved: keepsRemoved)
      gathered = next
    }
    return gathered?.elements
  }

  @Test(
    "A sequence of rows comes to the same, read one by one, added up, and added up in two parts")
  func oneRule() throws {
    for seed in 1...200 as ClosedRange<UInt64> { try expectOneRule(seed) }
  }

  private func expectOneRule(_ seed: UInt64) throws {
    var numbers = SeededNumbers(seed: seed)
    let rows = (0..<Int(numbers.next() % 12) + 1).map { _ in
      let some = (1...8).shuffled(using: &numbers).map { UInt64($0) }
      let added = Array(some.prefix(Int(numbers.next() % 6)))
      return Row(
        added: added, removed: Array(some.dropFirst(added.count).prefix(Int(numbers.next() % 3))))
    }
    let read = rows.reduce([UInt64]()) {
      ElementSequence.after($0, adding: $1.added, removing: $1.removed)
    }
    #expect(fold(rows, keepsRemoved: false)?.added == read, "seed \(seed)")
    let cut = Int(numbers.next() % UInt64(rows.count))
    let base = fold(rows[..<cut], keepsRemoved: false)?.added ?? []
    let delta = try #require(fold(rows[cut...], keepsRemoved: true))
    #expect(
      ElementSequence.after(base, adding: delta.added, removing: delta.removed) == read,
      "seed \(seed)")
  }
}
