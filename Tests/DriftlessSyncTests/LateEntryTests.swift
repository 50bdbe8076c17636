import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Entries of the log that one replica could read only after it had gone on without them: they say what they say to who reads
/// the log in its order.
struct LateEntryTests {
  private let zone: MemoryZone
  private let spoiler: DamagingTransport
  private let first: TestReplica
  /// The one that reads late.
  private let second: TestReplica

  init() async throws {
    let clock = ManualClock()
    zone = MemoryZone(clock: clock)
    spoiler = DamagingTransport(zone)
    first = try await TestReplica("first", zone: zone, clock: clock)
    second = try await TestReplica("second", zone: zone, clock: clock, transport: spoiler)
  }

  /// Sends what the first one has, in an entry that the second one cannot read for now.
  private func sendDamaged() async throws {
    try await first.sync()
    spoiler.damaged.insert(zone.head)
    _ = await #expect(throws: ProtocolError.self) { try await second.sync() }
    try await second.sync()
  }

  private func readLate() async throws {
    try await first.sync()
    spoiler.damaged = []
    #expect(try SyncEngine.retryParked(of: second.store) > 0)
    for _ in 0..<2 {
      try await second.sync()
      try await first.sync()
    }
    #expect(try SyncEngine.parked(of: second.store).isEmpty)
    #expect(try second.export == first.export)
  }

  private func setLabels(_ item: UUID, _ labels: [UUID], _ replica: TestReplica) throws {
    try replica.save { context in
      let object = try #require(try context.object(withIdentity: item))
      let members = try labels.map { try #require(try context.object(withIdentity: $0)) }
      try object.setValue(Set(members), forKey: "labels")
    }
  }

  @Test("A delete that is read late stands, also against edits of who had not read it")
  func deleteOfWhatWasEdited() async throws {
    let item = try first.insert("Item", ["title": .string("before")])
    try await first.sync()
    try await second.sync()
    try first.delete(item)
    try await sendDamaged()
    try second.set(item, ["title": .string("since")])
    try await second.sync()
    try await readLate()
    #expect(try !second.exists(item))
    #expect(
      try SyncEngine.conflicts(of: second.store).contains {
        $0.object == item && $0.explanation.contains("could not be read when it came")
      })
  }

  @Test("What was edited after it was brought back is edited, where that it was is read late")
  func editOfWhatWasBroughtBack() async throws {
    let third = try await TestReplica("third", zone: zone, clock: second.clock)
    let shelf = try first.insert("Shelf", ["name": .string("before")])
    try await first.sync()
    for replica in [second, third] { try await replica.sync() }
    try third.set(shelf, ["name": .string("kept")])
    try first.delete(shelf)
    try await first.sync()
    try await second.sync()
    #expect(try !second.exists(shelf))
    try await third.sync()
    try await sendDamaged()
    third.clock.advance()
    try third.set(shelf, ["name": .string("later")])
    try await third.sync()
    try await second.sync()
    try await readLate()
    #expect(try second.value(shelf, "name") == .string("later"))
  }

  @Test("A reference to what is read late is there, for one object and in a set")
  func referenceToWhatIsReadLate() async throws {
    let item = try first.insert("Item", ["title": .string("x")])
    try await first.sync()
    try await second.sync()
    let shelf = try first.insert("Shelf", ["name": .string("late")])
    let label = try first.insert("Label", ["name": .string("late")])
    try await sendDamaged()
    try setLabels(item, [label], first)
    try first.save { context in
      let object = try #require(try context.object(withIdentity: item))
      try object.setValue(try context.object(withIdentity: shelf), forKey: "shelf")
    }
    try await first.sync()
    try await second.sync()
    try await readLate()
    #expect(try second.reference(item, "shelf") == shelf)
  }

  @Test("An element that is put into a set late is in, also where the set got another one since")
  func elementsOfAChangedSet() async throws {
    let labels = try (0..<3).map { try first.insert("Label", ["name": .string("\($0)")]) }
    let item = try first.insert("Item", ["title": .string("x")])
    try setLabels(item, [labels[0]], first)
    try await first.sync()
    try await second.sync()
    try setLabels(item, [labels[0], labels[1]], first)
    try await sendDamaged()
    try setLabels(item, [labels[2]], second)
    try await second.sync()
    try await readLate()
    #expect(try second.labels(of: item) == [labels[1], labels[2]])
  }
}

/// Shows a log in which some entries have a byte that is another one, under the digest that they were pushed with.
final class DamagingTransport: ForwardingTransport, @unchecked Sendable {
  let next: any SyncTransport
  /// Set by the test's only task.
  var damaged: Set<UInt64> = []

  init(_ zone: any SyncTransport) { next = zone }

  func pull(_ request: PullRequest) async throws -> PullPage {
    var page = try await next.pull(request)
    for place in page.entries.indices where damaged.contains(page.entries[place].sequence) {
      page.entries[place].frame[page.entries[place].frame.endIndex - 1] ^= 1
    }
    return page
  }
}
