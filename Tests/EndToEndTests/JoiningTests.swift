import Foundation
import TestSupport
import Testing

/// `syncctl` and `driftless-server`, where a new replica takes what the zone's log comes to.
@Suite(.serialized) struct JoiningTests {
  /// A zone with a writer, whose log is added up.
  private func world() throws -> (world: FaultWorld, writer: Replica) {
    let world = try FaultWorld()
    let writer = try world.replica("writer")
    try writer.importLines((0..<40).map { FaultWorld.insertion("item\($0)") })
    try writer.sync()
    try writer.importLines(
      (0..<30).map { #"{"op":"update","entity":"Item","id":"item\#($0)","set":{"count":\#($0)}}"# }
        + (30..<35).map { #"{"op":"delete","entity":"Item","id":"item\#($0)"}"# })
    try writer.sync()
    try fold(world)
    return (world, writer)
  }

  private func fold(_ world: FaultWorld) throws {
    let folded = try Programs.run(
      "driftless-server", ["zone", "fold", world.zone, "--data", world.server.data.path])
    #expect(folded.status == 0, "\(folded.errors)")
  }

  /// Entries of the log that a store was given.
  private func entries(in replica: Replica) throws -> Int {
    try SQLiteFile.number("SELECT count(*) FROM ZDL_FRAME", in: replica.store)
  }

  @Test("A new replica joins by the snapshot, and others' later edits follow")
  func joins() throws {
    let (world, writer) = try world()
    let replica = try world.replica("new")
    try replica.sync()
    #expect(try replica.export() == writer.export())
    #expect(try entries(in: replica) == 0)
    try replica.importLines([FaultWorld.insertion("of the new one")])
    try replica.sync()
    try writer.sync()
    #expect(try replica.export() == writer.export())
    try replica.expectSound("joined")
  }

  @Test(
    "F5 F6 Killed at any write while it joins by the snapshot, a replica has all of it or nothing",
    arguments: [FileFault.Kind.kill, .torn, .mangled])
  func killed(kind: FileFault.Kind) throws {
    let (world, writer) = try world()
    let expected = try writer.export()
    var number = 1
    var isOver = false
    while !isOver {
      let replica = try world.replica("\(kind)\(number)")
      isOver = !(try replica.attempt(["pull"], kind, at: number)).wasKilled
      let half = try replica.export()
      #expect(half.isEmpty || half == expected, "\(kind) \(number)")
      try replica.sync()
      #expect(try replica.export() == expected, "\(kind) \(number)")
      #expect(try entries(in: replica) == 0, "\(kind) \(number): the log was read")
      try replica.expectSound("\(kind) \(number)")
      number = FileFault.next(after: number, every: 13)
    }
    #expect(number > 4, "there were writes to be killed at")
  }

  @Test("A server adds its logs up by itself when they have grown, and goes on after a restart")
  func byItself() async throws {
    let world = try FaultWorld()
    let limits = world.directory.file("limits.json")
    try Data(#"{"foldLogBytesMin": 2000}"#.utf8).write(to: limits)
    world.server.limits = limits
    #expect(world.server.stop() == 0)
    try world.server.start()
    let writer = try world.replica("writer")
    var rounds = 0
    // The server folds beside its work; so many rounds are enough for a slow one.
    while try !hasSnapshot(world), rounds < 200 {
      rounds += 1
      try writer.importLines((0..<40).map { FaultWorld.insertion("item\(rounds)-\($0)") })
      try writer.sync()
    }
    #expect(try hasSnapshot(world))
    let replica = try world.replica("new")
    try replica.sync()
    #expect(try replica.export() == writer.export())
  }

  private func hasSnapshot(_ world: FaultWorld) throws -> Bool {
    try Programs.run("driftless-server", ["zone", "list", "--data", world.server.data.path])
      .output.contains("\tsnapshot ")
  }
}
