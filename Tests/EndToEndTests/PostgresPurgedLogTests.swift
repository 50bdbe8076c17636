#if PostgreSQL
  import DriftlessSync
  import Foundation
  import TestSupport
  import Testing

  /// `driftless-server zone purge --postgres` beside nodes that serve the zone.
  @Suite("A purged log in PostgreSQL", .serialized) struct PostgresPurgedLogTests {
    @Test(
      "F54 A replica below the floor, with edits of its own, goes on by the snapshot at any node and loses nothing"
    )
    func belowTheFloor() async throws {
      let world = try PostgresNodes()
      let writer = try await world.embedded("writer", at: 0)
      let away = try await world.embedded("away", at: 1)
      try writer.count("seen by both")
      _ = try await writer.engine.sync()
      _ = try await away.engine.sync()
      // What is made here while the zone goes on: an object, and an edit of one that all have.
      try away.count("made while away")
      for number in 0..<12 {
        try writer.count("item\(number)")
        _ = try await writer.engine.sync()
      }
      let options = ["zone", "purge", "shop", "--keep-days", "0", "--replica-days", "0"]
      // Who was there last has all, so it keeps the floor nowhere that another one has not.
      try world.noted(at: 0)
      let untried = try world.run(options)
      #expect(untried.status == 1 && untried.errors.contains("--tried"), "\(untried)")
      let done = try world.run(options + ["--tried"])
      #expect(done.status == 0, "\(done.errors)")
      #expect(done.output.hasPrefix("purged zone shop up to 12 of 13, "), "\(done.output)")
      #expect(try world.run(["zone", "list"]).output.contains("\tfloor 12"))
      let gone = try world.cluster.execute(
        "SELECT count(*) FROM log WHERE sequence <= 12", on: world.database)
      #expect(gone == "0\n")
      _ = try await away.engine.sync()
      let newcomer = try await world.embedded("newcomer", at: 1)
      _ = try await newcomer.engine.sync()
      try writer.count("after the purge")
      for replica in [writer, away, newcomer, writer] { _ = try await replica.engine.sync() }
      let export = try writer.export
      for replica in [away, newcomer] {
        _ = try await replica.engine.sync()
        #expect(try replica.export == export, "\(replica.name)")
        #expect(try replica.pendingObjects == 0, "\(replica.name)")
      }
      for name in ["seen by both", "made while away", "item11", "after the purge"] {
        #expect(export.contains(name), "\(name)")
      }
      // One count each of 15 saves, those of the replica that was below the floor among them.
      #expect(try writer.shared == 15)
      let verified = try world.run(["verify"])
      #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
    }

    @Test("A purge that is killed at its floor is ended by the next one; nodes serve all the while")
    func killed() async throws {
      let world = try PostgresNodes()
      let writer = try await world.embedded("writer", at: 0)
      for number in 0..<12 {
        try writer.count("item\(number)")
        _ = try await writer.engine.sync()
      }
      try world.noted(at: 0)
      // The floor is set, and nothing has gone yet.
      try world.cluster.execute(
        """
        CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          PERFORM pg_sleep(600); RETURN NULL; END $$;
        CREATE TRIGGER slowly AFTER INSERT ON purged FOR EACH STATEMENT EXECUTE FUNCTION slowly();
        """, on: world.database)
      let purge = Process()
      purge.executableURL = Programs.url("driftless-server")
      purge.arguments =
        ["zone", "purge", "shop", "--keep-days", "0", "--replica-days", "0", "--tried"]
        + world.nodes[0].place
      purge.standardOutput = FileHandle.nullDevice
      purge.standardError = FileHandle.nullDevice
      try purge.run()
      let sleeping = "FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
      try eventually(within: 60, "the purge takes entries away") {
        try world.cluster.execute("SELECT count(*) \(sleeping)") != "0\n"
      }
      kill(purge.processIdentifier, SIGKILL)
      purge.waitUntilExit()
      try world.cluster.execute("SELECT pg_terminate_backend(pid) \(sleeping)")
      try world.cluster.execute("DROP TRIGGER slowly ON purged", on: world.database)
      let left = try world.cluster.execute("SELECT count(*) FROM log", on: world.database)
      #expect(left == "12\n")
      #expect(try world.run(["verify"]).status == 0)
      let newcomer = try await world.embedded("newcomer", at: 1)
      _ = try await newcomer.engine.sync()
      #expect(try newcomer.export == writer.export)
      let options = ["zone", "purge", "shop", "--keep-days", "0", "--replica-days", "0", "--tried"]
      try eventually(within: 120, "what the killed one held ends by itself") {
        try world.run(options).status == 0
      }
      let kept = try world.cluster.execute("SELECT count(*) FROM log", on: world.database)
      #expect(kept == "1\n")
      #expect(try world.run(["verify"]).status == 0)
    }
  }
#endif
