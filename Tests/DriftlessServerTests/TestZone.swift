import DriftlessProtocol
import DriftlessServer
import Foundation
import TestSupport

/// A data folder with one zone in it, and pushes for it that need no codec.
final class TestZone: Sendable {
  let directory: TemporaryDirectory
  let folder: DataFolder
  let storage: SQLiteZoneStorage
  let limits: ServerLimits

  /// - Parameter now: the server's clock, in milliseconds since 1970.
  init(
    limits: ServerLimits = .init(), name: String = "shop",
    now: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) },
    sinceBoot: @escaping @Sendable () -> Int64 = ServerClock.hostSinceBoot
  ) throws {
    directory = try TemporaryDirectory()
    self.limits = limits
    folder = try DataFolder(directory.file("data"))
    let administration = try Administration(folder: folder)
    _ = try administration.createZone(name)
    administration.close()
    storage = try SQLiteZoneStorage(folder: folder, limits: limits, now: now, sinceBoot: sinceBoot)
  }

  deinit { storage.close() }

  func zone(_ name: String = "shop") async throws -> ZoneRecord {
    guard let zone = try await storage.zone(named: name) else { throw Missing(name: name) }
    return zone
  }

  /// A place of the zone's log.
  func place(at sequence: UInt64) async throws -> LogMark {
    try await storage.place(at: sequence, of: zone())
  }

  struct Missing: Error { let name: String }
}

/// One replica that pushes.
struct TestReplica: Sendable {
  let id = UUID()
  var number: UInt64 = 0
  /// Place 0 stands for the beginning of any log.
  var cursor = LogMark(sequence: 0, chain: .start(generation: UUID()))

  /// The next push of this replica.
  mutating func push(
    _ generation: UUID, inserts: [Push.IdentityRun] = [], _ touches: Push.Touch...,
    size: Int = 300
  ) -> Push {
    number += 1
    return push(number, generation, inserts: inserts, touches, size: size)
  }

  /// A push of any number; its bytes follow from what is in it.
  func push(
    _ number: UInt64, _ generation: UUID, inserts: [Push.IdentityRun] = [],
    _ touches: [Push.Touch] = [], size: Int = 300, fill: UInt8 = 7
  ) -> Push {
    var frame = Data(repeating: fill, count: size)
    frame.replaceSubrange(0..<8, with: withUnsafeBytes(of: number) { Data($0) })
    var contents = Push.Contents()
    contents.identities = inserts
    contents.touches = touches
    return Push(
      replica: id, number: number,
      cursor: Cursor(
        generation: generation, sequence: cursor.sequence,
        chain: cursor.sequence == 0 ? .start(generation: generation) : cursor.chain),
      mark: nil, frame: frame, digest: Data("\(fill)-\(size)-\(number)".utf8),
      contents: contents)
  }
}

extension Push.Touch {
  static func update(_ properties: [String], of objects: [UInt64]) -> Push.Touch {
    Push.Touch(kind: .update, properties: properties, objects: objects)
  }

  static func delete(_ objects: [UInt64]) -> Push.Touch {
    Push.Touch(kind: .delete, properties: [], objects: objects)
  }

  static func revive(_ objects: [UInt64]) -> Push.Touch {
    Push.Touch(kind: .revive, properties: ["title"], objects: objects)
  }
}

/// The code of the error that `body` throws; nil when it throws none.
func code(_ body: () async throws -> Void) async throws -> ServerError.Code? {
  do {
    try await body()
    return nil
  } catch let error as ServerError {
    return error.code
  }
}

extension SQLiteZoneStorage {
  /// A place of a zone's log.
  func place(at sequence: UInt64, of zone: ZoneRecord) async throws -> LogMark {
    if sequence == zone.head { return LogMark(sequence: sequence, chain: zone.chain) }
    let beginning = Cursor.start(generation: zone.generation).mark
    guard sequence > 0 else { return beginning }
    let page = try await page(
      of: zone, PageRequest(after: beginning, bytesMax: 1 << 30, entriesMax: Int(sequence)))
    guard let entry = page.entries.last, entry.sequence == sequence else {
      throw TestZone.Missing(name: "entry \(sequence)")
    }
    return LogMark(sequence: sequence, chain: entry.chain)
  }
}

extension ZoneRecord {
  /// The place before the first entry.
  var beginning: LogMark { Cursor.start(generation: generation).mark }
}
