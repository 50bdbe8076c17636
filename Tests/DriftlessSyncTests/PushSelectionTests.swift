import Driftless
import DriftlessTesting
import Foundation
import TestSupport
import Testing

@testable import DriftlessSync

/// Selections of what is pending, as pushes make them one after the other, come to an end: each has something in it to send,
/// or leaves less behind.
struct PushSelectionTests {
  private static let through: Int64 = 6
  private static let stepsMax = 64

  /// What may be pending of an object: made, deleted or brought back, edited and offered, before and after a zone began anew.
  private static func object(
    _ entity: SyncSchema.Entity, _ random: inout SeededNumbers
  ) -> PendingObject {
    var object = PendingObject()
    func number() -> Int64 {
      random.chance(40)
        ? EditStamp.number(HybridTime(rawValue: UInt64(1 + random.number(below: 5))))
        : Int64(1 + random.number(below: Int(through)))
    }
    object.whole = [.none, .insert, .revive, .delete][random.number(below: 4)]
    if object.whole != .none { object.wholeTransaction = number() }
    for property in entity.properties where random.chance(60) {
      let slot = PropertyMask([property.slot])
      let edit = number()
      object.set(slot, by: edit)
      guard random.chance(40) else { continue }
      let time = HybridTime(rawValue: UInt64(1 + random.number(below: 5)))
      object.setOffer(of: property.slot, by: min(edit, EditStamp.number(time)))
    }
    if object.whole == .insert, object.edits.isEmpty {
      object.set(entity.all, by: object.wholeTransaction)
    }
    return object
  }

  @Test("Selections end, whatever is pending", arguments: 1...60 as ClosedRange<UInt64>)
  func end(seed: UInt64) throws {
    let directory = try TemporaryDirectory()
    let store = try PersistentStore.open(url: directory.file("pending.sqlite"), model: shopModel())
    defer { store.close() }
    _ = try store.write(TransactionInfo()) { try EngineTables.create(in: $0) }
    let schema = SyncSchema(store.schema)
    var random = SeededNumbers(seed: seed)
    for _ in 0..<40 {
      var pending = PendingSet(through: Self.through)
      for _ in 0..<1 + random.number(below: 5) {
        let entity = schema.entities[random.number(below: schema.entities.count)]
        let object = Self.object(entity, &random)
        guard !object.isEmpty else { continue }
        let key = ObjectKey(entity: entity.number, key: Int64(1 + random.number(below: 4)))
        pending.objects[key] = object
      }
      let before = pending
      let portion = Pusher.Portion(objectsMax: 1 + random.number(below: 3))
      var steps = 0
      while !pending.isEmpty, steps < Self.stepsMax {
        steps += 1
        let selection = try store.read {
          try PushSelection(pending, held: [], portion: portion, $0, schema: schema)
        }
        if selection.isEmpty { break }
        pending.acknowledge(through: selection.through, omitting: selection.omitted)
      }
      #expect(steps < Self.stepsMax, "\(before.objects.map { $0 })")
    }
  }

  @Test("What came back after a zone began anew, with an edited set, is selected whole")
  func cameBack() throws {
    let directory = try TemporaryDirectory()
    let store = try PersistentStore.open(url: directory.file("pending.sqlite"), model: shopModel())
    defer { store.close() }
    _ = try store.write(TransactionInfo()) { try EngineTables.create(in: $0) }
    let schema = SyncSchema(store.schema)
    let entity = try #require(schema.entity(named: "Item"))
    let sets = entity.properties.filter(\.isOfferedBelowEdits)
    let set = try #require(sets.first, "a total or a set")
    var object = PendingObject()
    object.whole = .revive
    object.wholeTransaction = 5
    object.set(PropertyMask([set.slot]), by: 4)
    object.setOffer(of: set.slot, by: EditStamp.number(HybridTime(rawValue: 7)))
    var pending = PendingSet(through: Self.through)
    let key = ObjectKey(entity: entity.number, key: 1)
    pending.objects[key] = object
    let selection = try store.read {
      try PushSelection(
        pending, held: [], portion: Pusher.Portion(objectsMax: 10), $0, schema: schema)
    }
    #expect(selection.window[key]?.whole == .revive)
    #expect(selection.through == Self.through)
  }

  @Test(
    "A reference goes with what it refers to, also where that was brought back later in a log that is lost"
  )
  func broughtBackLater() async throws {
    let clock = ManualClock()
    let replica = try await TestReplica("r", zone: MemoryZone(clock: clock), clock: clock)
    let ids = try ["Item", "Shelf"].map { try replica.insert($0) }
    try replica.save { context in
      let objects = try ids.map { try #require(try context.object(withIdentity: $0)) }
      try objects[0].setValue(objects[1], forKey: "shelf")
    }
    let schema = SyncSchema(replica.store.schema)
    let slot = try #require(schema.entity(named: "Item")?.property(named: "shelf")?.slot)
    func stamp(_ time: UInt64) -> Int64 { EditStamp.number(HybridTime(rawValue: time)) }
    try replica.store.read { transaction in
      let keys = try ids.map { id in
        let key = try #require(try transaction.key(of: id))
        return try #require(try transaction.concreteKey(root: key))
      }
      var pending = PendingSet(through: 10)
      pending.update(keys[0]) { $0.set(PropertyMask([slot]), by: stamp(3)) }
      pending.update(keys[1]) {
        $0.whole = .revive
        $0.wholeTransaction = stamp(5)
      }
      let selection = try PushSelection(
        pending, held: [], portion: Pusher.Portion(objectsMax: 1), transaction, schema: schema)
      #expect(selection.through == stamp(5))
      #expect(selection.window[keys[1]]?.whole == .revive)
    }
  }
}
