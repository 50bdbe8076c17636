#if PostgreSQL
  import Foundation
  import TestSupport
  import Testing

  /// A primary that is gone, and its standby that takes over without the primary's last pushes.
  @Suite("A standby that takes over", .serialized) struct PostgresStandbyTests {
    private struct World {
      let directory: TemporaryDirectory
      let primary: PostgresCluster
      let standby: PostgresCluster
      let node: ServerProcess
      let replicas: [Replica]
      /// What was acknowledged to somebody.
      let acknowledged: Set<String>

      /// Three replicas are in step; then two read what the standby does not have, and the third one pushes what nobody reads.
      init() throws {
        directory = try TemporaryDirectory()
        primary = try PostgresCluster()
        standby = try PostgresCluster(standbyOf: primary)
        let place = "dbname=postgres user=driftless target_session_attrs=read-write"
        node = try ServerProcess(
          database: "host=\(primary.host),\(standby.host) \(place)", zone: "shop")
        let token = try node.token(zone: "shop")
        let model = try writeModel(EmbeddedReplica.model.xml, named: "Items", in: directory)
        let (directory, node) = (directory, node)
        replicas = try ["a", "b", "c"].map {
          try Replica($0, in: directory, model: model, server: node, zone: "shop", token: token)
        }
        try replicas[0].insert(["first", "second"])
        try replicas.settle()
        let (primary, standby) = (primary, standby)
        try eventually(within: 60, "the standby has all") { try standby.hasAll(of: primary) }
        try standby.suspend()
        try replicas[0].insert(["read by b"])
        try replicas[0].sync()
        try replicas[1].sync()
        try replicas[2].insert(["known to c alone"])
        try replicas[2].sync()
        acknowledged = ["first", "second", "read by b", "known to c alone"]
      }

      /// The primary is gone, and the standby takes its place. The node goes on by itself.
      func failOver() throws {
        primary.stop()
        try standby.resume()
        try standby.promote()
        let first = replicas[0]
        try eventually(within: 120, "the node finds the new primary") {
          try first.attempt("sync").status == 0
        }
      }

      func stop() {
        node.kill()
        primary.stop()
        standby.stop()
      }
    }

    private func expectAll(
      of names: Set<String>, in world: World, _ location: SourceLocation = #_sourceLocation
    ) throws {
      try world.replicas.settle()
      let exports = try world.replicas.map { try $0.export() }
      #expect(Set(exports).count == 1, "all are in step", sourceLocation: location)
      let found = try world.replicas[0].itemNames()
      #expect(found.sorted() == names.sorted(), "nothing lost or twice", sourceLocation: location)
      for replica in world.replicas {
        let pending = try replica.status()["pending"] as? [String: Any]
        #expect(pending?["objects"] as? Int == 0, sourceLocation: location)
      }
      let verified = try Programs.run("driftless-server", ["verify"] + world.node.place)
      #expect(
        verified.status == 0, "\(verified.output)\(verified.errors)", sourceLocation: location)
    }

    @Test("F65 A standby that takes over without the last pushes gets them back from who has them")
    func promoted() throws {
      let world = try World()
      defer { world.stop() }
      try world.failOver()
      // The places in the log that c knows are others' by the time that it comes.
      try world.replicas[1].insert(["after it"])
      try Array(world.replicas[..<2]).settle()
      try expectAll(of: world.acknowledged.union(["after it"]), in: world)
    }

    @Test("F66 An old primary that is served again is found by the chain, and takes nothing away")
    func returned() throws {
      let world = try World()
      defer { world.stop() }
      try world.failOver()
      try world.replicas[1].insert(["on the new one"])
      try Array(world.replicas[..<2]).settle()
      world.node.kill()
      // As it was left: a primary that knows of no other.
      try world.primary.resume()
      let old = ServerProcess(
        database: "host=\(world.primary.host) dbname=postgres user=driftless",
        at: world.node.address)
      try old.start()
      try world.replicas[2].insert(["made at the old one"])
      for replica in world.replicas { try replica.syncAtAnyServer() }
      old.kill()
      world.primary.stop()
      try world.node.start()
      for replica in world.replicas { try replica.syncAtAnyServer() }
      try expectAll(
        of: world.acknowledged.union(["on the new one", "made at the old one"]), in: world)
    }
  }

  extension Replica {
    fileprivate func insert(_ names: [String]) throws {
      try importLines(
        names.map {
          try jsonLine([
            "op": "insert", "entity": "Item", "id": UUID().uuidString, "set": ["name": $0],
          ])
        })
    }

    /// Syncs; where the log is another one for the second time within a day, somebody has looked, and says so.
    fileprivate func syncAtAnyServer() throws {
      let outcome = try attempt("sync")
      guard outcome.status != 0 else { return }
      #expect(outcome.errors.contains("syncctl sync --reconcile"), "\(outcome.errors)")
      try run(["sync", "--reconcile", "--store", store.path])
    }

    fileprivate func itemNames() throws -> [String] {
      let lines = try run(["export", "--store", store.path, "--entity", "Item"])
      return try lines.split(separator: "\n").compactMap {
        let object = try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        return (object?["set"] as? [String: Any])?["name"] as? String ?? object?["name"] as? String
      }
    }
  }
#endif
