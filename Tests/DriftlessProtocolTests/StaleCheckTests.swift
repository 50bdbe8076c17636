import DriftlessProtocol
import Foundation
import TestSupport
import Testing

/// The stale check against its definition: an oracle that looks through the whole log each time.
@Suite struct StaleCheckTests {
  private struct Written {
    let author: Int
    let kind: ChangeSetIndex.Group.Kind
    let numbers: [UInt64]
    let properties: [String]

    /// Whether this, later than a push's cursor and of another author, makes the push stale.
    func clashes(with push: Written) -> Bool {
      guard !Set(numbers).isDisjoint(with: push.numbers) else { return false }
      guard kind == .update, push.kind == .update else { return true }
      return !Set(properties).isDisjoint(with: push.properties)
    }
  }

  @Test(
    "Random pushes are stale exactly when the log after their cursor says so",
    arguments: 0..<30 as Range<UInt64>)
  func oracle(seed: UInt64) throws {
    var numbers = SeededNumbers(seed: seed)
    var zone = ZoneLog(name: "shop", generation: Samples.generation)
    let replicas = (0..<3).map { Samples.replica.advanced(by: UInt64($0)) }
    var pushNumbers: [UInt64] = [1, 1, 1]
    var cursors = [0, 0, 0]
    let objects = 6
    let inserts = Samples.insert(
      objects, header: Samples.header(pushNumber: 1, cursor: 0, replica: replicas[0]))
    _ = try zone.append(ChangeSetEncoder().encode(inserts.placed(in: zone)), nowMilliseconds: 0)
    pushNumbers[0] = 2
    var log = [
      Written(author: 0, kind: .revive, numbers: Array(1...UInt64(objects)), properties: [])
    ]
    var staleCount = 0
    for step in 0..<150 {
      let author = numbers.number(below: 3)
      let kinds: [ChangeSetIndex.Group.Kind] = [
        .update, .update, .update, .update, .delete, .revive,
      ]
      let kind = kinds[numbers.number(below: kinds.count)]
      let touched = (1...UInt64(objects)).filter { _ in numbers.chance(30) }
      let properties = kind == .delete ? [] : ["a", "b", "c"].filter { _ in numbers.chance(50) }
      guard !touched.isEmpty, kind != .update || !properties.isEmpty else { continue }
      let push = Written(author: author, kind: kind, numbers: touched, properties: properties)
      // A replica's cursor never goes back.
      let cursor = max(cursors[author], log.count - numbers.number(below: 4))
      cursors[author] = cursor
      let isStale = log[cursor...].contains { $0.author != author && $0.clashes(with: push) }
      let changeSet = Samples.touch(
        kind, touched, properties,
        header: Samples.header(
          pushNumber: pushNumbers[author], cursor: UInt64(cursor), replica: replicas[author]))
      do {
        _ = try zone.append(
          ChangeSetEncoder().encode(changeSet.placed(in: zone)), nowMilliseconds: 0)
        #expect(!isStale, "seed \(seed), step \(step)")
        log.append(push)
        pushNumbers[author] += 1
      } catch {
        #expect(error.code == .stale)
        #expect(isStale, "seed \(seed), step \(step)")
        staleCount += 1
      }
    }
    #expect(staleCount > 10)
  }
}
