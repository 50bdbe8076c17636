#if PostgreSQL
  import DriftlessSync
  import Foundation
  import TestSupport
  import Testing

  /// Several `driftless-server` of one PostgreSQL database, with stores of `syncctl` and `syncd` at each.
  @Suite("Nodes of one database", .serialized) struct PostgresNodesTests {
    static func insertions(_ names: [String]) throws -> [String] {
      try names.map {
        try jsonLine([
          "op": "insert", "entity": "Item", "id": UUID().uuidString, "set": ["name": $0],
        ])
      }
    }

    static func begin(sync replica: Replica) throws -> Process {
      let process = Process()
      process.executableURL = Programs.url("syncctl")
      process.arguments = ["sync", "--store", replica.store.path]
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.run()
      return process
    }

    @Test(
      "F67 A node that is killed while replicas push takes nothing with it: the other goes on, and all come to the same"
    )
    func killedNode() throws {
      let world = try PostgresNodes()
      let replicas = try (0..<4).map { try world.replica("r\($0)", at: $0 % 2) }
      var made: Set<String> = []
      for round in 0..<5 {
        for (place, replica) in replicas.enumerated() {
          let names = (0..<40).map { "item-\(round)-\(place)-\($0)" }
          made.formUnion(names)
          // Some transactions a replica, so that a kill may fall between the pushes of them.
          for start in stride(from: 0, to: names.count, by: 10) {
            try replica.importLines(try Self.insertions(Array(names[start..<start + 10])))
          }
        }
        let killed = round % 2
        let pushes = try replicas.map { try Self.begin(sync: $0) }
        // Where the kill lands is chance; what must hold afterwards holds wherever it lands.
        usleep(UInt32(20_000 * (1 + round)))
        world.nodes[killed].kill()
        for (place, push) in pushes.enumerated() {
          push.waitUntilExit()
          guard place % 2 != killed else { continue }
          #expect(push.terminationStatus == 0, "round \(round): replica \(place) has its node")
        }
        // While it is away the others push and pull.
        for (place, replica) in replicas.enumerated() where place % 2 != killed {
          try replica.sync()
        }
        try world.nodes[killed].start()
      }
      try replicas.settle()
      let exports = try replicas.map { try $0.export() }
      #expect(Set(exports).count == 1)
      let names = try replicas[0].names()
      #expect(names.count == made.count, "nothing twice")
      #expect(Set(names) == made, "nothing is lost")
      for replica in replicas {
        let pending = try replica.status()["pending"] as? [String: Any]
        #expect(pending?["objects"] as? Int == 0)
      }
      let verified = try Programs.run(
        "driftless-server", ["verify"] + world.nodes[0].place)
      #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
    }

    @Test("F67 A daemon at one node hears at once of what is pushed at another")
    func news() throws {
      // By notification alone: looks at the zones come later than the test waits.
      let world = try PostgresNodes(limits: #"{"watchSeconds": 3600}"#)
      let replicas = try (0..<2).map { try world.replica("r\($0)", at: $0) }
      let daemons = try replicas.map {
        try DaemonProcess(stores: [$0.store], in: $0.folder)
      }
      for step in 0..<3 {
        let (from, to) = (replicas[step % 2], replicas[(step + 1) % 2])
        try from.importLines(try Self.insertions(["step \(step)"]))
        // A long poll lasts 50 seconds.
        try eventually(within: 40, "step \(step) came to the other node's replica") {
          try to.names().contains("step \(step)")
        }
      }
      for daemon in daemons { #expect(daemon.stop() == 0) }
    }

    @Test("A backup is made while a node serves, and put back, by the commands of the manual")
    func manual() throws {
      let blocks = try PageShell(path: "Sources/Driftless/Driftless.docc/ServerManual.md").blocks
      let block = try #require(
        blocks.first { $0.language == "console" && $0.text.contains("ALTER SCHEMA") })
      let steps = block.text.split(separator: "\n").map(String.init)
      #expect(steps.count == 3)
      let cluster = try PostgresCluster.shared()
      try cluster.execute("CREATE DATABASE manual")
      let database = cluster.text(database: "manual").replacingOccurrences(
        of: " options=''", with: "")
      let directory = try TemporaryDirectory()
      func run(_ step: String) throws {
        let command = step.replacingOccurrences(
          of: "host=db dbname=driftless user=driftless", with: database
        ).replacingOccurrences(of: "/backup/", with: directory.url.path + "/")
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-ec", command]
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        shell.environment = ProcessInfo.processInfo.environment.merging([
          "PATH": "\(Programs.folder.path):\(path)"
        ]) { $1 }
        shell.standardOutput = FileHandle.nullDevice
        try shell.run()
        shell.waitUntilExit()
        #expect(shell.terminationStatus == 0, "\(command)")
      }
      let model = try writeModel(EmbeddedReplica.model.xml, named: "Items", in: directory)
      let node = try ServerProcess(database: database, zone: "shop")
      let token = try node.token(zone: "shop")
      let replicas = try ["a", "b"].map {
        try Replica(
          $0, in: directory, model: model, server: node, zone: "shop", token: token)
      }
      try replicas[0].importLines(try Self.insertions(["before the backup"]))
      try replicas.settle()
      try run(steps[0])
      try replicas[1].importLines(try Self.insertions(["after it"]))
      try replicas.settle()
      // Not over what is there, nor while a node serves.
      let served = try Programs.run(
        "driftless-server",
        ["restore", directory.file("driftless-1.sqlite").path, "--yes"] + node.place)
      #expect(served.status == 75, "\(served.errors)")
      node.kill()
      for step in steps.dropFirst() { try run(step) }
      try node.start()
      // They bring back what it lacks.
      try replicas.settle()
      #expect(try Set(replicas.map { try $0.export() }).count == 1)
      #expect(try Set(replicas[0].names()) == ["before the backup", "after it"])
      let verified = try Programs.run("driftless-server", ["verify"] + node.place)
      #expect(verified.status == 0 && verified.output == "whole: 1 zone, 2 entries\n")
      let audit = try Programs.run("driftless-server", ["audit", "--since", "1h"] + node.place)
      #expect(audit.output.contains("\trestored\t-\tdriftless-1.sqlite\t"), "\(audit.output)")
    }

    @Test("What one node adds up, a new replica joins by at another, and is compared with")
    func snapshots() throws {
      let world = try PostgresNodes(limits: #"{"foldLogBytesMin": 1000}"#)
      let writer = try world.replica("writer", at: 0)
      var rounds = 0
      // They fold beside their work; so many rounds are enough for slow ones.
      while try !world.listed().contains("\tsnapshot "), rounds < 200 {
        rounds += 1
        try writer.importLines(try Self.insertions((0..<40).map { "item \(rounds)-\($0)" }))
        try writer.sync()
      }
      var folded = try world.fold(at: 0)
      // A node may be at it, and ends.
      while folded.status == 75, rounds < 400 {
        rounds += 1
        folded = try world.fold(at: 0)
      }
      #expect(folded.status == 0, "\(folded.errors)")
      for node in 0..<2 {
        let newcomer = try world.replica("new at \(node)", at: node)
        try newcomer.sync()
        #expect(try newcomer.export() == writer.export())
        let entries = try SQLiteFile.number("SELECT count(*) FROM ZDL_FRAME", in: newcomer.store)
        #expect(entries == 0, "it did not read the log")
        let verified = try newcomer.run(["verify", "--store", newcomer.store.path])
        #expect(verified.hasPrefix("equal: "), "\(verified)")
      }
    }

    @Test("A node that is killed while it folds leaves the zone's fold to another")
    func killedFold() throws {
      let world = try PostgresNodes(limits: #"{"foldLogBytesMin": 1}"#)
      let database = world.nodes[0].place[1]
      try world.cluster.execute(
        """
        CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          PERFORM pg_sleep(600); RETURN NEW; END $$;
        CREATE TRIGGER slowly BEFORE INSERT ON segment FOR EACH ROW EXECUTE FUNCTION slowly();
        """, on: database)
      let writer = try world.replica("writer", at: 0)
      try writer.importLines(try Self.insertions((0..<40).map { "item \($0)" }))
      try writer.sync()
      let sleeping = "FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
      try eventually(within: 60, "the node writes a file of its fold") {
        try world.cluster.execute("SELECT count(*) \(sleeping)") != "0\n"
      }
      world.nodes[0].kill()
      try world.cluster.execute("SELECT pg_terminate_backend(pid) \(sleeping)")
      try world.cluster.execute("DROP TRIGGER slowly ON segment", on: database)
      let refused = try world.fold(at: 1)
      #expect(refused.status == 75)
      #expect(refused.errors.contains("another process folds the zone shop"), "\(refused.errors)")
      // What it held ends by itself.
      try eventually(within: 120, "another folds") { try world.fold(at: 1).status == 0 }
      let newcomer = try world.replica("new", at: 1)
      try newcomer.sync()
      #expect(try newcomer.export() == writer.export())
      let entries = try SQLiteFile.number("SELECT count(*) FROM ZDL_FRAME", in: newcomer.store)
      #expect(entries == 0)
    }

    @Test("A large value goes on where it was at a node that is killed, and comes from the other")
    func values() throws {
      let world = try PostgresNodes(
        limits: #"{"valueBytesMax": 67108864}"#,
        model: """
          <?xml version="1.0" encoding="UTF-8"?>
          <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
            <entity name="Photo">
              <attribute name="bytes" optional="YES" attributeType="Binary"/>
            </entity>
          </model>
          """)
      let database = world.nodes[0].place[1]
      let third = 2 << 20
      try world.cluster.execute(
        """
        CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF NEW.first = \(third) THEN PERFORM pg_sleep(600); END IF; RETURN NEW; END $$;
        CREATE TRIGGER slowly BEFORE INSERT ON value_piece FOR EACH ROW EXECUTE FUNCTION slowly();
        """, on: database)
      let writer = try world.replica("writer", at: 0)
      let bytes = Data((0..<(5 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 / 7) })
      let line = try jsonLine([
        "op": "insert", "entity": "Photo", "id": UUID().uuidString,
        "set": ["bytes": bytes.base64EncodedString()],
      ])
      try writer.importLines([line])
      let push = try Self.begin(sync: writer)
      let sleeping = "FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
      try eventually(within: 60, "the third piece is written") {
        try world.cluster.execute("SELECT count(*) \(sleeping)") != "0\n"
      }
      world.nodes[0].kill()
      try world.cluster.execute("SELECT pg_terminate_backend(pid) \(sleeping)")
      push.waitUntilExit()
      try world.cluster.execute("DROP TRIGGER slowly ON value_piece", on: database)
      #expect(try world.cluster.execute("SELECT held FROM value", on: database) == "\(third)\n")
      let since = "SELECT xmin FROM value_piece WHERE first = 0"
      let first = try world.cluster.execute(since, on: database)
      try world.nodes[0].start()
      try writer.sync()
      #expect(try world.cluster.execute(since, on: database) == first, "it was not sent again")
      let reader = try world.replica("reader", at: 1)
      try reader.sync()
      #expect(try reader.export() == writer.export())
      #expect(try reader.export().contains(bytes.base64EncodedString()))
      let verified = try Programs.run("driftless-server", ["verify"] + world.nodes[1].place)
      #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
    }

    @Test("A transaction in parts goes to one node and comes from the other, whole")
    func parts() async throws {
      let world = try PostgresNodes()
      var options = SyncOptions()
      options.partObjectsMax = 10
      let writer = try await world.embedded("writer", at: 0, options)
      let reader = try await world.embedded("reader", at: 1, options)
      try writer.addItems((0..<95).map { "item \($0)" })
      _ = try await writer.engine.sync()
      _ = try await reader.engine.sync()
      #expect(try reader.export == writer.export)
      #expect(try reader.export.split(separator: "\n").count == 95)
      let heads = try Programs.run(
        "driftless-server", ["zone", "list", "--json"] + world.nodes[0].place)
      #expect(heads.output.contains(#""head":10,"#), "ten parts: \(heads.output)")
    }
  }

  extension PostgresNodes {
    func replica(_ name: String, at node: Int) throws -> Replica {
      try Replica(
        name, in: directory, model: model, server: nodes[node], zone: "shop", token: token)
    }

    fileprivate func fold(at node: Int) throws -> Outcome {
      try Programs.run("driftless-server", ["zone", "fold", "shop"] + nodes[node].place)
    }

    fileprivate func listed() throws -> String {
      try Programs.run("driftless-server", ["zone", "list"] + nodes[0].place).output
    }
  }

  extension Replica {
    fileprivate func names() throws -> [String] {
      let lines = try run(["export", "--store", store.path, "--entity", "Item"])
      return try lines.split(separator: "\n").compactMap {
        let object = try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        return (object?["set"] as? [String: Any])?["name"] as? String ?? object?["name"] as? String
      }
    }
  }
#endif
