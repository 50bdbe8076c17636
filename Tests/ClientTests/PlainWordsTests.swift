import ArgumentParser
import Driftless
import DriftlessHTTP
import DriftlessSQLite
import DriftlessSync
import Foundation
import ProgramStart
import SyncDaemon
import TestSupport
import Testing

@testable import SyncControl

/// What commands say where something is asked that cannot be done: what it is, and what would do.
@Suite struct PlainWordsTests {
  private func failure(_ body: () async throws -> Void) async -> Failure? {
    do {
      try await body()
      return nil
    } catch {
      return error as? Failure
    }
  }

  @Test("Rights are advised of a store's file alone", arguments: ["/dev/null", "/proc/version"])
  func noStore(path: String) {
    let checks = DoctorCheck.files(of: URL(fileURLWithPath: path))
    #expect(!checks.contains { $0.name == "rights" || $0.detail.contains("chmod") })
  }

  @Test("Rights of a store's file are advised, be it open to all or closed to this user")
  func rights() throws {
    let shop = try Shop()
    shop.store.close()
    chmod(shop.url.path, 0o644)
    let check = DoctorCheck.files(of: shop.url).first { $0.name == "rights" }
    #expect(check?.detail.contains("chmod 600") == true)
  }

  @Test("A vacuum of what is not there names it")
  func vacuum() async throws {
    let directory = try TemporaryDirectory()
    let missing = directory.file("none.sqlite").path
    let failure = await failure { try StoreVacuumCommand.parse([missing]).perform() }
    #expect(failure?.code == "no-store", "\(failure as Any)")
    #expect(failure?.message.contains(missing) == true)
  }

  @Test("A token that is another server's is told to be withheld, and how to send it all the same")
  func withheldToken() async throws {
    let directory = try TemporaryDirectory()
    let token = directory.file("shop.sqlite-driftless-token")
    let server = try #require(URL(string: "http://127.0.0.1:8080"))
    func ask() async -> Failure? {
      await failure { _ = try TokenSource(withheld: (token, server)).given() }
    }
    #expect(await ask()?.message.contains("There is no token") == true)
    try Data("secret".utf8).write(to: token)
    let refusal = await ask()
    #expect(refusal?.message.contains("is for http://127.0.0.1:8080") == true, "\(refusal as Any)")
    #expect(refusal?.suggestion.contains("--token-file \(token.path)") == true)
  }

  @Test("A unique date is told as an import file has it")
  func uniqueDate() throws {
    let day = EntityDescription("Day")
    day.properties = [AttributeDescription("date", .date)]
    day.uniquenessConstraints = [["date"]]
    let shop = try Shop(model: ManagedObjectModel(entities: [day]))
    for date in ["2020-01-01T00:00:00Z", "9999-12-31T23:59:59Z"] {
      let lines = (1...2).map {
        ##"{"op":"insert","entity":"Day","id":"\##(date)\##($0)","set":{"date":"\##(date)"}}"##
      }
      let failure = #expect(throws: Failure.self) {
        try Importer(store: shop.store, author: nil, source: "f").run(
          Data(lines.joined(separator: "\n").utf8))
      }
      #expect(
        failure?.message.contains("unique date \(date.dropLast())") == true,
        "\(failure?.message ?? "")")
    }
  }

  @Test("Of an object that is not there the name is told that was asked for")
  func unknownObject() async throws {
    let shop = try Shop()
    let failure = await failure {
      try WhyCommand.parse(["--store", shop.url.path, "Item/zz.stock"]).perform()
    }
    #expect(failure?.message == "There is no object Item/zz here.", "\(failure as Any)")
    #expect(failure?.code == "unknown-element")
  }

  @Test("A number below 0 is an option's value, and the option says what it takes")
  func negativeNumbers() {
    for (words, option) in [
      (["import", "--store", "s", "--skip", "-1", "f"], "--skip is at least 0"),
      (["log", "--store", "s", "--limit", "-1"], "--limit is at least 1"),
      (["conflicts", "list", "--store", "s", "--limit", "-20"], "--limit is at least 1"),
    ] {
      let error = #expect(throws: (any Error).self) {
        try SyncControlCommand.parseAsRoot(NegativeValues.joined(words))
      }
      let text = error.map { SyncControlCommand.message(for: $0) } ?? ""
      #expect(text.contains(option), "\(text)")
    }
    #expect(NegativeValues.joined(["--expires", "-1d", "x"]) == ["--expires=-1d", "x"])
    for words in [["--json", "-x"], ["--", "--skip", "-1"], ["-1"], ["--a=1", "-1"]] {
      #expect(NegativeValues.joined(words) == words)
    }
  }

  @Test("An import of a folder says that it is one, and of no line that it is to be corrected")
  func folder() async throws {
    let shop = try Shop()
    let path = shop.directory.url.path
    let failure = await failure {
      try await ImportCommand.parse(["--store", shop.url.path, path]).perform()
    }
    #expect(failure?.message == "\(path) is a folder.", "\(failure as Any)")
    #expect(failure?.suggestion.contains("line") == true)
    #expect(failure?.suggestion.contains("correct") == false)
  }

  @Test("An import of a file of another kind names the kind, and how to make lines of it")
  func otherKinds() async throws {
    let shop = try Shop()
    let file = shop.directory.file("f.jsonl")
    let line = #"{"op":"insert","entity":"Box","id":"1"}"# + "\n"
    for (bytes, kind, advice) in [
      (
        Data([0xFF, 0xFE]) + Data(line.utf16.flatMap { [UInt8($0 & 0xFF), 0] }), "UTF-16", "iconv"
      ),
      (Data([0x1F, 0x8B, 8, 0]), "gzip", "gunzip"),
      (try Data(contentsOf: shop.url), "SQLite", "syncctl export"),
    ] {
      try bytes.write(to: file)
      let failure = await failure {
        try await ImportCommand.parse(["--store", shop.url.path, file.path]).perform()
      }
      #expect(failure?.message.contains(kind) == true, "\(failure as Any)")
      #expect(failure?.suggestion.contains(advice) == true, "\(failure as Any)")
    }
    let none = await failure {
      try await ImportCommand.parse(["--store", shop.url.path, "/none/f"]).perform()
    }
    #expect(none?.message.contains("No such file") == true, "\(none as Any)")
  }

  @Test("What SQLite says of a file is told in plain words")
  func databaseWords() throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("f.sqlite")
    try Data("no database at all, as anybody can see".utf8).write(to: file)
    let error = #expect(throws: StoreError.self) { try PersistentStore.open(url: file) }
    #expect(error?.message == "\(file.path): it is no database", "\(error as Any)")
    #expect(Failure(SQLiteError(code: 11, message: "x")).message.contains("damaged"))
    #expect(
      Failure(SQLiteError(code: 10, message: "disk I/O error")).message.contains("the disk failed"))
  }

  @Test("The help of every command says how it may end")
  func exitCodes() {
    let codes = ExitStatus.allCases.map { ($0.rawValue, $0.meaning) }
    for words in [["status", "--help"], ["store", "check", "--help"], ["--help"]] {
      let error = #expect(throws: (any Error).self) {
        var command = try SyncControlCommand.parseAsRoot(words)
        try command.run()
      }
      let text = error.map { SyncControlCommand.fullMessage(for: $0) } ?? ""
      let lines = HelpText.withExitCodes(text.split(separator: "\n").map(String.init), codes)
      #expect(lines.contains { $0.contains("75  busy") }, "\(words)")
      #expect(lines.count { $0.contains("EXIT CODES") } == 1, "\(words)")
    }
    #expect(HelpText.withExitCodes(["syncctl 1.0"], codes) == ["syncctl 1.0"])
  }

  @Test(
    "Of a decimal number whose digits fit, the exponent is told", arguments: ["1e200", "1e-200"])
  func exponent(text: String) {
    guard case .failure(let mismatch) = ImportedValue.attribute(.string(text), type: .decimal)
    else {
      Issue.record("\(text) fits")
      return
    }
    #expect(mismatch.expected.contains("10 to the power"))
    guard
      case .failure(let other) = ImportedValue.attribute(
        .string(String(repeating: "9", count: 50)), type: .decimal)
    else {
      Issue.record("50 digits fit")
      return
    }
    #expect(other.expected.contains("38 digits"))
  }

  @Test("Who waits for the work on the store does not wait for the server")
  func idle() throws {
    let server = try #require(URL(string: "http://127.0.0.1:1"))
    let transport = try CurlTransport(server: server, zone: "z", token: "t")
    #expect(transport.awaited == "the work on the store")
  }

  @Test("Of lost transactions it is told whether the store has synced since")
  func lost() throws {
    let json = #"{"count": 2, "found": 800000000}"#
    let lost = try JSONDecoder().decode(LostCommits.self, from: Data(json.utf8))
    #expect(lost.text(lastSync: nil).hasPrefix("not all is here: 2 acknowledged"))
    #expect(lost.text(lastSync: lost.found - 1).hasPrefix("not all is here"))
    let since = lost.text(lastSync: lost.found + 1)
    #expect(since.contains("what the zone had is here again") && !since.contains("not all"))
  }
}
