import Driftless
import DriftlessProtocol
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// A replica without the key syncs the rest and says so; what it may not send stays pending, and nothing of it leaves.
struct KeylessTests {
  @Test("Without the key the rest syncs both ways, and the cells are taken in when it is there")
  func theRest() async throws {
    var world = try await SealedWorld()
    let ring = KeyRing()
    try await world.add(ring)
    let id = try world[0].insert("Item", ["title": .string("needle"), "stock": .integer(7)])
    let shelf = try world[0].insert("Shelf", ["name": .string("clear")])
    try await world[0].sync()
    try await world.add(nil)
    try await world[1].sync()
    #expect(try world[1].value(shelf, "name") == .string("clear"))
    #expect(try world[1].value(id, "title") == .null)
    // What stands in for a cell is in no file that is imported again.
    var lines = Data()
    try ReplicaExport.write(world[1].store, as: .upsert) { lines += $0 }
    let text = String(decoding: lines, as: UTF8.self)
    #expect(text.contains("Item") && !text.contains("stock"), "\(text)")
    let parked = try SyncEngine.parked(of: world[1].store)
    #expect(Set(parked.map(\.code)) == ["sealed"])
    #expect(Set(parked.compactMap(\.property)) == ["title", "stock"])
    #expect(parked.allSatisfy { $0.reason.contains("\(ring.newest)") })
    #expect(try SyncEngine.check(world[1].store).findings == [])
    // What is not encrypted is edited there, and deletes of the others apply.
    try world[1].set(shelf, ["name": .string("from the keyless")])
    try world[0].set(id, ["title": .string("needle again")])
    try await world.world.syncAll()
    try await world.world.syncAll()
    #expect(try world[0].value(shelf, "name") == .string("from the keyless"))
    #expect(try world[1].status.withoutKey == 0)
    _ = try await world[1].giving(ring).sync()
    #expect(try world[1].export == world[0].export)
    #expect(try SyncEngine.parked(of: world[1].store).isEmpty)
    #expect(try world[1].value(id, "stock") == .integer(7))
  }

  @Test("Edits of encrypted properties wait for the key, whatever else of their objects goes")
  func edits() async throws {
    var world = try await SealedWorld()
    let ring = KeyRing()
    try await world.add(ring)
    try await world.add(nil)
    let known = try world[0].insert("Item", ["title": .string("a")])
    try await world.world.syncAll()
    let shelf = try world[1].insert("Shelf", ["name": .string("s")])
    let made = try world[1].insert(
      "Item", ["title": .string("needle"), "stock": .integer(3), "blob": .data(Data([1]))])
    try world[1].set(known, ["title": .string("needle of the known")])
    for _ in 0..<3 { try await world[1].sync() }
    let status = try world[1].status
    #expect(status.withoutKey == 2)
    #expect(status.pending.objects == 2)
    let store = world[1].store
    await world[1].engine.close()
    let refused = #expect(throws: SyncError.self) { try SyncEngine.unenroll(store: store) }
    #expect(refused?.message.contains("2 wait for the key") == true, "\(refused?.message ?? "")")
    #expect(refused?.suggestion.contains("syncctl key use") == true)
    await world[1].restart()
    #expect(try SyncEngine.check(world[1].store).findings == [])
    try await world[0].sync()
    #expect(try world[0].exists(made) && world[0].exists(shelf))
    #expect(try world[0].value(made, "title") == .null)
    #expect(try world[0].value(known, "title") == .string("a"))
    #expect(try world.wire.range(of: Data("needle".utf8)) == nil)
    #expect(try world[1].value(made, "title") == .string("needle"))
    let engine = try await world[1].giving(ring)
    _ = try await engine.sync()
    try await world[0].sync()
    #expect(try world[1].status.withoutKey == 0)
    #expect(try world[1].status.pending.objects == 0)
    #expect(try world[0].value(made, "title") == .string("needle"))
    #expect(try world[0].value(made, "stock") == .integer(3))
    #expect(try world[0].value(known, "title") == .string("needle of the known"))
    #expect(try world[0].export == world[1].export)
    #expect(try world.wire.range(of: Data("needle".utf8)) == nil)
  }

  @Test(
    "A delete and a new zone need no key: what could not be opened is offered as the cell that it is"
  )
  func offered() async throws {
    var world = try await SealedWorld()
    let ring = KeyRing()
    try await world.add(ring)
    let kept = try world[0].insert("Item", ["title": .string("needle"), "stock": .integer(4)])
    let gone = try world[0].insert("Item", ["title": .string("needle too")])
    try await world[0].sync()
    try await world.add(nil)
    try await world[1].sync()
    try world[1].delete(gone)
    try await world[1].sync()
    // The zone begins anew, and the keyless one is the first that comes.
    world.zone.renew()
    try await world[1].sync()
    let joined = try await world.add(ring)
    try await joined.sync()
    #expect(try joined.value(kept, "title") == .string("needle"))
    #expect(try joined.value(kept, "stock") == .integer(4))
    #expect(try !joined.exists(gone))
    try await world[0].sync()
    #expect(try world[0].export == joined.export)
    #expect(try world.wire.range(of: Data("needle".utf8)) == nil)
  }

  @Test("A key that came is lost again: what is here stays, and waits with its edits")
  func keyLost() async throws {
    var world = try await SealedWorld()
    let ring = KeyRing()
    try await world.add(ring)
    try await world.add(ring)
    let id = try world[0].insert("Item", ["title": .string("a"), "stock": .integer(1)])
    try await world.world.syncAll()
    let keyless = try await world[1].giving(nil)
    try world[1].set(id, ["title": .string("needle"), "stock": .integer(5)])
    _ = try await keyless.sync()
    #expect(try world[1].status.withoutKey == 1)
    #expect(try world.wire.range(of: Data("needle".utf8)) == nil)
    try world[0].set(id, ["stock": .integer(3)])
    try await world[0].sync()
    _ = try await keyless.sync()
    #expect(try world[1].value(id, "title") == .string("needle"))
    _ = try await world[1].giving(ring).sync()
    try await world[0].sync()
    #expect(try world[0].value(id, "title") == .string("needle"))
    #expect(try world[0].export == world[1].export)
    // What was counted on a value that could not be opened is in the journal, if it is not in the total.
    let told = try world[1].conflicts.contains { $0.property == "stock" && $0.local == "5" }
    #expect(try told || world[0].value(id, "stock") == .integer(7))
  }

  @Test("What waited for its key while others deleted its object is in the journal")
  func deletedMeanwhile() async throws {
    var world = try await SealedWorld()
    let ring = KeyRing()
    try await world.add(ring)
    try await world.add(nil)
    let id = try world[1].insert("Item", ["title": .string("which must not be lost")])
    try await world[1].sync()
    try await world[0].sync()
    try #require(try world[0].value(id, "title") == .null)
    world.world.clock.advance()
    try world[0].delete(id)
    _ = try await world[1].giving(ring).sync()
    try await world[0].sync()
    let entry = try #require(try world[0].conflicts.first { $0.property == "title" })
    #expect(entry.remote?.contains("which must not be lost") == true)
    try await world.world.syncAll()
    #expect(try !world[0].exists(id) && !world[1].exists(id))
  }

  @Test("What is brought back without the key waits for it, and says no null meanwhile")
  func broughtBack() async throws {
    var world = try await SealedWorld()
    let ring = KeyRing()
    let model = sealedShop()
    model.entitiesByName["Item"]?.userInfo[DeletePolicy.userInfoKey] = "editWins"
    try await world.add(ring, model: model)
    try await world.add(ring, model: model)
    let shelf = try world[0].insert("Shelf", ["name": .string("s")])
    let id = try world[0].insert("Item", ["title": .string("a"), "stock": .integer(1)])
    try await world.world.syncAll()
    let keyless = try await world[1].giving(nil)
    try world[1].save { context in
      let item = try #require(try context.object(withIdentity: id))
      item["shelf"] = try context.object(withIdentity: shelf)
    }
    try world[0].delete(id)
    try await world[0].sync()
    _ = try await keyless.sync()
    try #require(try world[1].identities(of: "Item") == [id], "the edit stands")
    #expect(try world[1].status.withoutKey == 1)
    #expect(try world[1].value(id, "title") == .string("a"))
    _ = try await world[1].giving(ring).sync()
    try await world[0].sync()
    #expect(try world[0].value(id, "title") == .string("a"))
    #expect(try world[0].export == world[1].export)
  }

  @Test(
    "A key of the same name that is another one, and one that is not in the file, are told apart")
  func wrongKeys() async throws {
    var world = try await SealedWorld()
    let ring = KeyRing()
    try await world.add(ring)
    let id = try world[0].insert("Item", ["title": .string("needle")])
    try await world[0].sync()
    let lines = ring.text.split(separator: "\n")
    let forged = try KeyRing(
      text: (lines.dropLast() + ["key \(ring.newest) \(String(repeating: "ab", count: 32))"])
        .joined(separator: "\n"))
    try await world.add(forged)
    try await world.add(KeyRing())
    for place in 1...2 {
      try await world[place].sync()
      #expect(try world[place].value(id, "title") == .null)
      let parked = try SyncEngine.parked(of: world[place].store)
      #expect(parked.map(\.code) == ["sealed"])
      #expect(parked.first?.reason.contains("\(ring.newest)") ?? false)
      #expect(
        parked.first?.reason.contains(
          place == 1 ? "does not open" : "is not in the key file") ?? false)
      _ = try await world[place].giving(ring).sync()
      #expect(try world[place].export == world[0].export)
    }
  }

  @Test(
    "A value that lost to an edit made without the key is in the journal as it came, and opens with the key"
  )
  func loserOpens() async throws {
    var world = try await SealedWorld()
    let ring = KeyRing()
    try await world.add(ring)
    let id = try world[0].insert("Item", ["title": .string("first")])
    try await world[0].sync()
    try await world.add(nil)
    try await world[1].sync()
    try world[0].set(id, ["title": .string("which must not be lost")])
    try await world[0].sync()
    world.world.clock.advance()
    try world[1].set(id, ["title": .string("later, without the key")])
    try await world[1].sync()
    let engine = try await world[1].giving(ring)
    _ = try await engine.sync()
    try await world[0].sync()
    #expect(try world[0].value(id, "title") == .string("later, without the key"))
    let entry = try #require(try world[1].conflicts.first { $0.property == "title" })
    #expect(throws: SyncError.self) {
      try SyncEngine.undo(conflict: entry.number, of: world[1].store)
    }
    try SyncEngine.undo(conflict: entry.number, of: world[1].store, keys: ring)
    _ = try await engine.sync()
    try await world[0].sync()
    #expect(try world[0].value(id, "title") == .string("which must not be lost"))
  }

  @Test("A replica that was not given the new key yet reads the rest, and all of it once it has it")
  func rotation() async throws {
    var world = try await SealedWorld()
    let ring = KeyRing()
    let rotated = ring.rotated()
    try await world.add(ring)
    try await world.add(rotated)
    let old = try world[0].insert("Item", ["title": .string("of the old key")])
    try await world.world.syncAll()
    #expect(try world[1].value(old, "title") == .string("of the old key"))
    let new = try world[1].insert("Item", ["title": .string("of the new key")])
    try world[1].set(old, ["tag": .string("new")])
    try await world[1].sync()
    try await world[0].sync()
    #expect(try world[0].value(new, "title") == .null)
    #expect(try world[0].value(old, "title") == .string("of the old key"))
    #expect(
      try SyncEngine.parked(of: world[0].store).allSatisfy {
        $0.reason.contains("\(rotated.newest)")
      })
    _ = try await world[0].giving(rotated).sync()
    #expect(try world[0].export == world[1].export)
  }
}

/// A server that puts cells where they do not belong: none of them is taken for a value.
struct MovedCellTests {
  /// A log in which each push of the first replica is as `lie` makes it.
  private func told(
    _ lie: @escaping (inout ChangeSet) -> Void
  ) async throws -> (world: SealedWorld, ids: [UUID]) {
    var world = try await SealedWorld()
    let ring = KeyRing()
    let way = HookedTransport(world.zone)
    try await world.add(ring, transport: way)
    let ids = try ["one", "two"].map {
      try world[0].insert("Item", ["title": .string($0), "tag": .string("tag \($0)")])
    }
    way.rewritten = { frame in
      var changeSet = try ChangeSetDecoder().decode(frame)
      lie(&changeSet)
      return try ChangeSetEncoder().encode(changeSet)
    }
    // The answer is to another change set than the one that it sent.
    await #expect(throws: SyncError.self) { try await world[0].push() }
    try await world.add(ring)
    try await world[1].sync()
    return (world, ids)
  }

  /// The columns that have values: title and tag.
  private func told(_ changeSet: ChangeSet) -> [Int] {
    changeSet.columns.indices.filter { rows(changeSet.columns[$0]).contains { !$0.isEmpty } }
  }

  private func rows(_ column: Column) -> [Data] {
    guard case .sealed(let rows) = column.values else { return [] }
    return (0..<rows.count).map { rows.data(at: $0) }
  }

  private func column(_ rows: [Data]) -> Column {
    Column(.sealed(rows.reduce(into: ByteRows()) { $0.append($1) }))
  }

  private func expectParked(_ world: SealedWorld, _ ids: [UUID], _ count: Int) throws {
    let parked = try SyncEngine.parked(of: world[1].store)
    #expect(parked.count == count && parked.allSatisfy { $0.code == "sealed" })
    for entry in parked {
      #expect(try world[1].value(entry.object ?? UUID(), entry.property ?? "") == .null)
      #expect(entry.reason.contains("does not open"))
    }
    #expect(try SyncEngine.check(world[1].store).findings == [])
  }

  @Test("Cells of two objects, exchanged")
  func betweenObjects() async throws {
    let (world, ids) = try await told { changeSet in
      let told = told(changeSet)[0]
      changeSet.columns[told] = column(rows(changeSet.columns[told]).reversed())
    }
    try expectParked(world, ids, 2)
  }

  @Test("Cells of two properties, exchanged")
  func betweenProperties() async throws {
    let (world, ids) = try await told { changeSet in
      let told = told(changeSet)
      changeSet.columns.swapAt(told[0], told[1])
    }
    try expectParked(world, ids, 4)
  }

  @Test("Cells with a bit changed, cut, of another version, and rows that say that they are open")
  func damaged() async throws {
    for lie in [
      { (cell: Data) -> Data in Data(cell.dropLast() + [cell[cell.count - 1] ^ 1]) },
      { cell in Data(cell.dropLast()) }, { cell in Data([2] + cell.dropFirst()) },
      { _ in Data() }, { _ in Data([0, 5] + Array("forged".utf8)) },
      { _ in Data([255, 0, 5] + Array("forged".utf8)) },
    ] as [(Data) -> Data] {
      let (world, ids) = try await told { changeSet in
        let told = told(changeSet)[0]
        changeSet.columns[told] = column(rows(changeSet.columns[told]).map(lie))
      }
      let parked = try SyncEngine.parked(of: world[1].store)
      #expect(parked.count == 2 && parked.allSatisfy { $0.code == "sealed" })
      for id in ids {
        let name = try #require(parked.first?.property)
        #expect(try world[1].value(id, name) == .null)
      }
    }
  }

  @Test("A cell that is repeated is an older value of the same place: that is what a server can do")
  func repeated() async throws {
    var world = try await SealedWorld()
    let ring = KeyRing()
    let way = HookedTransport(world.zone)
    try await world.add(ring, transport: way)
    try await world.add(ring)
    let id = try world[0].insert("Item", ["title": .string("first")])
    try await world[0].sync()
    let made = try ChangeSetDecoder().decode(try #require(way.pushed.first))
    let first = made.columns[try #require(told(made).first)]
    way.rewritten = { frame in
      var changeSet = try ChangeSetDecoder().decode(frame)
      changeSet.columns[0] = first
      return try ChangeSetEncoder().encode(changeSet)
    }
    try world[0].set(id, ["title": .string("second")])
    await #expect(throws: SyncError.self) { try await world[0].push() }
    try await world[1].sync()
    #expect(try world[1].value(id, "title") == .string("first"))
  }
}
