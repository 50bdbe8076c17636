import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessServer
import DriftlessTesting
import Foundation
import Synchronization

@testable import DriftlessSync

/// Disks without room for more: of hosts, and of the server.
extension Simulation {
  func fillDisk(_ host: Host, _ dice: UInt64) throws {
    tell("\(host.name)'s disk has no room but for \(dice % 6) pages")
    try host.fill(pages: Int64(dice % 6), dice: dice / 6)
  }

  func makeRoom(_ host: Host) throws {
    guard host.isFull else { return }
    tell("\(host.name)'s disk has room again")
    try host.makeRoom()
  }

  /// A person notes it for the next sync, or the program does it: the zone has what went, whatever room there is.
  func letGo(_ host: Host, _ step: Step) async throws {
    guard try host.isEnrolled else { return }
    do {
      if step.kind == .fetch {
        tell("\(host.name) fetches \(try await host.engine.downloadAll().values) values")
      } else if step.dice % 2 == 0 {
        tell("\(host.name) is to let go of values")
        try SyncEngine.askToLetGo(of: host.store, keeping: Int64(step.dice % 5) * 100)
      } else {
        let report = try await host.engine.letGoValues()
        tell("\(host.name) lets go of \(report.values) values, and \(report.kept) stay")
      }
    } catch { judge(error, of: host) }
    await host.follow()
    try host.look()
  }

  func fillServer(_ dice: UInt64) throws {
    tell("the server has no room for more")
    try server.fill(dice)
  }

  func makeRoomAtServer() {
    guard server.isFull else { return }
    tell("the server has room again")
    server.makeRoom()
  }

  /// Whether an error is that of a disk without room; it is told then.
  func isOfFullDisk(_ error: any Error, of host: Host) -> Bool {
    switch error {
    case let error as StoreError where error.code == .diskFull && host.isFull:
      tell("\(host.name) has no room: \(brief(error.message))")
      return true
    case let error as ProtocolError
    where (error.code == .diskFull || error.code == .zoneFull) && server.isFull:
      tell("\(host.name) is told that the server has no room")
      return true
    default: return false
    }
  }

  private func brief(_ text: String) -> String { String(text.prefix(60)) }
}

extension Host {
  /// Bounds the store's file to a few pages more than it has, and has the disk tell of little room.
  func fill(pages: Int64, dice: UInt64) throws {
    isFull = true
    let free = [nil, 0, 20_000][Int(dice % 3)]
    disk.room.withLock { $0 = free.map { DiskRoom(free: $0, reserve: 10_000) } }
    try bound { try $0.number("PRAGMA page_count") + pages }
  }

  func makeRoom() throws {
    guard isFull else { return }
    isFull = false
    disk.room.withLock { $0 = nil }
    try bound { _ in 1 << 30 }
  }

  private func bound(_ pages: (SQLiteConnection) throws -> Int64) throws {
    do {
      _ = try store.write(TransactionInfo(author: "disk", kind: .imported)) {
        try $0.connection.execute("PRAGMA max_page_count = \(pages($0.connection))")
      }
    } catch let error as StoreError where error.code == .diskFull {
      // There is not even room for the note of that.
    }
  }
}

extension SimulatedServer {
  /// Bounds the database to a few pages more than it has; or has the zone refuse by its own bounds.
  func fill(_ dice: UInt64) throws {
    refusal =
      dice % 2 == 0
      ? nil
      : ProtocolError(
        dice % 4 == 1 ? .zoneFull : .diskFull, "There is no room", suggestion: "Make some.")
    isFull = true
    guard case .files(let storage, _) = storage else {
      refusal =
        refusal ?? ProtocolError(.diskFull, "There is no room", suggestion: "Make some.")
      return
    }
    let bytes = try FileManager.default.attributesOfItem(atPath: database.path)[.size] as? Int ?? 0
    var limits = Self.limits
    limits.databaseBytesMax = bytes + 4096 * Int(dice / 4 % 4)
    storage.take(limits)
  }

  func makeRoom() {
    isFull = false
    refusal = nil
    if case .files(let storage, _) = storage { storage.take(Self.limits) }
  }

  func admit() throws {
    if let refusal { throw refusal }
  }
}
