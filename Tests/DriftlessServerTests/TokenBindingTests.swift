import DriftlessProtocol
import DriftlessSQLite
import DriftlessServer
import Foundation
import TestSupport
import Testing

/// Tokens that are bound to the replica that uses them first.
@Suite("Bound tokens") struct TokenBindingTests {
  private static func token(of server: LiveServer, bound: Bool = true) throws -> AccessToken {
    let administration = try Administration(folder: DataFolder(server.data))
    defer { administration.close() }
    return try administration.createToken(
      zone: "shop", verbs: [.read, .write], label: "till 3", binds: bound)
  }

  @Test(
    "The replica that pushes or pulls first has the token; another is refused, and told what to do")
  func first() async throws {
    try await withServer { server in
      let token = try Self.token(of: server)
      let zone = try await server.zone()
      var maker = FrameMaker(zone)
      // Who asks what the zone is says no replica, and is not bound by it.
      #expect(
        try await server.request("GET", "/v1/zones/shop", token: token.text).status == 200)
      #expect(try await server.push(maker.insert(1), token: token).status == 200)
      maker.cursor = try await server.cursor(at: 1)
      #expect(try await server.push(maker.insert(1), token: token).status == 200)
      var other = FrameMaker(try await server.zone())
      let refused = try await server.push(other.insert(1), token: token)
      #expect((refused.status, refused.code) == (403, "token-bound"))
      let text = String(decoding: refused.body, as: UTF8.self)
      #expect(text.contains("driftless-server token rotate \(token.id)"), "\(text)")
      #expect(try await server.zone().head == 2)
      // Pulls say who asks, and pieces of values.
      #expect(
        try await server.pull(after: 0, "&replica=\(maker.replica)", token: token).entries.count
          == 2)
      await #expect(throws: LiveServer.Refused(status: 403, code: "token-bound")) {
        _ = try await server.pull(after: 0, "&replica=\(other.replica)", token: token)
      }
      // Who does not say which replica asks is not it.
      let unsaid = LiveServer.Refused(status: 403, code: "token-bound")
      await #expect(throws: unsaid) { _ = try await server.pull(after: 0, token: token) }
      // Another token opens the zone to the other one, and an unbound one to all.
      let fresh = try Self.token(of: server)
      await #expect(throws: unsaid) { _ = try await server.pull(after: 0, token: fresh) }
      _ = try await server.pull(after: 0, "&replica=\(other.replica)", token: fresh)
      await #expect(throws: LiveServer.Refused(status: 403, code: "token-bound")) {
        _ = try await server.pull(after: 0, "&replica=\(maker.replica)", token: fresh)
      }
      let free = try Self.token(of: server, bound: false)
      for replica in [maker.replica, other.replica] {
        _ = try await server.pull(after: 0, "&replica=\(replica)", token: free)
      }
    }
  }

  @Test("A part of a push is refused as a whole one is")
  func parts() async throws {
    try await withServer { server in
      let token = try Self.token(of: server)
      _ = try await server.pull(after: 0, "&replica=\(UUID())", token: token)
      let zone = try await server.zone()
      let cursor = Cursor(generation: zone.generation, sequence: 0, chain: zone.chain)
      let header = ChangeSetHeader(
        replica: UUID(), pushNumber: 1, cursor: cursor, part: 1, parts: 2)
      let frame = try ChangeSetEncoder().encode(
        ChangeSet(header: header, index: ChangeSetIndex(), columns: []))
      let refused = try await server.push(frame, token: token)
      #expect((refused.status, refused.code) == (403, "token-bound"))
    }
  }

  @Test("A restored backup knows to whom tokens were bound since, and whom they were to be")
  func restored() async throws {
    let world = try await BackupWorld()
    let token = try world.administering {
      try $0.createToken(zone: "shop", verbs: [.read], label: nil, binds: true)
    }
    let replica = UUID()
    let server = try await LiveServer(directory: world.directory)
    _ = try await server.pull(after: 0, "&replica=\(replica)", token: token)
    try await server.stop()
    _ = try world.backup.restore(to: world.folder)
    try world.administering { administration in
      let found = try administration.tokens().first { $0.id == token.id }
      #expect(found?.binding == .to(replica))
      #expect(try administration.verify().damage == [])
    }
  }

  @Test("A binding whose token a program of before deleted with its zone is no damage, and goes")
  func left() async throws {
    let world = try await BackupWorld()
    try world.administering { administration in
      _ = try administration.createToken(zone: "shop", verbs: [.read], binds: true)
    }
    let connection = try SQLiteConnection(path: world.folder.database.path, mode: .readWrite)
    defer { connection.close() }
    func bindings() throws -> [[SQLiteValue]] {
      try connection.rows("SELECT id FROM token_binding")
    }
    #expect(try bindings().count == 1)
    try connection.execute("DELETE FROM token")
    try world.administering { administration in
      let damage = try administration.verify().damage
      #expect(damage == [])
    }
    #expect(try bindings().isEmpty)
  }
}
