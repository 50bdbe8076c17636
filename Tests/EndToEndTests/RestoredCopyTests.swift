import Foundation
import TestSupport
import Testing

/// Files that were put back, copied, wiped or robbed of a part, and the replicas that they are.
@Suite(.serialized) struct RestoredCopyTests {
  private func names(_ replica: Replica) throws -> Set<String> {
    Set(
      try replica.export().split(separator: "\n").compactMap {
        let object = try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        return (object?["values"] as? [String: Any] ?? object?["set"] as? [String: Any])?["name"]
          as? String
      })
  }

  /// Copies a store's files into another's place, byte for byte, into the files that are there.
  private func copy(_ source: URL, over target: URL) throws {
    let bytes = try Data(contentsOf: source)
    let file = try FileHandle(forWritingTo: target)
    try file.write(contentsOf: bytes)
    try file.truncate(atOffset: UInt64(bytes.count))
    try file.close()
  }

  @Test(
    "F9 A store whose log was deleted goes on from what came home, or says what is wrong with it")
  func deletedLog() throws {
    let world = try FaultWorld()
    let other = try world.replica("other")
    try other.importLines((0..<20).map { FaultWorld.insertion("theirs\($0)") })
    try other.sync()
    var withLog = 0
    for number in Swift.stride(from: 4, to: 40, by: 4) {
      let replica = try world.replica("a\(number)")
      try replica.importLines([FaultWorld.insertion("a\(number)")])
      let outcome = try replica.attempt(["sync"], .kill, at: number)
      guard outcome.wasKilled else { break }
      let log = URL(fileURLWithPath: replica.store.path + "-wal")
      let size = try? FileManager.default.attributesOfItem(atPath: log.path)[.size] as? Int
      if let size, size > 0 { withLog += 1 }
      for suffix in ["-wal", "-shm"] {
        try? FileManager.default.removeItem(atPath: replica.store.path + suffix)
      }
      let next = try replica.attempt("sync")
      let check = try Programs.run("syncctl", ["store", "check", replica.store.path])
      if next.status == 0, check.status == 0 {
        try other.sync()
        #expect(try replica.export() == other.export(), "\(number)")
        #expect(try other.export().contains("\"a\(number)\""), "\(number)")
      } else {
        #expect((next.errors + check.output + check.errors).contains("Try:"), "\(number)")
      }
    }
    #expect(withLog > 2, "there were logs to be deleted")
  }

  @Test(
    "F61 A store that is put back from a backup gets all that the zone has, and keeps its edits")
  func putBack() throws {
    let world = try FaultWorld()
    let (replica, other) = (try world.replica("a"), try world.replica("b"))
    try replica.importLines([FaultWorld.insertion("before")])
    try replica.sync()
    let backup = world.directory.file("backup.sqlite")
    try replica.run(["store", "backup", replica.store.path, backup.path])
    try replica.importLines([FaultWorld.insertion("after the backup")])
    try replica.sync()
    try other.sync()
    try copy(backup, over: replica.store)
    try replica.importLines([FaultWorld.insertion("after it was put back")])
    for one in [replica, other, replica] { try one.sync() }
    #expect(try replica.export() == other.export())
    #expect(
      try names(other) == ["before", "after the backup", "after it was put back"])
  }

  @Test("F62 A store and its copy are both edited and both sync: each is a replica, all is kept")
  func cloned() throws {
    let world = try FaultWorld()
    let (replica, other) = (try world.replica("a"), try world.replica("b"))
    try replica.importLines([FaultWorld.insertion("before")])
    try replica.sync()
    try replica.importLines([FaultWorld.insertion("pending in both")])
    let folder = world.directory.file("clone")
    try FileManager.default.copyItem(at: replica.folder, to: folder)
    let lines = folder.appendingPathComponent("more.jsonl")
    let clone = folder.appendingPathComponent(replica.store.lastPathComponent)
    try Data(FaultWorld.insertion("in the clone").utf8).write(to: lines)
    #expect(
      try Programs.run("syncctl", ["import", "--store", clone.path, lines.path]).status == 0)
    try replica.importLines([FaultWorld.insertion("in the original")])
    for _ in 0..<2 {
      try replica.sync()
      let synced = try Programs.run("syncctl", ["sync", "--store", clone.path])
      #expect(synced.status == 0, "\(synced.errors)")
      try other.sync()
    }
    let export = try Programs.run("syncctl", ["export", "--store", clone.path]).output
    #expect(try replica.export() == export)
    #expect(try other.export() == export)
    #expect(
      try names(other) == ["before", "pending in both", "in the clone", "in the original"])
    #expect(export.split(separator: "\n").count == 4, "nothing is there twice")
  }

  @Test("F63 A store that was wiped and made anew in its place is another replica of the zone")
  func wiped() throws {
    let world = try FaultWorld()
    let (replica, other) = (try world.replica("a"), try world.replica("b"))
    try replica.importLines([FaultWorld.insertion("1"), FaultWorld.insertion("2")])
    try replica.sync()
    let former = try #require(try replica.status()["replica"] as? String)
    try FileManager.default.removeItem(at: replica.folder)
    let again = try world.replica("a")
    #expect(try again.status()["replica"] as? String != former)
    try again.importLines([FaultWorld.insertion("3")])
    for one in [again, other] { try one.sync() }
    #expect(try again.export() == other.export())
    #expect(try names(other) == ["1", "2", "3"])
  }
}
