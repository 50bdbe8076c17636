#if PostgreSQL
  import DriftlessSync
  import Foundation
  import TestSupport

  /// Two `driftless-server` of one PostgreSQL database, with a zone, a token for it and a model.
  struct PostgresNodes {
    let directory: TemporaryDirectory
    let cluster: PostgresCluster
    let nodes: [ServerProcess]
    let model: URL
    let token: String

    /// - Parameter limits: bounds of the nodes, as JSON.
    init(
      _ cluster: PostgresCluster? = nil, limits: String = "{}",
      model xml: String = EmbeddedReplica.model.xml
    ) throws {
      directory = try TemporaryDirectory()
      self.cluster = try cluster ?? PostgresCluster.shared()
      let database = try self.cluster.place()
      let file = directory.file("limits.json")
      try Data(limits.utf8).write(to: file)
      nodes = try [
        ServerProcess(database: database, zone: "shop"), ServerProcess(database: database),
      ]
      for node in nodes {
        node.kill()
        node.limits = file
        try node.start()
      }
      token = try nodes[0].token(zone: "shop")
      model = try writeModel(xml, named: "Items", in: directory)
    }

    /// What a client connects to the database with.
    var database: String { nodes[0].place[1] }

    /// A replica in this process.
    func embedded(
      _ name: String, at node: Int, _ options: SyncOptions = .init()
    ) async throws -> EmbeddedReplica {
      try await EmbeddedReplica(
        name, in: directory, model: model, server: nodes[node].address, zone: "shop",
        token: token, options: options)
    }

    /// Waits until a node has written down that who was there last has all of the log: it keeps that in memory for a minute, and
    /// writes it for who asks for its figures. Then nothing but the last entry keeps the floor of a purge down.
    func noted(at node: Int) throws {
      try eventually("it is written down where the last replica stands") {
        guard try nodes[node].figures().contains("driftless_zones") else { return false }
        return try cluster.execute(
          """
          SELECT asked = (SELECT head FROM zone) FROM sighting ORDER BY seen_ms DESC LIMIT 1
          """, on: database) == "t\n"
      }
    }

    func run(_ arguments: [String]) throws -> Outcome {
      try Programs.run("driftless-server", arguments + nodes[0].place)
    }
  }
#endif
