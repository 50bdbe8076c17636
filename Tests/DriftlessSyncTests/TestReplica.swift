import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport
import Testing

/// A store with an engine, enrolled with a zone in memory. Edits carry the times of a manual clock.
final class TestReplica {
  let name: String
  let store: PersistentStore
  let zone: MemoryZone
  let clock: ManualClock
  let directory: TemporaryDirectory
  private let transport: any SyncTransport
  private let options: SyncOptions
  private(set) var engine: SyncEngine

  init(
    _ name: String, zone: MemoryZone, clock: ManualClock, model: ManagedObjectModel = shopModel(),
    transport: (any SyncTransport)? = nil, options: SyncOptions = SyncOptions(),
    enrolled: Bool = true, file: URL? = nil
  ) async throws {
    self.name = name
    self.zone = zone
    self.clock = clock
    directory = try TemporaryDirectory()
    self.transport = transport ?? zone
    var options = options
    options.customPolicies["longest"] = { conflict in
      guard case .string(let local) = conflict.local, case .string(let remote) = conflict.remote
      else { return conflict.local.isNull ? conflict.remote : conflict.local }
      return local.count >= remote.count ? conflict.local : conflict.remote
    }
    self.options = options
    store = try PersistentStore.open(
      url: file ?? directory.file("\(name).sqlite"), model: model,
      options: StoreOptions(durability: .normal, migratesAutomatically: true))
    // One clock for all: what contexts save is as old as what tests write.
    store.setClock { clock.date }
    engine = SyncEngine(store: store, transport: self.transport, options: options)
    if enrolled { try await enroll() }
  }

  /// Two replicas of one zone, each with a model of its own.
  static func pair(
    _ first: ManagedObjectModel, _ second: ManagedObjectModel
  ) async throws -> (TestReplica, TestReplica) {
    let clock = ManualClock()
    let zone = MemoryZone(clock: clock)
    return (
      try await TestReplica("first", zone: zone, clock: clock, model: first),
      try await TestReplica("second", zone: zone, clock: clock, model: second)
    )
  }

  func enroll() async throws {
    try SyncEngine.enroll(
      store: store, server: MemoryZone.url, zone: zone.name, info: try await zone.zoneInfo())
  }

  /// As after a crash: a new engine on what is in the store.
  func restart() async {
    await engine.close()
    engine = SyncEngine(store: store, transport: transport, options: options)
  }

  @discardableResult func sync() async throws -> SyncReport { try await engine.sync() }
  @discardableResult func push() async throws -> PushReport { try await engine.push() }
  @discardableResult func pull() async throws -> PullReport { try await engine.pull() }

  // MARK: Edits

  /// One local transaction on rows, a second after the last edit anywhere.
  func write(_ body: (WriteTransaction) throws -> Void) throws {
    clock.advance()
    _ = try store.write(
      TransactionInfo(author: name, contextName: nil, hybridTime: clock.hybridTime), body)
  }

  @discardableResult
  func insert(
    _ entity: String, _ values: [String: PropertyValue] = [:], identity: UUID? = nil
  ) throws -> UUID {
    let description = try #require(store.model.entitiesByName[entity])
    var id = UUID()
    try write { transaction in
      let key = ObjectKey(
        entity: store.schema.entityNumber(of: description),
        key: try transaction.allocateKeys(description, count: 1).lowerBound)
      var row = [PropertyValue](repeating: .null, count: description.layout.slots.count)
      for (name, value) in values { row[try slot(name, description)] = value }
      try transaction.insert(description, key.key, values: row)
      if let identity { try transaction.assignIdentity(key, identity) }
      id = try transaction.identity(of: key)
    }
    return id
  }

  /// Inserts an object; one whose identity is that of a deleted object comes back under its key, as
  /// in a context's save.
  func insertOrRemake(
    _ entity: String, _ values: [String: PropertyValue], identity: UUID?
  ) throws -> UUID {
    guard let identity, let dead = try store.read({ try $0.key(of: identity) }) else {
      return try insert(entity, values, identity: identity)
    }
    let description = try #require(store.model.entitiesByName[entity])
    try write { transaction in
      var row = [PropertyValue](repeating: .null, count: description.layout.slots.count)
      for (name, value) in values { row[try slot(name, description)] = value }
      try transaction.insert(description, dead.key, values: row)
    }
    return identity
  }

  func set(_ id: UUID, _ values: [String: PropertyValue]) throws {
    try write { transaction in
      let key = try key(of: id, transaction)
      let description = try #require(store.schema.entity(numbered: key.entity))
      var row = try #require(try transaction.row(key)).values
      var mask = PropertyMask()
      for (name, value) in values {
        let slot = try slot(name, description)
        row[slot] = value
        mask.insert(slot)
      }
      try transaction.update(key, mask, values: row, expectedVersion: nil)
    }
  }

  /// Work on objects, saved through a context.
  func save(_ body: (ManagedObjectContext) throws -> Void) throws {
    // Equal times go by the replicas' identities, which are random.
    clock.advance()
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    context.transactionAuthor = name
    try body(context)
    try context.save()
  }

  func delete(_ id: UUID) throws {
    try save { context in
      context.delete(try #require(try context.object(withIdentity: id)))
    }
  }

  // MARK: Looking

  /// What the object shows: nothing of a large value that is not here.
  func value(_ id: UUID, _ property: String) throws -> PropertyValue? {
    try kept(id, property).map { $0.isInZone ? .null : $0 }
  }

  /// What the row has.
  func kept(_ id: UUID, _ property: String) throws -> PropertyValue? {
    try store.read { transaction in
      guard let found = try transaction.key(of: id),
        let key = try transaction.concreteKey(root: found), let row = try transaction.row(key),
        let description = store.schema.entity(numbered: key.entity)
      else { return nil }
      return row.values[try slot(property, description)]
    }
  }

  func reference(_ id: UUID, _ property: String) throws -> UUID? {
    guard case .reference(let key)? = try value(id, property) else { return nil }
    return try store.read { try $0.identity(of: key) }
  }

  /// The objects of a set.
  func elements(_ id: UUID, _ name: String) throws -> Set<UUID> {
    try store.read { transaction in
      let found = try #require(try transaction.key(of: id))
      let key = try #require(try transaction.concreteKey(root: found))
      let relationship = try #require(
        store.schema.entity(numbered: key.entity)?.layout.slots
          .first { $0.name == name }?.relationship)
      return Set(
        try transaction.toManyKeys(of: key, relationship).map { try transaction.identity(of: $0) })
    }
  }

  func exists(_ id: UUID) throws -> Bool {
    try store.read { transaction in
      guard let key = try transaction.key(of: id) else { return false }
      return try transaction.concreteKey(root: key) != nil
    }
  }

  /// Every object of an entity, in the order of their keys.
  func identities(of name: String) throws -> [UUID] {
    let entity = try #require(store.model.entitiesByName[name])
    return try store.read { transaction in
      let table = store.schema.table(for: entity).name
      return try transaction.connection.rows("SELECT Z_PK, Z_ENT FROM \(table) ORDER BY Z_PK").map {
        guard case .integer(let key) = $0[0], case .integer(let entity) = $0[1] else {
          return UUID()
        }
        return try transaction.identity(
          of: ObjectKey(entity: Int32(truncatingIfNeeded: entity), key: key))
      }
    }
  }

  var export: String { get throws { try ReplicaExport.text(of: store) } }
  var status: SyncStatus { get throws { try SyncEngine.status(of: store) } }
  var conflicts: [JournalEntry] { get throws { try SyncEngine.conflicts(of: store) } }

  private func key(of id: UUID, _ transaction: ReadTransaction) throws -> ObjectKey {
    let found = try #require(try transaction.key(of: id), "\(name) has no object \(id)")
    return try #require(try transaction.concreteKey(root: found))
  }

  private func slot(_ name: String, _ entity: EntityDescription) throws -> Int {
    try #require(entity.layout.index(named: name), "\(entity.name) has no property \(name)")
  }
}

/// Replicas on one zone, with a clock that all share.
struct World {
  let zone: MemoryZone
  let clock: ManualClock
  var replicas: [TestReplica] = []

  init(_ count: Int, options: SyncOptions = SyncOptions()) async throws {
    clock = ManualClock()
    zone = MemoryZone(clock: clock)
    for index in 0..<count {
      replicas.append(
        try await TestReplica("r\(index)", zone: zone, clock: clock, options: options))
    }
  }

  subscript(index: Int) -> TestReplica { replicas[index] }

  func syncAll() async throws {
    for replica in replicas { try await replica.sync() }
  }

  /// A store has what the log comes to, value by value; some ways to a zone tell no digests.
  private func expectVerified(_ replica: TestReplica, _ location: SourceLocation) async throws {
    do {
      let compared = try await replica.engine.verify()
      #expect(
        compared.differences == [], "\(replica.name) is not the zone", sourceLocation: location)
    } catch let error as SyncError where error.code == .notVerified {
      return
    }
  }

  /// Every test ends here: all replicas sync twice, then nothing is pending, cursors and states are
  /// equal, and a further round says nothing more.
  func settle(_ location: SourceLocation = #_sourceLocation) async throws {
    try await syncAll()
    try await syncAll()
    let head = zone.head
    try await syncAll()
    #expect(zone.head == head, "a settled world goes on talking", sourceLocation: location)
    let first = try replicas[0].export
    for replica in replicas {
      let status = try replica.status
      #expect(status.pending.objects == 0, "\(replica.name) is pending", sourceLocation: location)
      #expect(status.cursor == head, "\(replica.name) is behind", sourceLocation: location)
      #expect(status.lastError == nil, sourceLocation: location)
      #expect(try replica.export == first, "\(replica.name) differs", sourceLocation: location)
      #expect(
        try SyncEngine.check(replica.store).findings == [], "\(replica.name)",
        sourceLocation: location)
      try await expectVerified(replica, location)
    }
  }
}
