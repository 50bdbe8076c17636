#if PostgreSQL
  import Foundation
  import TestSupport
  import Testing

  /// A node that is stopped, as the host of a virtual machine stops one, and goes on when it was taken to be dead.
  extension PostgresNodesTests {
    @Test(
      "F67 A node that is stopped within a push's transaction leaves the zone to others, and nothing of that transaction comes late"
    )
    func pausedPush() throws {
      let world = try PostgresNodes(limits: #"{"databaseSeconds": 15}"#)
      let first = try world.replica("first", at: 0)
      let second = try world.replica("second", at: 1)
      try first.importLines(try Self.insertions(["before"]))
      try first.sync()
      try second.sync()
      let node = world.nodes[0]
      node.kill()
      node.logFile = world.directory.file("first.log")
      try node.start()
      // Both change one object: who comes second is stale.
      let id = try #require(try second.identities(of: "Item").first)
      func rename(_ name: String) throws -> [String] {
        try [jsonLine(["op": "update", "entity": "Item", "id": id, "set": ["name": name]])]
      }
      try world.cluster.execute(
        """
        CREATE TABLE gate(open boolean);
        CREATE FUNCTION waits() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          WHILE NOT EXISTS (SELECT FROM gate) LOOP PERFORM pg_sleep(0.05); END LOOP;
          RETURN NEW; END $$;
        CREATE TRIGGER waits BEFORE INSERT ON log FOR EACH ROW EXECUTE FUNCTION waits();
        """, on: world.database)
      try first.importLines(rename("of the node that is stopped"))
      let push = try Self.begin(sync: first)
      try eventually(within: 60, "the push waits within its transaction") {
        try world.cluster.execute(
          "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") != "0\n"
      }
      try node.pause()
      defer { node.resume() }
      // Who sent it is gone as well.
      kill(push.processIdentifier, SIGKILL)
      push.waitUntilExit()
      // Its statement ends, and the transaction stays open with the zone's row: nobody is there to commit it.
      try world.cluster.execute("INSERT INTO gate VALUES(true)", on: world.database)
      try second.importLines(rename("of the other"))
      try eventually(within: 120, "another node writes to the zone") {
        try second.attempt("sync").status == 0
      }
      func log() throws -> String {
        try world.cluster.execute(
          "SELECT string_agg(digest::text, ',' ORDER BY sequence) FROM log", on: world.database)
      }
      let written = try log()
      #expect(written.split(separator: ",").count == 2)
      node.resume()
      try eventually(within: 60, "the node that was stopped is through with the push") {
        node.log.contains("POST /v1/zones/")
      }
      #expect(try log() == written, "nothing came late: \(node.log)")
      // What was not acknowledged is settled with what the other wrote, and sent by the same node.
      try first.sync()
      try [first, second].settle()
      #expect(try first.export() == second.export())
      let verified = try world.run(["verify"])
      #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
    }
  }
#endif
