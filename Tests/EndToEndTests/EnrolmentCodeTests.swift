import Driftless
import DriftlessHTTP
import DriftlessProtocol
import DriftlessSync
import Foundation
import TestSupport
import Testing

/// `syncctl enroll --code` with a code of `driftless-server code create`.
@Suite("Enrolment by a code") struct EnrolmentCodeTests {
  private struct World {
    let directory: TemporaryDirectory
    let server: ServerProcess
    let model: URL

    init(database: String? = nil) throws {
      directory = try TemporaryDirectory()
      server =
        try database.map { try ServerProcess(database: $0, zone: "shop") }
        ?? ServerProcess(data: directory.file("data"), zone: "shop")
      model = try writeModel(EmbeddedReplica.model.xml, named: "Items", in: directory)
    }

    func operate(_ arguments: String...) throws -> String {
      let outcome = try Programs.run("driftless-server", arguments + server.place)
      guard outcome.status == 0 else { throw HarnessError(description: outcome.errors) }
      return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    func code() throws -> String { try operate("code", "create", "shop", "--name", "till 3") }

    func replica(_ name: String) throws -> Replica {
      try Replica(bare: name, in: directory, model: model)
    }

    func way(_ replica: Replica) -> [String] {
      ["enroll", "--store", replica.store.path, "--server", server.address, "--zone", "shop"]
    }

    /// The tokens that there are.
    func tokens() throws -> [String] {
      try operate("token", "list").split(separator: "\n").map(String.init)
    }
  }

  /// Whether what is kept of the code has the token.
  private static func hasToken(_ replica: Replica) throws -> Bool {
    try String(
      contentsOf: URL(fileURLWithPath: replica.store.path + "-driftless-code"), encoding: .utf8
    ).contains("dl_")
  }

  private static func enrolls(_ world: World) throws {
    let code = try world.code()
    #expect(code.wholeMatch(of: /([0-9A-HJKMNP-TV-Z]{5}-){3}[0-9A-HJKMNP-TV-Z]{5}/) != nil)
    let first = try world.replica("first")
    try first.run(world.way(first) + ["--code", code])
    #expect(try !Self.hasToken(first))
    try first.importLines([FaultWorld.insertion("made here")])
    try first.sync()
    // It is the host's own.
    let token = try String(
      contentsOf: URL(fileURLWithPath: first.store.path + "-driftless-token"), encoding: .utf8)
    let id = try #require(ReplicaToken(token.trimmingCharacters(in: .newlines))?.id)
    #expect(try world.tokens().count == 1)
    #expect(try world.tokens()[0].hasPrefix("\(id)\tshop\tread,write\tvalid\ttill 3\t"))
    #expect(try world.operate("code", "list").hasSuffix("\t\(id)"))
    // Said again it comes to the same; on another host it is used.
    try first.run(world.way(first) + ["--code", code])
    let second = try world.replica("second")
    let refused = try Programs.run("syncctl", world.way(second) + ["--code", code])
    #expect(
      refused.status == 77 && refused.errors.contains("the code was used for another"),
      "\(refused.errors)")
    // By a file, standard input and the environment, as people write it.
    let file = world.directory.file("code")
    for (name, way) in [("b", "file"), ("c", "input"), ("d", "variable")] {
      let code = try world.code().lowercased().replacing("-", with: " ")
      try Data("\(code)\n".utf8).write(to: file)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
      let replica = try world.replica(name)
      let outcome =
        switch way {
        case "file":
          try Programs.run("syncctl", world.way(replica) + ["--code-file", file.path])
        case "input":
          try Programs.run(
            "syncctl", world.way(replica) + ["--code-file", "-"],
            script: "exec \"$0\" \"$@\" < '\(file.path)'")
        default:
          try Programs.run(
            "syncctl", world.way(replica), environment: ["SYNCCTL_CODE": code])
        }
      #expect(outcome.status == 0, "\(way): \(outcome.errors)")
      try replica.sync()
      #expect(try replica.export() == first.export())
    }
    // One that was taken back, and what is none.
    let revoked = try world.code()
    let listed = try world.operate("code", "list").split(separator: "\n")
    let valid = try #require(listed.first { $0.contains("\tvalid\t") }).prefix(8)
    #expect(try world.operate("code", "revoke", String(valid)) == "revoked code \(valid)")
    for wrong in [revoked, "AAAAA-AAAAA-AAAAA-AAAAA"] {
      let outcome = try Programs.run("syncctl", world.way(second) + ["--code", wrong])
      #expect(outcome.status == 77 && outcome.errors.contains("the code is wrong, revoked"))
    }
    let none = try Programs.run("syncctl", world.way(second) + ["--code", "none"])
    #expect(none.status == 64 && none.errors.contains("--code holds no code"), "\(none.errors)")
  }

  @Test("A host makes its token itself, and the code opens nothing afterwards")
  func enrolls() throws { try Self.enrolls(World()) }

  #if PostgreSQL
    @Test("A host makes its token itself, on PostgreSQL")
    func enrollsInPostgres() throws {
      try Self.enrolls(World(database: PostgresCluster.shared().place()))
    }
  #endif

  @Test(
    "Killed at any write of it, or with a full disk from there, an enrolment said again ends with the one token of its code",
    arguments: [FileFault.Kind.kill, .full])
  func killed(kind: FileFault.Kind) throws {
    let world = try World()
    var made = 0
    try FileFault.atEachChange(every: 7) { number, _ in
      let code = try world.code()
      let replica = try world.replica("killed-\(number)")
      let fault = try FileFault(kind, at: number, below: replica.folder).environment()
      let first = try Programs.run(
        "syncctl", world.way(replica) + ["--code", code], environment: fault)
      let again = try Programs.run("syncctl", world.way(replica) + ["--code", code])
      #expect(again.status == 0, "\(number): \(again.errors)")
      made += 1
      #expect(try world.tokens().count == made, "\(number): one code, one token")
      #expect(try !Self.hasToken(replica))
      try replica.sync()
      return first.status == 0
    }
    #expect(made > 4)
  }

  /// An enrolment whose token the server has, and that ended before it lay where tokens do.
  private static func stopped(_ world: World, _ replica: Replica, _ code: String) throws {
    let inTheWay = URL(fileURLWithPath: replica.store.path + "-driftless-token")
    try FileManager.default.createDirectory(at: inTheWay, withIntermediateDirectories: false)
    let outcome = try Programs.run("syncctl", world.way(replica) + ["--code", code])
    #expect(outcome.status != 0 && outcome.errors.contains("cannot be kept"), "\(outcome.errors)")
    try FileManager.default.removeItem(at: inTheWay)
    #expect(try world.tokens().count == 1)
  }

  @Test("A mistyped code, another name of the zone and of the server cost no token that was made")
  func mistyped() throws {
    let world = try World()
    let code = try world.code()
    let replica = try world.replica("mistyped")
    try Self.stopped(world, replica, code)
    for wrong in [
      world.way(replica) + ["--code", "AAAAA-AAAAA-AAAAA-AAAAA"],
      world.way(replica).dropLast() + ["other", "--code", code],
      ["enroll", "--store", replica.store.path, "--server", "http://127.0.0.1:1", "--zone", "shop"]
        + ["--code", code],
    ] {
      #expect(try Programs.run("syncctl", Array(wrong)).status != 0)
    }
    _ = try world.operate("zone", "rename", "shop", "store")
    try replica.run(world.way(replica).dropLast() + ["store", "--code", code])
    #expect(try world.tokens().count == 1)
    let record = try String(
      contentsOf: URL(fileURLWithPath: replica.store.path + "-driftless-code"), encoding: .utf8)
    // Of the two that no server has taken.
    #expect(record.components(separatedBy: "dl_").count == 3)
    // A code by which the store was enrolled is not sent again: what is refused is the token.
    let id = try #require(world.tokens().first?.prefix(16))
    _ = try world.operate("token", "revoke", String(id))
    let again = try Programs.run(
      "syncctl", world.way(replica).dropLast() + ["store", "--code", code])
    #expect(again.status == 77 && again.errors.contains("the token is missing"), "\(again)")
  }

  @Test("Who enrols with another zone that has the name of the store's own by now hears of it")
  func anotherOfTheName() throws {
    let world = try World()
    let replica = try world.replica("named")
    try replica.run(world.way(replica) + ["--code", world.code()])
    _ = try world.operate("zone", "rename", "shop", "former")
    _ = try world.operate("zone", "create", "shop")
    let token = world.directory.file("token")
    let made = try world.operate("token", "create", "--zone", "shop")
    try #require(made.split(separator: "\n").last).write(
      to: token, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: token.path)
    let way = world.way(replica) + ["--token-file", token.path]
    let other = try Programs.run("syncctl", way)
    #expect(other.status == 0 && other.errors.contains("another one than"), "\(other)")
    let same = try Programs.run("syncctl", way)
    #expect(same.status == 0 && !same.errors.contains("another one than"), "\(same)")
  }

  @Test("A record of a token that cannot be read is not written over")
  func unreadable() throws {
    let world = try World()
    let code = try world.code()
    let replica = try world.replica("unreadable")
    try Self.stopped(world, replica, code)
    let file = URL(fileURLWithPath: replica.store.path + "-driftless-code")
    let record = try Data(contentsOf: file)
    let way = world.way(replica) + ["--code", code]
    try Data("{".utf8).write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    let damaged = try Programs.run("syncctl", way)
    #expect(damaged.status == 65 && damaged.errors.contains("driftless-code"), "\(damaged)")
    #expect(try Data(contentsOf: file) == Data("{".utf8))
    try record.write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
    let open = try Programs.run("syncctl", way)
    #expect(open.status == 77 && open.errors.contains("can be read by others"), "\(open)")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    try replica.run(way)
    #expect(try world.tokens().count == 1)
  }

  @Test("A code is not used up for a store that is of another zone, nor said beside a token")
  func unfit() throws {
    let world = try World()
    _ = try world.operate("zone", "create", "other")
    let replica = try world.replica("unfit")
    let other = try world.operate("code", "create", "other")
    try replica.run(world.way(replica).dropLast() + ["other", "--code", other])
    let code = try world.code()
    let refused = try Programs.run("syncctl", world.way(replica) + ["--code", code])
    #expect(refused.status != 0 && refused.errors.contains("other"), "\(refused)")
    #expect(try world.operate("code", "list").contains("\tshop\tread,write\tvalid\t"))
    let both = try Programs.run(
      "syncctl", world.way(replica), environment: ["SYNCCTL_CODE": code, "SYNCCTL_TOKEN": "dl_a"])
    #expect(both.status == 64 && both.errors.contains("SYNCCTL_TOKEN"), "\(both)")
    #expect(try world.operate("code", "list").contains("\tshop\tread,write\tvalid\t"))
  }

  @Test("Of two enrolments of one store at once one goes on, and the other comes to the same later")
  func oneStoreTwice() throws {
    let world = try World()
    for round in 0..<3 {
      let code = try world.code()
      let replica = try world.replica("twice\(round)")
      let processes = try (0..<4).map { _ in
        let process = Process()
        process.executableURL = Programs.url("syncctl")
        process.arguments = world.way(replica) + ["--code", code]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
      }
      for process in processes { process.waitUntilExit() }
      #expect(Set(processes.map(\.terminationStatus)).isSubset(of: [0, 75]))
      try replica.run(world.way(replica) + ["--code", code])
      #expect(try world.tokens().count == round + 1)
    }
  }

  @Test("Of two hosts with one code at once one is enrolled, and the other is told")
  func twoAtOnce() throws {
    let world = try World()
    for round in 0..<3 {
      let code = try world.code()
      let replicas = try ["a\(round)", "b\(round)"].map { try world.replica($0) }
      let processes = try replicas.map { replica in
        let process = Process()
        process.executableURL = Programs.url("syncctl")
        process.arguments = world.way(replica) + ["--code", code]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
      }
      for process in processes { process.waitUntilExit() }
      #expect(Set(processes.map(\.terminationStatus)) == [0, 77])
      #expect(try world.tokens().count == round + 1)
    }
  }

  @Test(
    "A program enrols its store by a code and a token that it keeps, twice where an answer was lost"
  )
  func embedded() async throws {
    let world = try World()
    let code = try world.code()
    let container = PersistentContainer(
      name: "app", model: try ManagedObjectModel(contentsOf: world.model),
      storeURL: world.directory.file("app.sqlite"))
    try container.loadPersistentStores()
    let store = container.persistentStoreCoordinator.persistentStores[0]
    let address = try #require(URL(string: world.server.address))
    func engine(_ token: ReplicaToken) throws -> SyncEngine {
      SyncEngine(
        store: store,
        enrollingThrough: try CurlTransport(server: address, zone: "shop", token: token.text))
    }
    let token = ReplicaToken.make()
    for _ in 0..<2 { try await engine(token).enroll(code: code) }
    _ = try await engine(token).sync()
    #expect(try SyncEngine.status(of: store).zone == "shop")
    await #expect {
      try await engine(.make()).enroll(code: code)
    } throws: {
      ($0 as? ProtocolError)?.code == .codeUsed
    }
  }
}
