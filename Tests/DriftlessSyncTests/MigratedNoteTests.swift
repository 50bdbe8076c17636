import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import Foundation
import Testing

/// What is noted beside marks of the zone, and in settings, when a store goes over to another model.
struct MigratedNoteTests {
  /// - Parameter isUnder: whether A is a subentity of B: its objects get other keys. C is gone then.
  private func model(isUnder: Bool) -> ManagedObjectModel {
    let a = EntityDescription("A")
    a.properties = [AttributeDescription("name", .string)]
    let b = EntityDescription("B")
    b.properties = [AttributeDescription("title", .string)]
    if isUnder { b.subentities = [a] }
    return ManagedObjectModel(entities: isUnder ? [a, b] : [a, b, EntityDescription("C")])
  }

  private func key(_ id: UUID, _ store: PersistentStore) throws -> ObjectKey {
    try store.read { try #require(try $0.key(of: id)) }
  }

  @Test("Of the cuts beside a delete one goes whose hierarchy is gone, and the notes stay")
  func cuts() async throws {
    var fleet = try await Fleet(1, model(isUnder: false))
    let (a, c) = (try fleet[0].insert("A"), try fleet[0].insert("C"))
    for _ in 0..<2 { try fleet[0].insert("B") }
    let b = try fleet[0].insert("B")
    try await fleet.sync(0)
    let store = fleet[0].store
    let (moves, gone, stays) = (try key(a, store), try key(c, store), try key(b, store))
    let notes: [PropertyValue] = [
      .integer(3), .reference(gone), .string("bs"), .null, .reference(moves), .string("b"),
      .integer(4),
    ]
    _ = try store.write(TransactionInfo(author: "test", kind: .imported)) { transaction in
      try transaction.connection.run(
        "INSERT INTO ZDL_ZONE VALUES (?, ?, '', 1, ?, 1, ?, 1)", .integer(Int64(stays.entity)),
        .integer(stays.key), .blob(RowArchive.encode(notes)), .blob(Data(count: 16)))
    }
    try await fleet.migrate(0, to: model(isUnder: true))
    let new = fleet[0].store
    let kept = try new.read { transaction -> [PropertyValue] in
      guard
        case .blob(let bytes)? = try transaction.connection.scalar(
          "SELECT value FROM ZDL_ZONE WHERE property = ''")
      else { return [] }
      return try RowArchive.decodeValues(bytes)
    }
    let moved = try key(a, new)
    #expect(kept == [.integer(3), .reference(moved), .string("b"), .integer(4)])
    #expect(moved != moves)
  }

  @Test("A note that names keys beyond all numbers stops no migration")
  func farKeys() async throws {
    var fleet = try await Fleet(1, model(isUnder: false))
    try fleet[0].insert("A")
    for _ in 0..<3 { try fleet[0].insert("B") }
    try await fleet.sync(0)
    _ = try fleet[0].store.write(TransactionInfo(author: "test", kind: .imported)) {
      for (name, value) in [
        "sync.held": "A 9223372036854775807\nB 9223372036854775807",
        "sync.madeMeanwhile": "A 1 2-9223372036854775807\nB 3 4-9223372036854775807",
        "sync.limitsLeft": "A 9223372036854775807",
      ] { try $0.setSetting(name, .text(value)) }
    }
    try await fleet.migrate(0, to: model(isUnder: true))
    #expect(try fleet[0].store.read { try $0.setting("sync.limitsLeft") } == nil)
    #expect(try fleet[0].identities(of: "B").count == 4)
  }
}
