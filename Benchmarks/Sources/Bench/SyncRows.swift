import CLimits
import Dispatch
import Driftless
import DriftlessProtocol
import DriftlessServer
import DriftlessSync
import DriftlessTesting
import Foundation
import Synchronization

/// Change sets and the server: encode, decode, bytes on the wire, apply, accept.
struct SyncRows: Sendable {
  let items: Items
  let folder: URL

  func run() async throws -> [Row] {
    let model = try Item.model()
    let zone = RecordingZone()
    let container = try await replica(model, "author", zone, filled: items.items)
    guard let insert = zone.frames.last else { throw BenchError(description: "nothing was pushed") }
    // Before the zone has more in it than the inserts that the limit writes.
    let apply = try await apply(model, zone)
    try await pushUpdates(container, zone)
    guard let update = zone.frames.last, update != insert else {
      throw BenchError(description: "no update was pushed")
    }
    var rows = try codecRows(insert)
    rows.append(try wire("bytes on the wire, inserts", insert.count, aim: 0.45, updates: 0))
    rows.append(
      try wire("bytes on the wire, 1 of 10,000", update.count, aim: 0.25, updates: 10_000))
    rows.append(apply)
    rows.append(try await KeyRow(folder: folder).run())
    rows.append(try await accept(model))
    rows.append(try await ServeRow(folder: folder.appendingPathComponent("server")).run())
    return rows
  }

  /// A store that is enrolled with a zone, and has pushed what it was filled with.
  func replica(
    _ model: ManagedObjectModel, _ name: String, _ zone: RecordingZone, filled: [Items.Item]
  ) async throws -> PersistentContainer {
    let container = PersistentContainer(
      name: name, model: model, storeURL: folder.appendingPathComponent(name))
    try container.loadPersistentStores()
    let store = container.persistentStoreCoordinator.persistentStores[0]
    try SyncEngine.enroll(
      store: store, server: MemoryZone.url, zone: "zone", info: try await zone.zoneInfo())
    guard !filled.isEmpty else { return container }
    try container.performAndWait { context in
      for item in filled { try context.insert(Item.self).fill(item) }
      try context.save()
    }
    do {
      _ = try await SyncEngine(store: store, transport: zone).sync()
    } catch let error as ProtocolError where error.code == .forbidden {
      // The zone only records: its frames go to a real server's storage.
    }
    return container
  }

  private func pushUpdates(_ container: PersistentContainer, _ zone: RecordingZone) async throws {
    try container.performAndWait { context in
      for (index, object) in try context.fetch(Item.self, limit: 10_000).enumerated() {
        // The same scattered values as the session's rows get in C.
        object[Item.size] = Int64(index &* index &* 7919 % 1_000_003)
      }
      try context.save()
    }
    let store = container.persistentStoreCoordinator.persistentStores[0]
    _ = try await SyncEngine(store: store, transport: zone).sync()
  }

  private func codecRows(_ frame: Data) throws -> [Row] {
    let changeSet = try ChangeSetDecoder().decode(frame)
    let encoder = ChangeSetEncoder(compressionLevel: 0)
    let plain = try encoder.encode(changeSet)
    let raw = [UInt8](plain)
    var compressed = [UInt8](repeating: 0, count: raw.count + raw.count / 100 + 1024)
    var size = compressed.count
    try check(limit_deflate(raw, raw.count, 6, &compressed, &size), "deflate")
    let inflatable = Array(compressed[..<size])
    var scratch = compressed
    var target = raw
    return [
      try Comparison(
        name: "encode a change set (limit: zlib 6 of it)", aim: 0.15,
        ours: { _ = try encoder.encode(changeSet) },
        limit: {
          var size = scratch.count
          try check(limit_deflate(raw, raw.count, 6, &scratch, &size), "deflate")
        }
      ).run(),
      try Comparison(
        name: "decode a change set (limit: inflating it)", aim: 1,
        ours: { _ = try ChangeSetDecoder().decode(plain) },
        limit: {
          var size = target.count
          try check(limit_inflate(inflatable, inflatable.count, &target, &size), "inflate")
        }
      ).run(),
    ]
  }

  private func wire(_ name: String, _ bytes: Int, aim: Double, updates: Int) throws -> Row {
    var raw = 0
    var compressed = 0
    try check(
      limit_session_bytes(
        items.limits.baseAddress, items.items.count, updates, updates > 0 ? 1 : 0, &raw,
        &compressed), "session")
    return Row(
      name: name, ours: UInt64(bytes), limit: UInt64(compressed),
      ratio: Double(bytes) / Double(compressed),
      peer: updates > 0 ? "session patchset" : "session changeset", peerRatio: 1, aim: aim)
  }

  private func apply(_ model: ManagedObjectModel, _ zone: RecordingZone) async throws -> Row {
    let rounds = 5
    var stores: [PersistentStore] = []
    for round in 0...rounds {
      let container = try await replica(model, "apply-\(round)", zone, filled: [])
      stores.append(container.persistentStoreCoordinator.persistentStores[0])
    }
    var round = 0
    return try Comparison(
      name: "apply a change set, with history", aim: 1.5, rounds: rounds,
      ours: {
        // It is closed, and with it checkpointed, in here, as the limit's database is.
        let store = stores.removeLast()
        try blocking { [self] in
          let report = try await SyncEngine(store: store, transport: zone).pull()
          guard report.inserted == items.items.count else {
            throw BenchError(description: "applied \(report.inserted)")
          }
        }
      },
      limit: {
        round += 1
        try check(
          limit_insert(
            folder.appendingPathComponent("apply-c-\(round)").path, items.limits.baseAddress,
            items.items.count), "insert")
      }
    ).run()
  }

  /// Frames of 1,000 objects from as many replicas, appended one after another.
  private func accept(_ model: ManagedObjectModel) async throws -> Row {
    let limits = ServerLimits()
    let data = try DataFolder(folder.appendingPathComponent("server"))
    let administration = try Administration(folder: data)
    let zone = try administration.createZone("bench")
    administration.close()
    let storage = try SQLiteZoneStorage(folder: data)
    defer { storage.close() }
    let reader = PushReader(limits: limits)
    let rounds = 5
    let perRound = 10
    var pushes: [Push] = []
    for index in 0..<(rounds + 1) * perRound {
      let recording = RecordingZone(generation: zone.generation)
      _ = try await replica(
        model, "push-\(index)", recording, filled: Array(items.items.prefix(1_000)))
      guard let frame = recording.frames.last else {
        throw BenchError(description: "nothing was pushed")
      }
      pushes.append(try reader.read(frame))
    }
    let frame = [UInt8](pushes[0].frame)
    let next = Mutex(0)
    let all = pushes
    return try Comparison(
      name: "server: accept 10 pushes (wall; limit: fdatasync)", aim: 1.5, rounds: rounds,
      byWallClock: true,
      ours: {
        let start = next.withLock { next in
          defer { next += perRound }
          return next
        }
        try blocking {
          for push in all[start..<start + perRound] {
            _ = try await storage.append(push, to: zone)
          }
        }
      },
      limit: {
        try check(
          limit_append(
            folder.appendingPathComponent("append").path, frame, frame.count, Int32(perRound)),
          "append")
      }
    ).run()
  }
}

/// A zone in memory that keeps the frames that it was sent.
final class RecordingZone: SyncTransport {
  private let zone: MemoryZone
  private let generation: UUID?
  private let kept = Mutex<[Data]>([])

  init(generation: UUID? = nil) {
    zone = MemoryZone()
    self.generation = generation
  }

  var frames: [Data] { kept.withLock { $0 } }

  func zoneInfo() async throws -> ZoneInfo {
    var info = try await zone.zoneInfo()
    if let generation { info.generation = generation }
    return info
  }

  func push(_ frame: Data) async throws -> PushReply {
    kept.withLock { $0.append(frame) }
    guard generation == nil else {
      throw ProtocolError(.forbidden, "recorded only", suggestion: "")
    }
    return try await zone.push(frame)
  }

  func pull(_ request: PullRequest) async throws -> PullPage {
    guard generation == nil else {
      return PullPage(
        generation: request.cursor.generation, head: 0,
        serverTimeMilliseconds: try await zone.zoneInfo().serverTimeMilliseconds, entries: [])
    }
    return try await zone.pull(request)
  }

  func refill(_ entries: [PullPage.Entry]) async throws -> RefillReply {
    try await zone.refill(entries)
  }

  func commonPlace(of marks: [LogMark], generation: UUID) async throws -> LogMark? {
    try await zone.commonPlace(of: marks, generation: generation)
  }
}

/// Waits for asynchronous work, as the interleaved rounds are synchronous.
func blocking(_ work: @escaping @Sendable () async throws -> Void) throws {
  let done = DispatchSemaphore(value: 0)
  let outcome = Mutex<Result<Void, any Error>>(.success(()))
  Task.detached {
    do { try await work() } catch { outcome.withLock { $0 = .failure(error) } }
    done.signal()
  }
  done.wait()
  try outcome.withLock { $0 }.get()
}
