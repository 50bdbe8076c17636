import DriftlessProtocol
import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

@Suite("Codes for one enrolment over HTTP")
struct EnrolmentTests {
  private static func code(
    _ server: LiveServer, _ change: (inout CodeRequest) -> Void = { _ in }
  ) throws -> (id: String, text: String) {
    let administration = try Administration(folder: DataFolder(server.data))
    defer { administration.close() }
    var request = CodeRequest(
      zone: "shop", verbs: [.read, .write], expiresMilliseconds: Int64.max / 2)
    change(&request)
    var printed = ""
    let record = try administration.createCode(request) { printed = $1 }
    return (record.id, printed)
  }

  private static func enroll(
    _ server: LiveServer, _ code: String, _ token: ReplicaToken = .make(), zone: String = "shop"
  ) async throws -> RawConnection.Response {
    try await server.request(
      "POST", "/v1/zones/\(zone)/enroll", token: nil,
      body: try JSONEncoder().encode(EnrolmentRequest(code: code, token: token)))
  }

  @Test("A code makes the token of whoever shows it first, without a token, and tells it again")
  func enrolls() async throws {
    try await withServer { server in
      let code = try Self.code(server) { $0.name = "till 3" }
      let token = ReplicaToken.make()
      #expect(try await server.request("GET", "/v1/zones/shop", token: token.text).status == 401)
      for text in [code.text, code.text.lowercased(), code.text.filter { $0 != "-" }] {
        let answer = try await Self.enroll(server, text, token)
        #expect(answer.status == 200)
        let reply = try JSONDecoder().decode(EnrolmentReply.self, from: answer.body)
        #expect(reply.zone == "shop" && reply.token == token.id)
        #expect(reply.expiresMilliseconds == nil)
      }
      #expect(try await server.request("GET", "/v1/zones/shop", token: token.text).status == 200)
      let other = try await Self.enroll(server, code.text)
      #expect(other.status == 409 && other.code == "code-used")
      // Neither log nor record have the code or the secret.
      try await server.stop()
      let administration = try Administration(folder: DataFolder(server.data))
      defer { administration.close() }
      let lines = try administration.audit(since: 0)
      let used = try #require(lines.first { $0.act == .codeUsed })
      #expect(used.subject == token.id && used.actor == "127.0.0.1" && used.zone == "shop")
      #expect(used.detail == "by code \(code.id) read,write till 3")
      #expect(lines.contains { $0.act == .codeCreated && $0.subject == code.id })
      #expect(lines.contains { $0.act == .refused && $0.subject == "a zone, by a code" })
      let all = server.log.text + "\(lines)"
      #expect(!all.contains(code.text) && !all.contains(token.text.suffix(64)))
      #expect(server.log.text.contains("code=\(code.id)"))
    }
  }

  @Test("Unknown, ended, revoked, and another zone's: strangers hear one answer")
  func alike() async throws {
    try await withServer(zones: ["shop", "field"]) { server in
      let ended = try Self.code(server) { $0.expiresMilliseconds = 1 }
      let revoked = try Self.code(server)
      let administration = try Administration(folder: DataFolder(server.data))
      try administration.revokeCode(id: revoked.id)
      administration.close()
      let good = try Self.code(server)
      var answers: [RawConnection.Response] = []
      for text in [ended.text, revoked.text, "AAAAA-AAAAA-AAAAA-AAAAA", "", "short"] {
        answers.append(try await Self.enroll(server, text))
      }
      for zone in ["field", "nowhere", "%2e%2e"] {
        answers.append(try await Self.enroll(server, good.text, zone: zone))
      }
      let told = try answers.map { try JSONDecoder().decode(WireError.self, from: $0.body) }
      #expect(Set(told).count == 1)
      #expect(answers.allSatisfy { $0.status == 401 && $0.code == "unauthorized" })
      #expect(try await Self.enroll(server, good.text).status == 200, "it was not used up")
    }
  }

  @Test("Who tries codes is slowed down as one who tries tokens; who has one comes in")
  func slowed() async throws {
    var limits = ServerLimits()
    (limits.rateSeconds, limits.refusalsPerAddressMax) = (3600, 3)
    try await withServer(limits: limits) { server in
      let code = try Self.code(server)
      for number in 1...5 {
        let answer = try await Self.enroll(server, "AAAAA-AAAAA-AAAAA-AAAAA")
        #expect(answer.status == (number <= 3 ? 401 : 429), "\(number)")
      }
      #expect(try await Self.enroll(server, code.text).status == 200)
    }
  }

  @Test("A code is told its token as often as a token may ask, whoever asks")
  func counted() async throws {
    var limits = ServerLimits()
    (limits.rateSeconds, limits.requestsPerTokenMax) = (3600, 3)
    try await withServer(limits: limits) { server in
      let code = try Self.code(server)
      let token = ReplicaToken.make()
      for number in 1...5 {
        let answer = try await Self.enroll(server, code.text, token)
        #expect(answer.status == (number <= 3 ? 200 : 429), "\(number)")
      }
    }
  }

  @Test("A body that is no request is malformed, and a large one is not read")
  func bodies() async throws {
    try await withServer { server in
      let token = ReplicaToken.make()
      let hash = token.hash
      for body in [
        "", "{}", #"{"code":"A","token":"\#(token.id)"}"#,
        #"{"code":"A","token":"\#(token.id)0","hash":"\#(hash)"}"#,
        #"{"code":"A","token":"\#(token.id.dropLast())G","hash":"\#(hash)"}"#,
        #"{"code":"A","token":"\#(token.id)","hash":"\#(hash.dropLast())é"}"#,
      ] {
        let answer = try await server.request(
          "POST", "/v1/zones/shop/enroll", token: nil, body: Data(body.utf8))
        #expect(answer.status == 400 && answer.code == "malformed", "\(body)")
      }
      let large = try await server.request(
        "POST", "/v1/zones/shop/enroll", token: nil, body: Data(repeating: 32, count: 5_000))
      #expect(large.status == 413)
    }
  }

  @Test("A code is read as people write it, and nothing else is one")
  func reading() {
    #expect(EnrolmentCode.read("0I2lo-ABCDE FGHJK\nmnpqr\n") == "01210ABCDEFGHJKMNPQR")
    #expect(EnrolmentCode.printed("01210ABCDEFGHJKMNPQR") == "01210-ABCDE-FGHJK-MNPQR")
    for text in [
      "", "01210-ABCDE-FGHJK-MNPQ", "01210-ABCDE-FGHJK-MNPQRS", "U1210-ABCDE-FGHJK-MNPQR",
    ] {
      #expect(EnrolmentCode.read(text) == nil, "\(text)")
    }
    #expect(Set((0..<100).map { _ in EnrolmentCode.make() }).count == 100)
  }

  @Test("A code is one until the millisecond of its end, by the server's time")
  func end() throws {
    let zone = ZoneRecord.new(id: 1, name: "shop")
    let request = CodeRequest(zone: "shop", verbs: .read, expiresMilliseconds: 1_000)
    let code = CodeRecord.new(EnrolmentCode.make(), of: zone, request, at: 0)
    let use = CodeUse(
      codeHash: code.hash, zone: "shop", tokenID: "0", tokenHash: Data(), address: "")
    guard case .made = code.outcome(of: use, token: nil, at: 999) else {
      Issue.record("it has not ended")
      return
    }
    guard case .refused = code.outcome(of: use, token: nil, at: 1_000) else {
      Issue.record("it has ended")
      return
    }
    #expect(code.state(at: 999) == "valid" && code.state(at: 1_000) == "expired")
  }

  @Test("A code goes with its zone, also where a program deletes the zone that knows no codes")
  func leftCode() async throws {
    try await withServer { server in
      let code = try Self.code(server)
      let administration = try Administration(folder: DataFolder(server.data))
      defer { administration.close() }
      // The next zone has the number of the last one.
      try administration.connection.execute("DELETE FROM token; DELETE FROM zone")
      _ = try administration.createZone("shop")
      #expect(try administration.codes().isEmpty)
      let answer = try await Self.enroll(server, code.text)
      #expect(answer.status == 401)
      let damage = try administration.verify().damage
      #expect(damage.map(\.table) == ["enrolment_code"] && damage.first?.place == code.id)
      #expect(damage.first?.message == "its zone is not there")
      _ = try Self.code(server)
      #expect(try administration.verify().damage.isEmpty)
    }
  }

  @Test("A backup has no codes: one that was used since would be one again")
  func backup() async throws {
    try await withServer { server in
      _ = try Self.code(server)
      let file = server.data.deletingLastPathComponent().appending(path: "backup-of-codes")
      defer { try? FileManager.default.removeItem(at: file) }
      _ = try Backup(file).make(of: DataFolder(server.data))
      let copy = try SQLiteConnection(path: file.path, mode: .immutable)
      defer { copy.close() }
      #expect(try copy.integer("SELECT count(*) FROM enrolment_code") == 0)
    }
  }

  @Test("A code that opens nothing any more does not wait for who writes")
  func noWriter() async throws {
    try await withServer { server in
      let ended = try Self.code(server) { $0.expiresMilliseconds = 1 }
      let code = try Self.code(server)
      let token = ReplicaToken.make()
      #expect(try await Self.enroll(server, code.text, token).status == 200)
      let administration = try Administration(folder: DataFolder(server.data))
      defer { administration.close() }
      try administration.connection.execute("BEGIN IMMEDIATE")
      // Who waited for the writer would be told that the server is busy.
      #expect(try await Self.enroll(server, ended.text).status == 401)
      #expect(try await Self.enroll(server, code.text).status == 409)
      #expect(try await Self.enroll(server, code.text, token).status == 200)
      try administration.connection.execute("ROLLBACK")
    }
  }

  private struct Unwritten: Error {}

  /// What every storage owes of a code whose text reached nobody.
  private static func expectUnmade(_ administration: some ZoneAdministration) throws {
    let request = CodeRequest(zone: "shop", verbs: .read, expiresMilliseconds: Int64.max / 2)
    var id = ""
    #expect(throws: Unwritten.self) {
      try administration.createCode(request) { record, _ in
        id = record.id
        throw Unwritten()
      }
    }
    #expect(try administration.codes().isEmpty, "it was never made")
    let said = try administration.audit(since: 0).filter { $0.subject == id }
    #expect(said.map(\.act) == [.codeCreated, .codeRevoked])
    #expect(said.last?.detail == "nobody was given it")
    #expect(throws: ServerError.self) { try administration.revokeCode(id: id) }
  }

  @Test("A code that could not be handed out is none, and the record says so")
  func unwritten() throws {
    let directory = try TemporaryDirectory()
    let administration = try Administration(folder: DataFolder(directory.file("data")))
    defer { administration.close() }
    _ = try administration.createZone("shop")
    try Self.expectUnmade(administration)
  }

  #if PostgreSQL
    @Test("A code that could not be handed out is none in a database either")
    func unwrittenInPostgres() throws {
      let world = try PostgresWorld()
      try Self.expectUnmade(world.administration)
    }
  #endif

  @Test("A clock that is set back opens no code that was made ahead of it, or had ended by then")
  func setBack() throws {
    let directory = try TemporaryDirectory()
    let administration = try Administration(folder: DataFolder(directory.file("data")))
    defer { administration.close() }
    _ = try administration.createZone("shop")
    let host = Administration.hostMilliseconds
    let day: Int64 = 86_400_000
    func make(_ end: Int64) throws -> String {
      try administration.createCode(
        CodeRequest(zone: "shop", verbs: .read, expiresMilliseconds: end)
      ) { _, _ in }.id
    }
    let ended = try make(host + 290 * day)
    let open = try make(host + 1_000 * day)
    try GivenTimes.keep(host + 300 * day, on: administration.connection)
    let ahead = try make(host + 1_001 * day)
    _ = try administration.setClockBack()
    let states = try administration.codes().map { ($0.id, $0.state(at: host + day)) }
    #expect(
      Dictionary(uniqueKeysWithValues: states)
        == [ended: "revoked", open: "valid", ahead: "revoked"])
    #expect(try administration.revokeCodes().map(\.id) == [open])
    #expect(try administration.revokeCodes().isEmpty)
    #expect(try administration.audit(since: 0).contains { $0.subject == open })
  }
}
