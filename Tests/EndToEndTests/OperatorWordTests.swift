import Foundation
import TestSupport
import Testing

/// What a person says to the programs where sync does not decide alone: a zone that is begun anew, a store that is told to
/// ask, and what could not be taken in. Errors name these commands, so they must lead on.
@Suite(.serialized) struct OperatorWordTests {
  private func id(_ number: Int) -> String {
    "00000000-0000-4000-8000-00000000000\(number)"
  }

  @Test("S2 zone renew: replicas bring back what they hold")
  func renewed() throws {
    let world = try FaultWorld()
    let replicas = [try world.replica("a"), try world.replica("b")]
    try replicas[0].importLines([FaultWorld.insertion(id(1))])
    try replicas.settle()
    try world.renew()
    try replicas.settle()
    for replica in replicas { #expect(try replica.identities(of: "Item") == [id(1)]) }
    #expect(try replicas[0].status()["pendingObjects"] as? Int ?? 0 == 0)
  }

  @Test(
    "S2 zone renew --replace: a store told to ask waits for sync --reconcile, and keeps an export")
  func replaced() throws {
    let world = try FaultWorld()
    let asking = try world.replica("asking")
    try asking.run(
      [
        "enroll", "--store", asking.store.path, "--server", world.server.address, "--zone",
        world.zone, "--on-diverged", "ask",
      ], environment: ["SYNCCTL_TOKEN": world.token])
    try asking.importLines([FaultWorld.insertion(id(1))])
    try asking.sync()
    let second = try world.replica("second")
    try second.sync()
    try asking.importLines([FaultWorld.insertion(id(2))])
    try world.renew(["--replace"])
    let fresh = try world.replica("fresh")
    try fresh.importLines([FaultWorld.insertion(id(3))])
    try fresh.sync()
    let waiting = try asking.attempt("sync")
    #expect(waiting.status != 0)
    #expect(waiting.errors.contains("syncctl sync --reconcile"), "\(waiting.errors)")
    #expect(try Set(asking.identities(of: "Item")) == [id(1), id(2)], "nothing is taken away yet")
    let done = try asking.attempt("sync", ["--reconcile"])
    #expect(done.status == 0, "\(done.errors)")
    #expect(try asking.identities(of: "Item") == [id(3)])
    func export(of replica: Replica) throws -> URL {
      let names = try FileManager.default.contentsOfDirectory(atPath: replica.folder.path)
      return replica.folder.appending(path: try #require(names.first { $0.contains(".before-") }))
    }
    let kept = try String(contentsOf: export(of: asking), encoding: .utf8)
    #expect(kept.contains(id(1)) && kept.contains(id(2)))
    let conflicts = try asking.run(["conflicts", "--store", asking.store.path])
    #expect(conflicts.contains(id(2)), "\(conflicts)")
    #expect(!conflicts.contains(id(1)), "the zone had that one: \(conflicts)")
    // What was kept can be brought back, by a person.
    try second.sync()
    for replica in [asking, second] {
      try replica.run(["import", "--store", replica.store.path, export(of: replica).path])
      try [asking, second, fresh].settle()
      #expect(try Set(fresh.identities(of: "Item")) == [id(1), id(2), id(3)])
    }
  }

  @Test("parked list, show and retry: an entity that this model does not have yet")
  func parked() throws {
    let world = try FaultWorld()
    let ahead = try world.replicaAhead()
    let behind = try world.replica("behind")
    try ahead.importLines([
      #"{"op":"insert","entity":"Extra","id":"\#(id(1))","set":{"name":"extra"}}"#,
      FaultWorld.insertion(id(2)),
    ])
    try ahead.sync()
    let synced = try behind.attempt("sync")
    #expect(synced.status == 0)
    #expect(
      synced.output.contains("set aside 1 (syncctl parked --store \(behind.store.path))"),
      "\(synced)")
    #expect(try behind.identities(of: "Item") == [id(2)], "the rest is taken in")
    let status = try behind.run(["status", "--store", behind.store.path])
    #expect(status.contains("1 entry of the zone could not be taken in"), "\(status)")
    let list = try behind.run(["parked", "list", "--store", behind.store.path])
    #expect(list.contains("Extra"), "\(list)")
    let shown = try behind.run(["parked", "show", "--store", behind.store.path, "1"])
    #expect(shown.contains("Extra"), "\(shown)")
    let wrong = try Programs.run(
      "syncctl", ["parked", "show", "--store", behind.store.path, "9"])
    #expect(wrong.status == 65)
    #expect(wrong.errors.contains("syncctl parked --store"), "\(wrong.errors)")
    let retried = try behind.run(["parked", "retry", "--store", behind.store.path])
    #expect(retried.contains("1 entry"), "\(retried)")
    try behind.sync()
    #expect(try behind.run(["parked", "--store", behind.store.path]).contains("Extra"))
  }

  @Test("enroll --anew: a store whose record of its zone is damaged goes on as the check says")
  func anew() throws {
    let world = try FaultWorld()
    let (damaged, other) = (try world.replica("damaged"), try world.replica("other"))
    try damaged.importLines([FaultWorld.insertion(id(1))])
    try [damaged, other].settle()
    try damaged.importLines([FaultWorld.insertion(id(2))])
    try SQLiteFile.damage(damaged.store, "UPDATE ZDL_REPLICA SET chain = x'00'")
    #expect(try damaged.attempt("sync").status != 0)
    let check = try Programs.run("syncctl", ["store", "check", damaged.store.path])
    #expect(check.status == 65)
    #expect(check.output.contains("syncctl enroll --anew"), "\(check.output)")
    #expect(!check.output.contains("syncctl store check"), "\(check.output)")
    let enrol = [
      "enroll", "--store", damaged.store.path, "--server", world.server.address, "--zone",
    ]
    let token = ["SYNCCTL_TOKEN": world.token]
    let plain = try Programs.run("syncctl", enrol + [world.zone], environment: token)
    #expect(plain.errors.contains("syncctl enroll --anew"), "\(plain)")
    // What is advised can be typed as it stands: the server, the zone and the token are known.
    try damaged.run(["enroll", "--anew", "--store", damaged.store.path])
    try damaged.expectSound("anew")
    try [damaged, other].settle()
    for replica in [damaged, other] {
      #expect(try Set(replica.identities(of: "Item")) == [id(1), id(2)])
    }
  }

  @Test("enroll: the zone's address is told from the server's, and a token may come by a pipe")
  func enrolling() throws {
    let world = try FaultWorld()
    let replica = try world.replica("a")
    let enrol = ["enroll", "--store", replica.store.path, "--zone", world.zone, "--server"]
    let wrong = try Programs.run("syncctl", enrol + ["\(world.server.address)/v1/zones/x"])
    #expect(wrong.status == 64, "\(wrong)")
    #expect(wrong.errors.contains("--server \(world.server.address) --zone"), "\(wrong.errors)")
    // Enrolled once, its token lies beside it.
    let again = try Programs.run("syncctl", enrol + [world.server.address])
    #expect(again.status == 0, "\(again)")
    let piped = try Programs.run(
      "syncctl", enrol + [world.server.address, "--token-file", "-"],
      environment: ["TOKEN": world.token], script: #"printf '%s\n' "$TOKEN" | "$0" "$@""#)
    #expect(piped.status == 0, "\(piped)")
    let empty = try Programs.run(
      "syncctl", enrol + [world.server.address, "--token-file", "-"], script: #": | "$0" "$@""#)
    #expect(empty.status != 0, "\(empty)")
    let proxied = try Programs.run(
      "syncctl", ["sync", "--store", replica.store.path],
      environment: ["http_proxy": "http://127.0.0.1:1", "no_proxy": ""])
    #expect(proxied.errors.contains("http_proxy names a proxy"), "\(proxied)")
    let retried = try Programs.run(
      "syncctl",
      ["quarantine", "retry", "--store", replica.store.path, "Item/\(id(1))"])
    // It is read, and is not there.
    #expect(retried.errors.contains("\(id(1)) is not in quarantine"), "\(retried)")
  }
}
