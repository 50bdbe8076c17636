import DriftlessHTTP
import DriftlessSync
import Foundation
import TestSupport
import Testing

/// What tests of faults have in common: a zone with its server as a program, and replicas of one model in it.
struct FaultWorld {
  let directory: TemporaryDirectory
  let model: URL
  let server: ServerProcess
  let zone = "items"
  let token: String

  init() throws {
    directory = try TemporaryDirectory()
    model = try writeModel(EmbeddedReplica.model.xml, named: "Items", in: directory)
    server = try ServerProcess(data: directory.file("server"), zone: zone)
    token = try server.token(zone: zone)
  }

  /// A replica that `syncctl` keeps.
  func replica(_ name: String) throws -> Replica {
    try Replica(name, in: directory, model: model, server: server, zone: zone, token: token)
  }

  /// A replica whose model has an entity more, `Extra`, than the others'.
  func replicaAhead() throws -> Replica {
    var newer = EmbeddedReplica.model
    newer.entities.append(.init(name: "Extra", attributes: [("name", "String", nil)]))
    return try Replica(
      "ahead", in: directory, model: writeModel(newer.xml, named: "Newer", in: directory),
      server: server, zone: zone, token: token)
  }

  /// A world whose zone has a log of twelve entries, and who wrote them.
  static func withLog() async throws -> (FaultWorld, EmbeddedReplica) {
    let world = try FaultWorld()
    let writer = try await world.embedded("writer")
    for number in 0..<12 {
      try writer.count("item\(number)")
      _ = try await writer.engine.sync()
    }
    return (world, writer)
  }

  /// A replica in this process.
  ///
  /// - Parameter route: where its requests go to; the server itself unless given.
  func embedded(
    _ name: String, route: String? = nil, _ change: (inout TransportOptions) -> Void = { _ in }
  ) async throws -> EmbeddedReplica {
    try await EmbeddedReplica(
      name, in: directory, model: model, server: server.address, route: route, zone: zone,
      token: token, change)
  }

  /// Begins the zone anew, as an operator does.
  func renew(
    _ arguments: [String] = [], sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let outcome = try Programs.run(
      "driftless-server", ["zone", "renew", zone, "--yes", "--data", server.data.path] + arguments)
    #expect(outcome.status == 0, "\(outcome.errors)", sourceLocation: sourceLocation)
    #expect(outcome.output.contains("renewed zone \(zone)"), sourceLocation: sourceLocation)
  }

  /// A line of an import that makes an object.
  static func insertion(_ id: String) -> String {
    #"{"op":"insert","entity":"Item","id":"\#(id)","set":{"name":"\#(id)"}}"#
  }
}
