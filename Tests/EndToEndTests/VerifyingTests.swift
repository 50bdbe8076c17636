import Foundation
import TestSupport
import Testing

/// `syncctl verify` against `driftless-server`: a store is compared with its zone over HTTP, and mended.
@Suite(.serialized) struct VerifyingTests {
  private struct Verdict: Decodable {
    struct Difference: Decodable {
      var kind: String
      var property: String?
      var isRepaired: Bool
    }
    var verdict: String
    var objects: Int
    var bytes: Int
    var requests: Int
    var differenceCount: Int
    var repairedCount: Int
    var differences: [Difference]
  }

  private func world(_ count: Int = 200) throws -> (FaultWorld, Replica, Replica) {
    let world = try FaultWorld()
    let writer = try world.replica("writer")
    try writer.importLines((0..<count).map { FaultWorld.insertion("item\($0)") })
    try writer.sync()
    let reader = try world.replica("reader")
    try reader.sync()
    return (world, writer, reader)
  }

  private func verify(
    _ replica: Replica, _ arguments: [String] = [], ends status: Int32 = 0,
    at location: SourceLocation = #_sourceLocation
  ) throws -> Verdict {
    let outcome = try replica.attempt("verify", arguments + ["--json"])
    #expect(
      outcome.status == status, "\(outcome.output)\(outcome.errors)", sourceLocation: location)
    return try JSONDecoder().decode(Verdict.self, from: Data(outcome.output.utf8))
  }

  @Test("Equal stores cost no values; a row that was changed past the library is found and mended")
  func mends() throws {
    let (world, writer, reader) = try world()
    defer { withExtendedLifetime(world) {} }
    let equal = try verify(reader)
    #expect(equal.verdict == "equal" && equal.objects == 200 && equal.requests == 0)
    try SQLiteFile.damage(reader.store, "UPDATE ZITEM SET ZNAME = 'x' WHERE Z_PK = 77")
    let found = try verify(reader, ends: 20)
    #expect(found.verdict == "different" && found.differences.map(\.property) == ["name"])
    #expect(found.bytes < 10_000, "\(found.bytes)")
    let text = try reader.attempt("verify")
    #expect(text.status == 20 && text.output.contains(#": name is "x" here, and "item"#))
    let mended = try verify(reader, ["--repair"])
    #expect(mended.verdict == "repaired" && mended.repairedCount == 1)
    #expect(try verify(reader).verdict == "equal")
    #expect(try reader.export() == writer.export())
    #expect(try reader.run(["conflicts", "--store", reader.store.path]).contains("repair"))
    try reader.expectSound("mended")
  }

  @Test("Who may only read is told and mended, and who cannot reach the server is told that")
  func readsOnly() throws {
    let (world, writer, _) = try world(20)
    let token = try world.server.token(zone: world.zone, verbs: "read")
    let reader = try Replica(
      "looker", in: world.directory, model: world.model, server: world.server, zone: world.zone,
      token: token)
    try reader.sync()
    try SQLiteFile.damage(reader.store, "DELETE FROM ZITEM WHERE Z_PK = 3")
    #expect(try verify(reader, ["--repair"]).verdict == "repaired")
    #expect(try reader.export() == writer.export())
    #expect(world.server.stop() == 0)
    let outcome = try reader.attempt("verify")
    #expect(outcome.status == 69, "\(outcome.errors)")
  }

  @Test("A log that was added up before, has gone on since, and whose files are damaged or gone")
  func folded() throws {
    let (world, writer, reader) = try world(60)
    let folded = try Programs.run(
      "driftless-server", ["zone", "fold", world.zone, "--data", world.server.data.path])
    #expect(folded.status == 0, "\(folded.errors)")
    try writer.importLines(
      (0..<9).map { #"{"op":"update","entity":"Item","id":"item\#($0)","set":{"count":\#($0)}}"# }
        + [#"{"op":"delete","entity":"Item","id":"item50"}"#])
    try writer.sync()
    #expect(try verify(reader).verdict == "equal")
    try SQLiteFile.damage(reader.store, "UPDATE ZITEM SET ZCOUNT = 5 WHERE Z_PK % 20 = 0")
    let snapshots = world.server.data.appendingPathComponent("snapshots")
    for file in FileManager.default.enumerator(at: snapshots, includingPropertiesForKeys: nil)?
      .compactMap({ $0 as? URL }) ?? [] where file.pathExtension == "segment"
    {
      try Data("damaged".utf8).write(to: file)
    }
    let mended = try verify(reader, ["--repair"])
    #expect(mended.verdict == "repaired" && mended.repairedCount == 3, "\(mended)")
    try FileManager.default.removeItem(at: snapshots)
    #expect(try verify(reader).verdict == "equal")
    #expect(try reader.export() == writer.export())
  }

  @Test(
    "F5 F6 Killed at any write of a repair, a store is as it was or mended, and the next one mends it",
    arguments: [FileFault.Kind.kill, .torn])
  func killed(kind: FileFault.Kind) throws {
    let (world, writer, reader) = try world(150)
    defer { withExtendedLifetime(world) {} }
    let expected = try writer.export()
    var number = 1
    var isOver = false
    while !isOver {
      try SQLiteFile.damage(
        reader.store,
        "UPDATE ZITEM SET ZNAME = 'x' WHERE Z_PK IN (9, 140); DELETE FROM ZITEM WHERE Z_PK = 70")
      isOver = !(try reader.attempt(["verify", "--repair"], kind, at: number)).wasKilled
      #expect(try verify(reader, ["--repair"]).verdict != "different", "\(kind) \(number)")
      #expect(try reader.export() == expected, "\(kind) \(number)")
      try reader.expectSound("\(kind) \(number)")
      number = FileFault.next(after: number, every: 13)
    }
    #expect(number > 4, "there were writes to be killed at")
  }

  @Test("A daemon that keeps the store does it")
  func daemon() throws {
    let (world, writer, reader) = try world(20)
    let daemon = try DaemonProcess(stores: [reader.store], in: world.directory.url)
    try writer.importLines([FaultWorld.insertion("later")])
    try writer.sync()
    let expected = try writer.export()
    try eventually("the daemon has it") { try reader.export() == expected }
    try SQLiteFile.damage(reader.store, "UPDATE ZITEM SET ZNAME = 'x' WHERE Z_PK = 7")
    #expect(try verify(reader, ends: 20).differenceCount == 1)
    #expect(try verify(reader, ["--repair"]).verdict == "repaired")
    #expect(try reader.export() == writer.export())
    #expect(daemon.stop() == 0)
  }
}
