#if PostgreSQL
  import Foundation
  import TestSupport
  import Testing

  /// A database whose disk is full: its tables lie on a real one of a few megabytes.
  @Suite(
    "A full disk of PostgreSQL", .serialized,
    .enabled(
      if: SmallDisk.isPossible && geteuid() == 0,
      "This user may not mount a file system and start PostgreSQL on it."))
  struct PostgresFullDiskTests {
    private let directory: TemporaryDirectory
    private let disk: SmallDisk
    private let cluster: PostgresCluster
    private let node: ServerProcess
    private let model: URL
    private let token: String

    init() throws {
      directory = try TemporaryDirectory()
      disk = try SmallDisk(mebibytes: 24, at: directory.file("disk"))
      let space = disk.folder.appendingPathComponent("space")
      try disk.shell("mkdir -m 700 '\(space.path)'; chown \(PostgresCluster.user) '\(space.path)'")
      chmod(directory.url.path, 0o755)
      cluster = try PostgresCluster(script: disk.script)
      try cluster.execute("CREATE TABLESPACE small LOCATION '\(space.path)'")
      node = try ServerProcess(
        database: cluster.text(options: "-cdefault_tablespace=small"), zone: "shop")
      node.kill()
      node.logFile = directory.file("log")
      try node.start()
      token = try node.token(zone: "shop")
      model = try writeModel(EmbeddedReplica.model.xml, named: "Items", in: directory)
    }

    private func replica(_ name: String) throws -> Replica {
      try Replica(name, in: directory, model: model, server: node, zone: "shop", token: token)
    }

    private func write(_ replica: Replica, _ id: String) throws {
      var numbers = SystemRandomNumberGenerator()
      let text = (0..<20_000).map { _ in String(numbers.next(), radix: 36) }.joined()
      try replica.importLines([
        try jsonLine(["op": "insert", "entity": "Item", "id": id, "set": ["name": text]])
      ])
    }

    @Test("F10 A push for which the database has no room is refused with 507, and nothing is lost")
    func full() throws {
      defer { cluster.stop() }
      let writer = try replica("writer")
      try write(writer, "first")
      try writer.sync()
      try disk.fill()
      var acknowledged = 1
      var refused = Outcome(status: 0, output: "", errors: "")
      // What PostgreSQL has taken from the disk already has room for some.
      while refused.status == 0, acknowledged < 200 {
        try write(writer, "item \(acknowledged)")
        refused = try writer.attempt("sync")
        if refused.status == 0 { acknowledged += 1 }
      }
      #expect(refused.status == 75, "\(refused)")
      #expect(refused.errors.contains("the disk of the server's database is full"), "\(refused)")
      #expect(node.log.contains("No space left on device"), "\(node.log)")
      let head = try Programs.run("driftless-server", ["zone", "list", "--json"] + node.place)
      #expect(head.output.contains("\"head\":\(acknowledged),"), "\(head)")
      // Reads go on: all that was acknowledged is there.
      let reader = try replica("reader")
      try reader.sync()
      #expect(try reader.identities(of: "Item").count == acknowledged)
      // A node that is started meanwhile serves.
      node.kill()
      try node.start()
      #expect(try writer.attempt("sync").status == 75)
      try disk.empty()
      try writer.sync()
      try reader.sync()
      #expect(try reader.identities(of: "Item").count == acknowledged + 1)
      #expect(try reader.export() == writer.export())
      let verified = try Programs.run("driftless-server", ["verify"] + node.place)
      #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
      #expect(node.stop() == 0)
    }
  }
#endif
