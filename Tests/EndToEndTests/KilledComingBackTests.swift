import Foundation
import TestSupport
import Testing

/// `syncctl` ends at one write after the other while a store comes back to a zone that began anew, or to a server that was put
/// back, and goes on from there.
@Suite(.serialized) struct KilledComingBackTests {
  private static let kinds: [FileFault.Kind] =
    FileFault.areAllWanted ? [.kill, .mangled] : [.mangled]

  /// What the exports beside a store hold.
  private func exports(beside replica: Replica) throws -> String {
    try FileManager.default.contentsOfDirectory(atPath: replica.folder.path)
      .filter { $0.contains(".before-") && !$0.hasPrefix(".") }
      .map { try String(contentsOf: replica.folder.appending(path: $0), encoding: .utf8) }
      .joined()
  }

  @Test(
    "F5 F59 S2 Killed at any write while a store gives up what it held, that is in the store or in a whole export",
    arguments: kinds)
  func taken(kind: FileFault.Kind) throws {
    let world = try FaultWorld()
    let replica = try world.replica("a")
    try FileFault.atEachChange(few: 2, every: 19) { number, count in
      try replica.importLines([FaultWorld.insertion("known\(count)")])
      try replica.sync()
      try replica.importLines([FaultWorld.insertion("pending\(count)")])
      try world.renew(["--replace"])
      let isOver = !(try replica.attempt(["sync", "--reconcile"], kind, at: number)).wasKilled
      let held = try replica.export()
      for name in ["known\(count)", "pending\(count)"] where !held.contains(name) {
        #expect(try exports(beside: replica).contains(name), "\(kind) \(number): \(name) is lost")
      }
      try replica.run(["sync", "--store", replica.store.path, "--reconcile"])
      #expect(try replica.export().isEmpty, "\(kind) \(number)")
      let kept = try exports(beside: replica)
      #expect(
        kept.contains("known\(count)") && kept.contains("pending\(count)"), "\(kind) \(number)")
      let journal = try replica.run(["conflicts", "--store", replica.store.path])
      #expect(journal.contains(".before-"), "\(kind) \(number)")
      try replica.expectSound("\(kind) \(number)")
      return isOver
    }
  }

  @Test(
    "F5 F60 S2 Killed at any write while a store offers what it holds to a zone that began anew, it is there once",
    arguments: kinds)
  func offered(kind: FileFault.Kind) throws {
    let world = try FaultWorld()
    let (replica, other) = (try world.replica("a"), try world.replica("b"))
    try FileFault.atEachChange(few: 2, every: 19) { number, count in
      try replica.importLines([FaultWorld.insertion("known\(count)")])
      try replica.sync()
      try replica.importLines([FaultWorld.insertion("pending\(count)")])
      try world.renew()
      let isOver = !(try replica.attempt(["sync", "--reconcile"], kind, at: number)).wasKilled
      for one in [replica, other] {
        try one.run(["sync", "--store", one.store.path, "--reconcile"])
      }
      #expect(try replica.export().split(separator: "\n").count == 2 * count, "\(kind) \(number)")
      #expect(try other.export() == replica.export(), "\(kind) \(number)")
      #expect(try replica.pendingObjects == 0, "\(kind) \(number)")
      try replica.expectSound("\(kind) \(number)")
      return isOver
    }
  }

  @Test(
    "F5 F58 S2 Killed at any write while a store hands over what the server lost, the server has it once",
    arguments: kinds)
  func refilled(kind: FileFault.Kind) throws {
    let world = try FaultWorld()
    let (replica, other) = (try world.replica("a"), try world.replica("b"))
    let copy = world.directory.file("backup")
    try FileFault.atEachChange(few: 2, every: 19) { number, count in
      try replica.importLines([FaultWorld.insertion("known\(count)")])
      try replica.sync()
      world.server.kill()
      try FileManager.default.copyItem(at: world.server.data, to: copy)
      try world.server.start()
      try replica.importLines([FaultWorld.insertion("lost\(count)")])
      try replica.sync()
      try replica.importLines([FaultWorld.insertion("pending\(count)")])
      world.server.kill()
      try FileManager.default.removeItem(at: world.server.data)
      try FileManager.default.moveItem(at: copy, to: world.server.data)
      try world.server.start()
      let isOver = !(try replica.attempt(["sync"], kind, at: number)).wasKilled
      for one in [replica, other] { try one.sync() }
      #expect(try replica.export().split(separator: "\n").count == 3 * count, "\(kind) \(number)")
      #expect(try other.export() == replica.export(), "\(kind) \(number)")
      try replica.expectSound("\(kind) \(number)")
      return isOver
    }
  }
}
