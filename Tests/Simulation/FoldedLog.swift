import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import TestSupport

@testable import DriftlessProtocol

/// A log that says at once what a snapshot says: as many objects under the same numbers, and the dead ones deleted. What a
/// replica makes of it is what the snapshot means.
enum FoldedLog {
  static func make(of snapshot: Snapshot, in folder: URL, like info: ZoneInfo) throws -> ZoneLog {
    var zone = ZoneLog(name: info.zone, zoneID: info.zoneID, generation: info.generation)
    let tables = FoldTables()
    let merge = FoldMerge(
      try [snapshot.base, snapshot.delta].compactMap { $0 }.map {
        try LayerCursor($0, of: snapshot, tables: tables, from: nil) {
          try Snapshot.bytes(of: $0, in: folder)
        }
      })
    var objects = SegmentDraft(tables: tables, isDelta: false)
    var dead: [(number: UInt64, entity: String)] = []
    while let (key, edit) = try merge.next(), key.part == .object {
      guard let birth = edit.object.birth, let row = edit.object.transaction else { continue }
      guard edit.object.life == .dead else {
        objects.append(key.low, edit.object)
        continue
      }
      dead.append((key.low, try tables.text(at: birth.entity)))
      var bare = ObjectEdit()
      bare.apply(.born(birth, row))
      objects.append(key.low, bare)
    }
    guard !objects.isEmpty else { return zone }
    let segment = try SegmentBytes(
      objects.encoded(1..<snapshot.nextObject, header(in: zone), ChangeSetEncoder()),
      limits: .segment)
    for frame in segment.frames {
      var set = try ChangeSetDecoder().decode(frame)
      set.header = header(in: zone)
      _ = try zone.append(try ChangeSetEncoder().encode(set), nowMilliseconds: 0)
    }
    guard !dead.isEmpty else { return zone }
    let set = ChangeSet(header: header(in: zone), index: deletes(of: dead), columns: [])
    _ = try zone.append(try ChangeSetEncoder().encode(set), nowMilliseconds: 0)
    return zone
  }

  private static func header(in zone: ZoneLog) -> ChangeSetHeader {
    ChangeSetHeader(
      replica: zone.zoneID, pushNumber: zone.head + 1,
      cursor: Cursor(generation: zone.generation, sequence: zone.head, chain: zone.chain))
  }

  private static func deletes(of dead: [(number: UInt64, entity: String)]) -> ChangeSetIndex {
    let names = Set(dead.map(\.entity)).sorted()
    return ChangeSetIndex(
      entities: names.map { .init(name: $0, properties: []) }, knownNumbers: dead.map(\.number),
      transactions: [.init(hybridTime: 0)],
      groups: names.enumerated().map { entity, name in
        let places = dead.indices.filter { dead[$0].entity == name }.map(Int32.init)
        return .init(
          kind: .delete, entity: entity, properties: [], objects: ObjectIndexes(places),
          transactionRuns: [.init(transaction: 0, count: places.count)])
      })
  }
}

extension Simulation {
  /// What the log comes to says the same as the log. Each quiet moment goes on from the snapshot of the last one.
  func checkFold(like newcomer: Image) async throws {
    let info = try await server.zoneInfo()
    let folder = folder.file("snapshot")
    var options = FoldOptions()
    options.runBytes = 3_000
    options.segmentBytes = 3_000
    if let found = try Snapshot.read(in: folder), found.generation == info.generation,
      try await server.commonPlace(of: [found.place], generation: info.generation) == nil
    {
      // The server was put back: what was added up is another log's.
      try FileManager.default.removeItem(at: folder)
    }
    let fold = try SnapshotFold(
      zone: info.zoneID, generation: info.generation, in: folder, options: options)
    while true {
      let page = try await server.pull(
        PullRequest(
          cursor: Cursor(
            generation: info.generation, sequence: fold.through.sequence,
            chain: fold.through.chain), maxBytes: 1 << 20, waitSeconds: 0, replica: UUID(),
          ownThrough: 0))
      if page.entries.isEmpty { break }
      for entry in page.entries { try fold.append(entry) }
    }
    let snapshot = try fold.finish()
    let image = try await image(of: FoldedLog.make(of: snapshot, in: folder, like: info))
    if image != newcomer {
      fail("fold", "of \(info.head) entries: \(image.difference(from: newcomer, names: name))")
    }
  }

  private func image(of log: ZoneLog) async throws -> Image {
    let newest = traits.count - 1
    let zone = MemoryZone(name: log.name, clock: clock)
    zone.putBack(log)
    let host = try Host(
      number: hosts.count, name: "folded", file: folder.file("folded-\(trace.count).sqlite"),
      model: models[newest], version: newest, server: zone, world: clock, skew: 0)
    try SyncEngine.enroll(
      store: host.store, server: MemoryZone.url, zone: zone.name, info: try await zone.zoneInfo())
    _ = try await host.engine.sync()
    try host.look()
    await host.close()
    return host.image
  }
}
