import Foundation
import TestSupport
import Testing

/// What an operator does where a zone has no room for another replica, where its programs are of several ages, and where a
/// server was put back that bound stores read from.
@Suite(.serialized) struct OperatorZoneTests {
  private static func operate(
    _ world: FaultWorld, _ arguments: [String], sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> String {
    let outcome = try Programs.run("driftless-server", arguments + world.server.place)
    #expect(outcome.status == 0, "\(outcome.errors)", sourceLocation: sourceLocation)
    return outcome.output
  }

  private static func id(of replica: Replica) throws -> String {
    try #require(try replica.status()["replica"] as? String).lowercased()
  }

  @Test(
    "A zone that knows as many replicas as it may takes another once one is forgotten, which loses nothing"
  )
  func forgotten() throws {
    let world = try FaultWorld()
    let zone = world.zone
    _ = try Self.operate(world, ["zone", "limits", zone, "--set", "replicasMax=2"])
    let (first, second) = (try world.replica("first"), try world.replica("second"))
    for replica in [first, second] {
      try replica.importLines([FaultWorld.insertion(replica.name)])
      try replica.sync()
    }
    let third = try world.replica("third")
    try third.importLines([FaultWorld.insertion("third")])
    let refused = try third.attempt("sync")
    #expect(refused.status != 0)
    #expect(
      refused.errors.contains("driftless-server replica forget \(zone) --unseen-for"),
      "\(refused.errors)")
    // What was not sent when it was forgotten is here when it comes back.
    try first.importLines([FaultWorld.insertion("late")])
    let name = try Self.id(of: first)
    let planned = try Self.operate(world, ["replica", "forget", zone, name, "--dry-run"])
    #expect(planned.hasPrefix("would forget \(name)"), "\(planned)")
    #expect(try third.attempt("sync").status != 0)
    #expect(try Self.operate(world, ["replica", "forget", zone, name]).hasPrefix("forgot \(name)"))
    #expect(try Self.operate(world, ["replica", "forget", zone, name]).contains("before"))
    try third.sync()
    #expect(try first.attempt("sync").status != 0, "the zone is full again")
    let kept = try Self.id(of: second)
    _ = try Self.operate(world, ["replica", "forget", zone, kept])
    try first.sync()
    for replica in [third, first] { try replica.sync() }
    #expect(try first.export() == third.export())
    #expect(try first.export().split(separator: "\n").count == 4)
    let unseen = try Self.operate(world, ["replica", "forget", zone, "--unseen-for", "30"])
    #expect(unseen == "nobody to forget in zone \(zone)\n")
    let audit = try Self.operate(world, ["audit"])
    #expect(audit.split(separator: "\n").count { $0.contains("replica-forgotten") } == 2)
    for arguments in [[], [name, "--unseen-for", "3"], ["x"], ["--unseen-for", "0"]] {
      let wrong = try Programs.run(
        "driftless-server", ["replica", "forget", zone] + arguments + world.server.place)
      #expect(wrong.status == 64, "\(arguments): \(wrong.errors)")
    }
    let unknown = try Programs.run(
      "driftless-server", ["replica", "forget", zone, UUID().uuidString] + world.server.place)
    #expect(unknown.status == 1 && unknown.errors.contains("not-found"), "\(unknown.errors)")
  }

  @Test(
    "A zone of a lower format level refuses what newer programs send, says how it is raised, and takes it then"
  )
  func format() throws {
    let world = try FaultWorld()
    let zone = world.zone
    let replica = try world.replica("newer")
    // As a program made it whose highest level was lower than this one's.
    let database = world.server.data.appendingPathComponent("driftless.sqlite")
    try SQLiteFile.damage(database, "UPDATE zone SET format_level = 0")
    #expect(
      try Self.operate(world, ["zone", "format", zone])
        == "zone \(zone): format level 0; this program reads up to 1\n")
    #expect(try Self.operate(world, ["zone", "inspect", zone]).contains("format      0"))
    try replica.importLines([FaultWorld.insertion("new")])
    let refused = try replica.attempt("sync")
    let told = refused.errors + refused.output
    #expect(told.contains("driftless-server zone format \(zone) --raise 1"), "\(told)")
    let tooHigh = try Programs.run(
      "driftless-server", ["zone", "format", zone, "--raise", "2"] + world.server.place)
    #expect(tooHigh.status == 65 && tooHigh.errors.contains("bad-format"), "\(tooHigh.errors)")
    #expect(
      try Self.operate(world, ["zone", "format", zone, "--raise", "1"])
        == "zone \(zone): format level 1; this program reads up to 1\n")
    try replica.sync()
    let other = try world.replica("other")
    try other.sync()
    #expect(try other.export() == replica.export())
    #expect(try other.export().contains("new"))
  }

  @Test("What a replica reads of format levels is listed, and none is too old for the present one")
  func readers() throws {
    let world = try FaultWorld()
    let replica = try world.replica("one")
    try replica.importLines([FaultWorld.insertion("one")])
    try replica.sync()
    #expect(world.server.stop() == 0)
    try world.server.start()
    let list = try Self.operate(world, ["replica", "list", "--json"])
    #expect(list.contains(#""formatLevel":1"#), "\(list)")
    let report = try Self.operate(world, ["zone", "format", world.zone, "--json"])
    #expect(
      report == #"{"formatLevel":1,"highest":1,"tooOld":[],"zone":"\#(world.zone)"}"# + "\n")
  }

  @Test(
    "A store that may only read, by a token that is bound to it, goes on with a server that was put back"
  )
  func boundReader() throws {
    let world = try FaultWorld()
    let writer = try world.replica("writer")
    let token = try Self.operate(
      world, ["token", "create", "--zone", world.zone, "--verbs", "read", "--bind"])
    let reader = try Replica(
      "reader", in: world.directory, model: world.model, server: world.server, zone: world.zone,
      token: token.trimmingCharacters(in: .whitespacesAndNewlines))
    try writer.importLines([FaultWorld.insertion("before")])
    try writer.sync()
    try reader.sync()
    let copy = world.directory.file("copy")
    world.server.kill()
    try FileManager.default.copyItem(at: world.server.data, to: copy)
    try world.server.start()
    try writer.importLines([FaultWorld.insertion("lost")])
    try writer.sync()
    try reader.sync()
    #expect(try reader.export().contains("lost"))
    world.server.kill()
    try FileManager.default.removeItem(at: world.server.data)
    try FileManager.default.moveItem(at: copy, to: world.server.data)
    try world.server.start()
    // Nobody has brought back what the server lost: to the reader the zone is as the server has it, and what it held it keeps aside.
    try reader.sync()
    #expect(try !reader.export().contains("lost"))
    #expect(try reader.export().contains("before"))
    for replica in [writer, reader] { try replica.sync() }
    #expect(try reader.export() == writer.export())
    #expect(try reader.export().contains("lost"))
  }

  @Test("Who put a copy back by hand says so of zones, and takes what it lacks from the newer one")
  func putBackByHand() throws {
    let folder = try OperatorFolder(zones: ["a", "b"])
    func marked() throws -> [Bool?] {
      try folder.json(["zone", "list"]).map { $0["isPutBack"] as? Bool }
    }
    #expect(try marked() == [false, false])
    #expect(
      try folder.done(["zone", "put-back", "a"]).output
        == "zone a was put back: what replicas bring back after 0 is taken\n")
    #expect(try marked() == [true, false])
    #expect(try folder.done(["zone", "inspect", "a"]).output.contains("put back    until"))
    let all = try folder.json(["zone", "put-back", "--all"])
    #expect(all.map { $0["zone"] as? String } == ["a", "b"])
    #expect(try marked() == [true, true])
    let audit = try folder.done(["audit"]).output.split(separator: "\n")
    #expect(audit.count { $0.contains("zone-put-back") } == 2, "once a zone")
    for wrong in [[], ["a", "--all"]] {
      #expect(try folder.run(["zone", "put-back"] + wrong).status == 64)
    }
    #expect(try folder.run(["zone", "put-back", "c"]).errors.contains("there is no zone c"))
    let copy = folder.path("copy.sqlite")
    try folder.done(["backup", copy])
    #expect(
      try folder.done(["values", "take-from", copy]).output
        == "zone a: took 0 large values, 0 bytes\nzone b: took 0 large values, 0 bytes\n")
    let dry = try folder.json(["values", "take-from", copy, "--zone", "b", "--dry-run"])
    #expect(dry.map { $0["isDryRun"] as? Bool } == [true])
    #expect(try folder.run(["values", "take-from", folder.path("none")]).status != 0)
    let restored = try folder.json(["restore", copy, "--yes"])
    #expect(restored.first?["lackedValues"] as? Int == 0)
  }
}
