import DriftlessSQLite
import DriftlessServer
import DriftlessStorageConformance
import Foundation
import TestSupport
import Testing

@Suite("Administration")
struct AdministrationTests {
  @Test("A zone is created once, with a generation of its own")
  func zones() throws {
    let directory = try TemporaryDirectory()
    let administration = try Administration(folder: DataFolder(directory.file("data")))
    defer { administration.close() }
    let shop = try administration.createZone("shop")
    let field = try administration.createZone("field")
    #expect(shop.generation != field.generation)
    #expect(try administration.zones().map(\.name) == ["field", "shop"])
    #expect(throws: ServerError.self) { try administration.createZone("shop") }
  }

  @Test(
    "A name that is not one is refused",
    arguments: ["", ".", "..", "../x", "a/b", "a b", "ä", ".hidden", "a\n", "a%2Fb"]
      + [String(repeating: "a", count: 101)])
  func names(name: String) throws {
    #expect(!ZoneName.isValid(name))
    let directory = try TemporaryDirectory()
    let administration = try Administration(folder: DataFolder(directory.file("data")))
    defer { administration.close() }
    #expect(throws: ServerError.self) { try administration.createZone(name) }
  }

  @Test("A zone and a token made while the server runs are seen by it; a revoked token too")
  func whileServing() async throws {
    let test = try TestZone()
    #expect(try await test.storage.zone(named: "late") == nil)
    let administration = try Administration(folder: test.folder)
    defer { administration.close() }
    _ = try administration.createZone("late")
    #expect(try await test.storage.zone(named: "late") != nil)
    let token = try administration.createToken(zone: "late", verbs: .read)
    let record = try #require(try await test.storage.token(id: token.id))
    #expect(token.matches(record.hash))
    #expect(record.zoneName == "late")
    #expect(record.verbs == .read)
    #expect(record.revokedMilliseconds == nil)
    try administration.revokeToken(id: token.id)
    #expect(try await test.storage.token(id: token.id)?.revokedMilliseconds != nil)
    #expect(throws: ServerError.self) { try administration.revokeToken(id: "nobody") }
  }

  @Test("The database holds no secret of a token, and only its owner may read the files")
  func secrets() throws {
    let directory = try TemporaryDirectory()
    let folder = try DataFolder(directory.file("data"))
    let administration = try Administration(folder: folder)
    _ = try administration.createZone("shop")
    let token = try administration.createToken(zone: "shop", verbs: [.read, .write])
    administration.close()
    let bytes = try Data(contentsOf: folder.database)
    #expect(bytes.range(of: Data(token.id.utf8)) != nil, "the row is in this file")
    #expect(bytes.range(of: Data(token.secret.utf8)) == nil)
    #expect(!folder.isOpenToOthers)
    let permissions = try FileManager.default.attributesOfItem(atPath: folder.database.path)[
      .posixPermissions]
    #expect(permissions as? Int == 0o600)
  }

  @Test("A second server on one folder is refused with the process that holds it")
  func servingTwice() throws {
    let directory = try TemporaryDirectory()
    let folder = try DataFolder(directory.file("data"))
    let lock = try folder.lockForServing()
    defer { lock.release() }
    do {
      _ = try folder.lockForServing()
      Issue.record("two servers on one folder")
    } catch let error as ServerError {
      #expect(error.code == .locked)
      #expect(error.message.contains("\(ProcessInfo.processInfo.processIdentifier)"))
    }
    lock.release()
    try folder.lockForServing().release()
  }

  @Test("Another program's database is refused by its name, and stays as it is")
  func foreignDatabase() throws {
    let directory = try TemporaryDirectory()
    let data = directory.file("data")
    let folder = try DataFolder(data)
    let connection = try SQLiteConnection(path: folder.database.path, mode: .readWriteCreate)
    try connection.execute("CREATE TABLE ZDL_STORE(a); CREATE TABLE ZITEM(a)")
    connection.close()
    folder.noteDatabaseIsMade()
    let before = try Data(contentsOf: folder.database)
    for open in [
      { try Administration(folder: DataFolder(data)).close() },
      { try SQLiteZoneStorage(folder: DataFolder(data)).close() },
    ] {
      let error = #expect(throws: ServerError.self) { try open() }
      #expect(error?.code == .noData)
      #expect(error?.message.contains("a replica's store") == true, "\(String(describing: error))")
      #expect(try Data(contentsOf: folder.database) == before)
    }
  }

  @Test("What is handed out is a token, and one that cannot be handed out is none")
  func handedOut() throws {
    struct Lost: Error {}
    let directory = try TemporaryDirectory()
    let folder = try DataFolder(directory.file("data"))
    let administration = try Administration(folder: folder)
    defer { administration.close() }
    _ = try administration.createZone("shop")
    let old = try administration.createToken(zone: "shop", verbs: .read) { token in
      let there = try administration.tokens().map(\.id)
      #expect(there == [token.id])
    }
    #expect(throws: Lost.self) {
      try administration.createToken(zone: "shop", verbs: .read, label: "x") { _ in throw Lost() }
    }
    #expect(throws: Lost.self) {
      try administration.rotateToken(id: old.id, grace: 0, expiresMilliseconds: nil) { _ in
        throw Lost()
      }
    }
    let tokens = try administration.tokens()
    #expect(tokens.map(\.id) == [old.id] && tokens[0].revokedMilliseconds == nil)
    let other = try SQLiteConnection(path: folder.database.path, mode: .readWrite)
    try other.execute(
      "CREATE TRIGGER full BEFORE INSERT ON token BEGIN SELECT RAISE(ABORT, 'full'); END")
    other.close()
    #expect(throws: SQLiteError.self) {
      try administration.createToken(zone: "shop", verbs: .read) { _ in
        Issue.record("a token was handed out that is none")
      }
    }
  }
}
