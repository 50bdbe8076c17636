import Dispatch
import DriftlessProtocol
import Foundation
import Logging
import Synchronization
import Testing

@testable import DriftlessServer

/// Who folds with which priority, and who gives way to whom.
struct FoldPriorityTests {
  @Test(
    "What somebody waits for is added up with the usual priority, and what nobody waits for stops for it and goes on later"
  )
  func awaited() async throws {
    let server = try await LiveServer()
    let token = try server.token()
    var maker = FrameMaker(try await server.zone())
    _ = try await server.accepted(try maker.insert(3), token: token)
    try await server.stop()
    let folder = try DataFolder(server.data)
    let administration = try Administration(folder: folder)
    defer { administration.close() }
    let zone = try #require(try administration.zones().first)
    let logs = WatchedLogs(try FolderLogs(folder))
    var limits = ServerLimits()
    limits.foldLogBytesMin = 1
    let folding = ZoneFolding(
      logs, limits: LiveLimits(limits), metrics: ServerMetrics(), logger: Logger(label: "test"))
    let usual = getpriority(__priority_which_t(0), 0)

    folding.begin()
    try await until { logs.priorities.count == 1 }
    let place = LogMark(sequence: zone.head, chain: zone.chain)
    folding.makeDigests(of: zone.name, at: place)
    logs.letGo()
    try await until { try folding.digests.take(of: zone, at: place) != nil }
    #expect(logs.priorities.first == max(10, usual))
    #expect(logs.priorities.dropFirst().first == usual)
    try await until { try logs.snapshot(of: zone) != nil }
    folding.stop()
  }
}

/// Logs that note the priority of whoever adds them up, and hold up the first who does.
private final class WatchedLogs: FoldedLogs {
  private let logs: FolderLogs
  private let seen = Mutex<[Int32]>([])
  private let gate = DispatchSemaphore(value: 0)

  init(_ logs: FolderLogs) { self.logs = logs }

  var priorities: [Int32] { seen.withLock { $0 } }
  func letGo() { gate.signal() }

  func fold(
    _ zone: ZoneRecord, options: FoldOptions, page: (LogMark) throws -> [LogEntry]
  ) throws -> Snapshot {
    let isFirst = seen.withLock { seen in
      seen.append(getpriority(__priority_which_t(0), 0))
      return seen.count == 1
    }
    if isFirst { gate.wait() }
    return try logs.fold(zone, options: options, page: page)
  }

  func zones() throws -> [ZoneRecord] { try logs.zones() }
  func zone(named name: String) throws -> ZoneRecord? { try logs.zone(named: name) }
  func logBytes(
    of zone: ZoneRecord, after sequence: UInt64, pause: () throws -> Void
  ) throws -> Int { try logs.logBytes(of: zone, after: sequence, pause: pause) }
  func entries(of zone: ZoneRecord, _ request: PageRequest) throws -> [LogEntry] {
    try logs.entries(of: zone, request)
  }
  func isOwn(_ place: LogMark, _ zone: ZoneRecord) throws -> Bool { try logs.isOwn(place, zone) }
  func snapshot(of zone: ZoneRecord) throws -> Snapshot? { try logs.snapshot(of: zone) }
  func bytes(of file: Snapshot.File, of zone: ZoneRecord) throws -> Data {
    try logs.bytes(of: file, of: zone)
  }
  func forget(_ zone: ZoneRecord) throws { logs.forget(zone) }
  func sweep() throws { try logs.sweep() }
  var freeBytes: Int? { logs.freeBytes }
  func close() { logs.close() }
}
