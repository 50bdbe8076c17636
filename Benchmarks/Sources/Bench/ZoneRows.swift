import CLimits
import Crypto
import Driftless
import DriftlessHTTP
import DriftlessProtocol
import DriftlessSQLite
import DriftlessServer
import DriftlessSync
import Foundation
import Logging

/// Zones of some age: adding a log up, joining by what it comes to, comparing with it; and what encryption costs.
struct ZoneRows: Sendable {
  let items: Items
  let folder: URL

  func run() async throws -> [Row] {
    let model = try Item.model()
    var rows = [try await fold(model)]
    rows += try await served(model)
    rows += try sealing()
    return rows
  }

  // MARK: Folding

  /// A log of so many pushes, each from a replica of its own with all the items.
  private func log(
    _ model: ManagedObjectModel, _ count: Int, in zone: ZoneRecord, of data: DataFolder
  )
    async throws -> [Data]
  {
    let storage = try SQLiteZoneStorage(folder: data)
    defer { storage.close() }
    let reader = PushReader(limits: ServerLimits())
    let replicas = SyncRows(items: items, folder: folder)
    var frames: [Data] = []
    for number in 0..<count {
      let recording = RecordingZone(generation: zone.generation)
      _ = try await replicas.replica(
        model, "\(zone.name)-\(number)", recording, filled: items.items)
      guard let frame = recording.frames.last else {
        throw BenchError(description: "nothing was pushed")
      }
      frames.append(frame)
      _ = try await storage.append(try reader.read(frame), to: zone)
    }
    return frames
  }

  private func fold(_ model: ManagedObjectModel) async throws -> Row {
    let times = max(1, 1_000_000 / items.items.count)
    let data = try DataFolder(folder.appendingPathComponent("fold"))
    let administration = try Administration(folder: data)
    defer { administration.close() }
    let zone = try administration.createZone("fold")
    let frames = try await log(model, times, in: zone, of: data)
    // What the log says, and as zlib has it.
    let raw = try frames.map { frame in
      [UInt8](try ChangeSetEncoder(compressionLevel: 0).encode(ChangeSetDecoder().decode(frame)))
    }
    let deflated = try raw.map { try Self.deflated($0) }
    return try Comparison(
      name: "fold \(items.items.count * times) objects (limit: inflating, deflating the log)",
      rounds: 3,
      ours: {
        try? FileManager.default.removeItem(
          at: folder.appendingPathComponent("fold/snapshots"))
        let snapshot = try administration.foldZone("fold")
        guard snapshot.place.sequence == UInt64(times) else {
          throw BenchError(description: "folded to \(snapshot.place.sequence)")
        }
      },
      limit: {
        for (raw, deflated) in zip(raw, deflated) {
          var target = raw
          var size = target.count
          try check(limit_inflate(deflated, deflated.count, &target, &size), "inflate")
          _ = try Self.deflated(raw)
        }
      }
    ).run()
  }

  private static func deflated(_ raw: [UInt8]) throws -> [UInt8] {
    var target = [UInt8](repeating: 0, count: raw.count + raw.count / 100 + 1024)
    var size = target.count
    try check(limit_deflate(raw, raw.count, 6, &target, &size), "deflate")
    return Array(target[..<size])
  }

  // MARK: Joining and comparing

  /// A server of this process: what it costs counts as well.
  private func served(_ model: ManagedObjectModel) async throws -> [Row] {
    let url = folder.appendingPathComponent("zones")
    let data = try DataFolder(url)
    let administration = try Administration(folder: data)
    var tokens: [String: String] = [:]
    var generations: [String: UUID] = [:]
    for name in ["folded", "logged", ValueRows.zone] {
      let zone = try administration.createZone(name)
      generations[name] = zone.generation
      if name != ValueRows.zone { _ = try await log(model, 1, in: zone, of: data) }
      tokens[name] = try administration.createToken(zone: name, verbs: [.read, .write]).text
    }
    _ = try administration.foldZone("folded")
    administration.close()
    var options = ServeOptions()
    options.port = 0
    options.limits.foldLogBytesMin = 1 << 40  // the other zone keeps its log
    options.limits.valueBytesMax = 256 << 20
    let server = try ReferenceServer(
      data: url, options: options, logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() })
    let (started, starting) = AsyncStream<ReferenceServer.Listening>.makeStream()
    let running = Task { try await server.run(handlesSignals: false) { starting.yield($0) } }
    var iterator = started.makeAsyncIterator()
    guard let listening = await iterator.next(), let address = URL(string: listening.url) else {
      throw BenchError(description: "the server did not start")
    }
    let client = ZoneClient(address: address, tokens: tokens, folder: folder)
    var rows = [try joining(client, model)]
    rows += try await comparing(client, model)
    if let generation = generations[ValueRows.zone] {
      rows += try ValueRows(client: client, generation: generation).run()
    }
    await listening.stop()
    try await running.value
    return rows
  }

  private func joining(_ client: ZoneClient, _ model: ManagedObjectModel) throws -> Row {
    let count = items.items.count
    var number = 0
    func join(_ zone: String) throws {
      number += 1
      let container = try client.container("join-\(number)", model)
      let engine = try client.engine(container, in: zone)
      try blocking {
        let inserted = try await engine.pull().inserted
        guard inserted == count else { throw BenchError(description: "\(inserted) came") }
      }
    }
    return try Comparison(
      name: "join \(count) objects by a snapshot (limit: by the log)", aim: 1,
      ours: { try join("folded") }, limit: { try join("logged") }
    ).run()
  }

  private func comparing(
    _ client: ZoneClient, _ model: ManagedObjectModel
  ) async throws -> [Row] {
    let equal = try client.engine(client.container("equal", model), in: "folded")
    let other = try client.engine(client.container("other", model), in: "folded")
    for engine in [equal, other] { _ = try await engine.pull() }
    let path = folder.appendingPathComponent("other").path
    let connection = try SQLiteConnection(path: path, mode: .readWrite)
    try connection.execute(
      "UPDATE ZITEM SET ZSIZE = ZSIZE + 1 WHERE Z_PK = \(items.items.count / 2)")
    connection.close()
    func verify(_ engine: SyncEngine, finds count: Int) throws {
      try blocking {
        let found = try await engine.verify().differenceCount
        guard found == count else { throw BenchError(description: "\(found) differences") }
      }
    }
    return [
      try Comparison(
        name: "verify \(items.items.count) equal objects (limit: reading the rows)",
        ours: { try verify(equal, finds: 0) },
        limit: {
          var count = 0
          try check(
            limit_query(
              folder.appendingPathComponent("equal").path, "SELECT * FROM ZITEM ORDER BY Z_PK",
              &count), "query")
        }
      ).run(),
      try Comparison(
        name: "verify with one value changed (limit: equal)", aim: 1.2,
        ours: { try verify(other, finds: 1) }, limit: { try verify(equal, finds: 0) }
      ).run(),
    ]
  }

  // MARK: Encryption

  private func sealing() throws -> [Row] {
    let ring = KeyRing()
    let values = items.items.map { Array($0.name.utf8) }
    let places = items.items.map { _ in
      SealedPlace(entity: "Item", object: UUID(), property: "name")
    }
    let key = SymmetricKey(size: .bits256)
    let cells = try zip(values, places).map { try ring.seal($0, at: $1) }
    let boxes = try values.map { try AES.GCM.seal($0, using: key) }
    return [
      try Comparison(
        name: "seal \(values.count) values (limit: AES-GCM of them)",
        ours: { for (value, place) in zip(values, places) { _ = try ring.seal(value, at: place) } },
        limit: { for value in values { _ = try AES.GCM.seal(value, using: key) } }
      ).run(),
      try Comparison(
        name: "open \(values.count) sealed values (limit: AES-GCM)",
        ours: {
          for (cell, place) in zip(cells, places) {
            guard ring.open(cell, at: place) != nil else {
              throw BenchError(description: "a cell does not open")
            }
          }
        },
        limit: { for box in boxes { _ = try AES.GCM.open(box, using: key) } }
      ).run(),
    ]
  }
}

/// Replicas of the zones of a server.
struct ZoneClient: Sendable {
  let address: URL
  /// By the names of zones.
  let tokens: [String: String]
  let folder: URL

  /// The engine of a store that its first operation enrols.
  func engine(_ container: PersistentContainer, in zone: String) throws -> SyncEngine {
    SyncEngine(
      store: container.persistentStoreCoordinator.persistentStores[0],
      enrollingThrough: try CurlTransport(server: address, zone: zone, token: tokens[zone] ?? ""))
  }

  func container(_ name: String, _ model: ManagedObjectModel) throws -> PersistentContainer {
    let container = PersistentContainer(
      name: name, model: model, storeURL: folder.appendingPathComponent(name))
    try container.loadPersistentStores()
    return container
  }
}
