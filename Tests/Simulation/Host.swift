import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessTesting
import Foundation
import Synchronization

@testable import DriftlessSync

/// A host with one replica: its file, its engine, its clock.
// Sendable by use: one task of a simulation has it.
final class Host: @unchecked Sendable {
  let name: String
  let number: Int
  let file: URL
  private(set) var network: SimulatedNetwork
  /// The server that the store is enrolled with, and the zone's name there as the store has it.
  private(set) var home: (server: SimulatedServer, zone: String)?
  /// Whether the engine works still by the way of before the store was enrolled anew.
  private(set) var isElsewhere = false
  /// The newest transaction when the store left its zone for another one; nil in its zone.
  var leftAfter: Int64?
  /// What it had in another zone: that has it still, and may bring it back.
  var abroad: Set<UUID> = []
  /// Whether it waits for a person's word on deletes.
  var asks = false
  /// Whether its disk has no room for more, and what the disk says of that.
  var isFull = false
  let disk = Disk()
  final class Disk: Sendable { let room = Mutex<DiskRoom?>(nil) }
  /// What ends its process between two commits.
  var commits: CommitCount?
  /// Whether its engine is at work.
  var isAtWork = false
  private let world: ManualClock
  private var options: SyncOptions
  /// How much faster than time the host's clock runs, in millionths, and since when.
  private let drift: (perMillion: Int64, since: UInt64)
  /// Conflicts that waited when a person here set their property.
  var decided: Set<Int64> = []
  /// The entries of the log that a person accepted as set aside: their chains, by sequence number.
  var accepted: [UInt64: Set<LogChain>] = [:]
  /// Milliseconds that the host's clock is ahead.
  let skew: Mutex<Int64>
  private(set) var version: Int
  private(set) var store: PersistentStore
  private(set) var engine: SyncEngine
  private(set) var coordinator: PersistentStoreCoordinator
  private(set) var image = Image()
  /// The newest transaction when the image was read.
  private var looked: Int64 = -1
  var backups: [[String: Data]] = []
  /// The newest transaction and the objects of each backup, and those of them that the zone had not been told of.
  var backedUp: [(transaction: Int64, moment: Int, objects: Set<UUID>, unsent: Set<UUID>)] = []

  init(
    number: Int, name: String, file: URL, model: ManagedObjectModel, version: Int,
    server: any SyncTransport, world: ManualClock, skew: Int64,
    drift: Int64 = 0, options: SyncOptions = Host.options()
  ) throws {
    self.options = options
    self.options.diskRoom = { [disk] _ in disk.room.withLock { $0 } }
    self.drift = (drift, world.milliseconds)
    self.number = number
    self.name = name
    self.file = file
    self.version = version
    self.world = world
    self.skew = Mutex(skew)
    network = SimulatedNetwork(server)
    store = try Self.open(file, model)
    coordinator = PersistentStoreCoordinator(store: store)
    engine = SyncEngine(store: store, transport: network, options: self.options)
    setClock()
    try look()
  }

  private static func open(_ file: URL, _ model: ManagedObjectModel) throws -> PersistentStore {
    try PersistentStore.open(
      url: file, model: model,
      options: StoreOptions(durability: .normal, migratesAutomatically: true))
  }

  /// Opens a file as a person does that is told of a log which is not the file's.
  private static func openBesideLogs(
    _ file: URL, _ model: ManagedObjectModel
  ) throws -> PersistentStore {
    do {
      return try open(file, model)
    } catch let error as StoreError where error.code == .strayLog {
      _ = try PersistentStore.setAsideStrayLogs(at: file)
      return try open(file, model)
    }
  }

  private func setClock() {
    let drift = drift
    // Both clocks of a host hang on what drives them.
    let running: @Sendable () -> Int64 = { [world] in
      let passed = Int64(world.milliseconds) - Int64(drift.since)
      return Int64(world.milliseconds) + passed * drift.perMillion / 1_000_000
    }
    store.setClock(
      { [weak self] in
        let skew = self?.skew.withLock { $0 } ?? 0
        return Date(timeIntervalSince1970: Double(running() + skew) / 1000)
      },
      // Nobody sets the clock that counts from the start of the host.
      sinceBoot: { running() })
  }

  /// Whether the host has the key of encrypted attributes.
  var hasKey: Bool { options.keys != nil }

  /// The host's key file goes, or comes back.
  func setKey(_ isThere: Bool) async {
    options.keys = isThere ? try? KeyRing(text: Self.keys) : nil
    await restart()
  }

  /// What all hosts have to seal with.
  private static let keys = """
    driftless-keys 1
    domain 101112131415161718191a1b1c1d1e1f
    key 0102030405060708 808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f
    """

  /// Small pages and pushes, so that their edges are met.
  static func options(_ scenario: Scenario = Scenario(), number: Int = 0) -> SyncOptions {
    var options = SyncOptions()
    if scenario.asksWhenDiverged, number % 2 == 1 { options.onDiverged = .ask }
    if scenario.keepsFewEntries { options.keptFrameBytesMax = 2500 }
    options.keys = try? KeyRing(text: keys)
    if scenario.hasLargeValues { options.largeValueBytesMin = LargeValue.bytesMin }
    let isLate = scenario.looksLate ? number > 0 : number % 2 == 1
    if scenario.hasFirstUse, isLate { options.values = .firstUse }
    options.pullBytesMax = 1000
    options.pushObjectsMax = 4
    options.partObjectsMax = scenario.partObjectsMax
    // However small the zone is.
    options.snapshotShare = .infinity
    options.staleRetriesMax = 1000
    options.massDelete.floor = scenario.hasMassDeletes ? 4 : .max
    options.massDelete.count = .max
    options.customPolicies["longest"] = { conflict in
      guard case .string(let local) = conflict.local, case .string(let remote) = conflict.remote
      else { return conflict.local.isNull ? conflict.remote : conflict.local }
      return local.count >= remote.count ? conflict.local : conflict.remote
    }
    options.customPolicies["together"] = { conflict in
      let words = [conflict.local, conflict.remote].map { value -> Set<Substring> in
        if case .string(let text) = value { Set(text.split(separator: " ")) } else { [] }
      }
      return .string(words[0].union(words[1]).sorted().joined(separator: " "))
    }
    return options
  }

  func enroll(_ server: SimulatedServer) async throws {
    try SyncEngine.enroll(
      store: store, server: MemoryZone.url, zone: server.zoneName,
      info: try await server.zoneInfo())
    isElsewhere = home != nil
    home = (server, server.zoneName)
  }

  /// Takes the store out of its zone.
  func unenroll() async throws {
    await engine.close()
    try SyncEngine.unenroll(store: store, leavingUnsent: true, leavingValues: true)
    await restart()
  }

  /// Enrolls the store with its zone as if it had never been there.
  func beginAnew(_ server: SimulatedServer) async throws {
    await engine.close()
    try SyncEngine.enroll(
      store: store, server: MemoryZone.url, zone: server.zoneName,
      info: try await server.zoneInfo(), anew: true)
    await restart()
  }

  /// A new engine, by the way to where the store is enrolled by now.
  func follow() async {
    guard isElsewhere, let home else { return }
    isElsewhere = false
    let former = network
    network = SimulatedNetwork(home.server)
    network.isCut = former.isCut
    network.isDeaf = former.isDeaf
    network.admit = { [home] in
      guard home.server.zoneName != home.zone else { return }
      throw ProtocolError(.noZone, "There is no zone", suggestion: "Make one.")
    }
    await restart()
  }

  /// Reads what the replica shows, if anything was written since the last look.
  func look() throws {
    let newest = try newestTransaction
    guard newest != looked else { return }
    image = Image(export: try ReplicaExport.text(of: store))
    looked = newest
  }

  func close() async {
    await engine.close()
    store.close()
  }

  /// Opens the file again, as it is or as another version of the program, or with other contents.
  func reopen(
    _ model: ManagedObjectModel, version: Int? = nil, contents: [String: Data]? = nil,
    _ manner: FileImage.Manner = .whole
  ) async throws {
    await close()
    if let contents { try FileImage.put(contents, at: file, manner) }
    if let version { self.version = version }
    // Whoever starts it again has made room.
    isFull = false
    disk.room.withLock { $0 = nil }
    store = try Self.openBesideLogs(file, model)
    coordinator = PersistentStoreCoordinator(store: store)
    engine = SyncEngine(store: store, transport: network, options: options)
    setClock()
    looked = -1
    try look()
  }

  /// A new engine on the store that is open.
  func restart() async {
    await engine.close()
    engine = SyncEngine(store: store, transport: network, options: options)
  }

  /// The time of the newest transaction.
  var newestTime: UInt64 {
    get throws {
      try store.read { try $0.hybridTime(of: $0.maximumTransactionNumber()).rawValue }
    }
  }

  var newestTransaction: Int64 {
    get throws { try store.read { try $0.maximumTransactionNumber() } }
  }
  /// Objects that were made here, and that the zone has not heard of.
  var unsent: Set<UUID> {
    get throws {
      try store.read { transaction in
        guard let state = try ReplicaState.load(from: transaction.connection) else { return [] }
        let pending = try PendingLoader.load(
          transaction, schema: SyncSchema(store.schema), acknowledged: state.acknowledged)
        return Set(
          try pending.objects.filter { $0.value.whole == .insert }
            .map { try transaction.identity(of: $0.key) })
      }
    }
  }
  /// Objects that were made and deleted here, of which the zone has heard of neither. A copy of this host may send them, and this
  /// host alone knows better.
  var unheardDeletes: Set<UUID> {
    get throws {
      try store.read { transaction in
        guard let state = try ReplicaState.load(from: transaction.connection) else { return [] }
        let pending = try PendingLoader.load(
          transaction, schema: SyncSchema(store.schema), acknowledged: state.acknowledged)
        var deletes = Set(
          try pending.objects.filter { $0.value.whole == .delete }
            .map { try transaction.identity(of: $0.key) })
        try transaction.connection.forEachRow("SELECT identity FROM ZDL_DELETED") { row in
          if let identity = UUID(networkBytes: row.data(0)) { deletes.insert(identity) }
        }
        return deletes
      }
    }
  }
  /// Identities of objects that became one with others here, and of those.
  var united: Set<UUID> {
    get throws {
      try store.read { transaction in
        var united: Set<UUID> = []
        guard try EngineTables.exist(on: transaction.connection) else { return united }
        for (identity, key) in try Unions.aliases(transaction) {
          united.insert(identity)
          united.insert(try transaction.identity(of: key))
        }
        return united
      }
    }
  }
  /// The first transaction of what the zone has not acknowledged; nil where there is none.
  var firstPending: Int64? {
    get throws {
      try store.read { transaction -> Int64? in
        guard let state = try ReplicaState.load(from: transaction.connection) else { return nil }
        let pending = try PendingLoader.load(
          transaction, schema: SyncSchema(store.schema), acknowledged: state.acknowledged)
        return pending.objects.flatMap { entry in
          [entry.value.wholeTransaction] + entry.value.edits.map { $0.transaction }
        }.filter { $0 > 0 }.min()
      }
    }
  }
  /// The entries of the log by their chains, as far as the host knows them.
  var chains: [UInt64: LogChain] {
    get throws {
      try store.read { transaction in
        guard let state = try ReplicaState.load(from: transaction.connection) else { return [:] }
        let places = try LogPlaces.all(
          of: state.generation, through: state.cursor, on: transaction.connection)
        return Dictionary(places.map { ($0.sequence, $0.chain) }) { $1 }
      }
    }
  }
  /// Whether the store is in a zone.
  var isEnrolled: Bool {
    get throws { try store.read { try ReplicaState.load(from: $0.connection) != nil } }
  }
  var status: SyncStatus { get throws { try SyncEngine.status(of: store) } }
  /// As who has the key reads them.
  var conflicts: [JournalEntry] {
    get throws { try SyncEngine.conflicts(of: store, keys: KeyRing(text: Self.keys)) }
  }
}
