import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// The policies that look at elements, at places of a text, at an app's rule, and at a person.
struct PolicyTests {
  /// Two replicas with an item whose property was synced with `base`, then set on both.
  private func conflict(
    _ property: String, base: PropertyValue, _ first: PropertyValue, _ second: PropertyValue
  ) async throws -> (World, UUID) {
    let world = try await World(3)
    let id = try world[0].insert("Item", [property: base])
    try await world.settle()
    try world[0].set(id, [property: first])
    try world[1].set(id, [property: second])
    try await world.settle()
    return (world, id)
  }

  private func words(_ replica: TestReplica, _ id: UUID) throws -> Set<String> {
    guard case .string(let text)? = try replica.value(id, "words") else { return [] }
    return Set(try JSONDecoder().decode([String].self, from: Data(text.utf8)))
  }

  @Test("Union: what either side added or took away adds up, and add wins")
  func union() async throws {
    let (world, id) = try await conflict(
      "words", base: .string(#"["a","b","c"]"#), .string(#"["a","c","d"]"#),
      .string(#"["a","b","e"]"#))
    #expect(try words(world[2], id) == ["a", "d", "e"])
    let (second, other) = try await conflict(
      "words", base: .null, .string(#"["a"]"#), .string(#"["b"]"#))
    #expect(try words(second[2], other) == ["a", "b"])
  }

  @Test("Union works on property lists in bytes, and leaves other bytes to the later edit")
  func unionOfPropertyLists() async throws {
    func list(_ elements: [Int]) throws -> PropertyValue {
      .data(
        try PropertyListSerialization.data(fromPropertyList: elements, format: .binary, options: 0))
    }
    let (world, id) = try await conflict(
      "marks", base: try list([1, 2]), try list([1, 2, 3]), try list([2]))
    guard case .data(let bytes)? = try world[2].value(id, "marks") else {
      Issue.record("no value")
      return
    }
    let merged = try PropertyListSerialization.propertyList(from: bytes, format: nil) as? [Int]
    #expect(Set(merged ?? []) == [2, 3])
    let (second, other) = try await conflict(
      "marks", base: .null, .data(Data([1, 2])), .data(Data([3])))
    #expect(try second[2].value(other, "marks") == .data(Data([3])))
  }

  @Test("F52 Union: every order of delivery gives the same set", arguments: 0..<6)
  func unionInEveryOrder(_ order: Int) async throws {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
    let world = try await World(3)
    let id = try world[0].insert("Item", ["words": .string(#"["x","y"]"#)])
    try await world.settle()
    try world[0].set(id, ["words": .string(#"["x","y","a"]"#)])
    try world[1].set(id, ["words": .string(#"["y","b"]"#)])
    try world[2].set(id, ["words": .string(#"["x","y","c"]"#)])
    for index in orders[order] { try await world[index].sync() }
    try await world.settle()
    #expect(try words(world[0], id) == ["y", "a", "b", "c"])
  }

  @Test(
    "Text: edits at different places are both kept",
    arguments: [
      ("one two three", "ONE two three", "one two THREE", "ONE two THREE"),
      ("one two three four", "1 two 3 four", "one 2 three 4", "1 2 3 4"),
      ("abc", "xabc", "abcy", "xabcy"),
      ("a b c d", "a c d", "a b c D", "a c D"),
      ("same words", "new words", "new words", "new words"),
      ("one two", "one", "zero one two", "zero one"),
      ("👩‍👩‍👧 und ü", "👩‍👩‍👧 and ü", "👩‍👩‍👧 und u", "👩‍👩‍👧 and u"),
    ])
  func text(base: String, first: String, second: String, merged: String) async throws {
    let (world, id) = try await conflict(
      "text", base: .string(base), .string(first), .string(second))
    #expect(try world[2].value(id, "text") == .string(merged))
  }

  @Test("Text: at one place the later edit stands, and the other is in the journal")
  func textAtOnePlace() async throws {
    let (world, id) = try await conflict(
      "text", base: .string("good day"), .string("bad day"), .string("fine day"))
    #expect(try world[2].value(id, "text") == .string("fine day"))
    let entries = try world.replicas.flatMap { try $0.conflicts }
    #expect(entries.contains { $0.local == "\"bad day\"" || $0.remote == "\"bad day\"" })
  }

  @Test("A custom rule sees the base and both sides; without it the later edit stands, and says so")
  func custom() async throws {
    var options = SyncOptions()
    options.customPolicies["longest"] = { conflict in
      guard case .string(let base)? = conflict.base else { return conflict.local }
      return .string("\(base)+")
    }
    let world = try await World(2)
    let id = try world[0].insert("Item", ["pick": .string("base")])
    try await world.settle()
    try world[0].set(id, ["pick": .string("a")])
    try world[1].set(id, ["pick": .string("b")])
    try await world[0].sync()
    let engine = try await world[1].engine(through: world.zone, options: options)
    _ = try await engine.sync()
    await engine.close()
    try await world.settle()
    #expect(try world[0].value(id, "pick") == .string("base+"))

    try world[0].set(id, ["pick": .string("c")])
    try world[1].set(id, ["pick": .string("d")])
    try await world[0].sync()
    let unaware = try await world[1].engine(through: world.zone)
    _ = try await unaware.sync()
    await unaware.close()
    try await world.settle()
    #expect(try world[0].value(id, "pick") == .string("d"))
    #expect(
      try world[1].conflicts.last?.explanation.contains("knows no rule custom:longest") == true)
  }

  @Test("Manual: the zone's value stands and the other waits, until a person decides")
  func manual() async throws {
    for side in [JournalEntry.Side.local, .remote] {
      let (world, id) = try await conflict(
        "held", base: .string("base"), .string("first"), .string("second"))
      #expect(try world[2].value(id, "held") == .string("first"))
      #expect(try world[1].status.waiting == 1)
      let entry = try #require(try world[1].conflicts.last)
      #expect(entry.isWaiting)
      #expect(entry.base == "\"base\"")
      let decided = try SyncEngine.decide(
        conflict: entry.number, for: side, of: world[1].store)
      #expect(decided.decision == side)
      #expect(try world[1].status.waiting == 0)
      try await world.settle()
      for replica in world.replicas {
        #expect(
          try replica.value(id, "held") == .string(side == .local ? "second" : "first"))
      }
    }
  }

  @Test("Kept as it is, a conflict waits no more, and nothing is sent")
  func keep() async throws {
    let (world, _) = try await conflict(
      "held", base: .string("base"), .string("first"), .string("second"))
    let entry = try #require(try world[1].conflicts.last)
    let kept = try SyncEngine.keep(conflict: entry.number, of: world[1].store)
    #expect(kept.decision == .remote)
    #expect(try world[1].status.waiting == 0)
    #expect(try world[1].status.pending.objects == 0)
  }

  @Test("A conflict can be undone: the value that lost is an edit of here and now")
  func undo() async throws {
    let (world, id) = try await conflict(
      "title", base: .string("base"), .string("first"), .string("second"))
    let holder = try #require(try world.replicas.first { try !$0.conflicts.isEmpty })
    let entry = try #require(try holder.conflicts.last)
    let undone = try SyncEngine.undo(conflict: entry.number, of: holder.store, author: "ann")
    #expect(undone.decision == entry.loser)
    #expect(undone.decidedAt != nil)
    #expect(try holder.status.pending.properties == 1)
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(id, "title") == .string("first"))
    }
    let why = try SyncEngine.why(of: holder.store, object: id, property: "title")
    #expect(why.author == "ann")
    #expect(why.conflicts.last?.decision == entry.loser)
    let again = #expect(throws: SyncError.self) {
      try SyncEngine.undo(conflict: entry.number, of: holder.store)
    }
    #expect(again?.code == .cannotUndo)
    let unknown = #expect(throws: SyncError.self) {
      try SyncEngine.undo(conflict: 999, of: holder.store)
    }
    #expect(unknown?.code == .unknownElement)
  }

  @Test("Undone, a delete that won gives the object back, with the edit that it took")
  func undoDelete() async throws {
    let world = try await World(2)
    let shelf = try world[0].insert("Shelf", ["name": .string("s")])
    let key = try #require(try world[0].store.read { try $0.key(of: shelf) })
    let id = try world[0].insert("Item", ["title": .string("a"), "shelf": .reference(key)])
    try await world.settle()
    try world[1].set(id, ["title": .string("edited")])
    try world[0].delete(id)
    try await world[0].sync()
    try await world.settle()
    #expect(try !world[1].exists(id))
    let entry = try #require(try world[1].conflicts.last)
    try SyncEngine.undo(conflict: entry.number, of: world[1].store)
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(id, "title") == .string("edited"))
      #expect(try replica.reference(id, "shelf") == shelf)
    }
  }

  @Test("Undone, a delete here that won gives the object back, with the other replica's edit")
  func undoOwnDelete() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["title": .string("a"), "tag": .string("t")])
    try await world.settle()
    try world[1].set(id, ["title": .string("edited")])
    try await world[1].sync()
    try world[0].delete(id)
    try await world.settle()
    let entry = try #require(try world[0].conflicts.last)
    try SyncEngine.undo(conflict: entry.number, of: world[0].store)
    try await world.settle()
    for replica in world.replicas {
      #expect(try replica.value(id, "title") == .string("edited"))
      #expect(try replica.value(id, "tag") == .string("t"))
    }
  }

  @Test("S11 Of two appends at the end both stand, the earlier one first")
  func bothAppends() async throws {
    let (world, id) = try await conflict(
      "text", base: .string("list\n"), .string("list\n- milk\n"), .string("list\n- bread\n"))
    #expect(try world[2].value(id, "text") == .string("list\n- milk\n- bread\n"))
  }

  @Test("S11 Where both changed the same words the journal says so, and which side stands")
  func overlapIsSaid() async throws {
    let (world, _) = try await conflict(
      "text", base: .string("Ship on Monday. Call first."),
      .string("Ship on Tuesday. Call first!"), .string("Ship on Friday. Call first."))
    let entries = try world.replicas.flatMap { try $0.conflicts }
    let entry = try #require(entries.last { $0.property == "text" })
    #expect(entry.kept == #""Ship on Friday. Call first!""#)
    #expect(
      entry.explanation.hasSuffix(
        "Both sides changed the same words; there this replica's later edit stands."))
  }

  @Test("A text that is no list is settled by the later edit, and the journal names that rule")
  func noList() async throws {
    let (world, id) = try await conflict(
      "words", base: .string(#"["a"]"#), .string("a, b"), .string(#"["a","c"]"#))
    #expect(try world[2].value(id, "words") == .string(#"["a","c"]"#))
    let entries = try world.replicas.flatMap { try $0.conflicts }
    #expect(
      entries.last?.explanation.contains("by lastWriterWins, since one side holds no") == true)
    #expect(entries.last?.explanation.contains("by union") == false)
  }

  @Test("S3 A later edit stands when its value was once the zone's", arguments: ["title", "tag"])
  func laterEditStands(property: String) async throws {
    let world = try await World(3)
    let id = try world[0].insert("Item", [property: .string("open")])
    try await world.settle()
    try world[0].set(id, [property: .string("done")])
    try world[2].set(id, [property: .string("open again")])
    try world[1].set(id, [property: .string("done")])
    try await world[0].sync()
    try await world[1].sync()
    // Edited between the two, it comes to the zone last.
    if property == "title" {
      try await world.settle()
      #expect(try world[0].value(id, property) == .string("done"))
    } else {
      try await world[2].sync()
      try await world.settle()
      #expect(try world[0].value(id, property) == .string("open again"))
    }
  }

  @Test("S8 Two counts of an Integer 16 stop at its greatest value")
  func integer16() async throws {
    let world = try await World(2)
    let id = try world[0].insert("Item", ["small": .integer(0)])
    try await world.settle()
    try world[0].set(id, ["small": .integer(20_000)])
    try world[1].set(id, ["small": .integer(20_000)])
    try await world.settle()
    #expect(try world[0].value(id, "small") == .integer(32_767))
    let entry = try #require(try world[1].conflicts.last)
    #expect(entry.outcome == .combined)
    #expect(entry.explanation.contains("it stops at 32767"))
  }
}
