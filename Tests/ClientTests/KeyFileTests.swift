import ArgumentParser
import DriftlessProtocol
import Foundation
import SyncDaemon
import TestSupport
import Testing

@testable import SyncControl

/// The keys of encrypted properties, from files and commands; no message has a word of them.
@Suite struct KeyFileTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func mode(_ url: URL) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
  }

  private func file(_ text: String, mode: Int = 0o600) throws -> URL {
    let url = directory.file("some.keys")
    try Data(text.utf8).write(to: url)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path)
    return url
  }

  @Test("A kept ring is for its owner only, and is read back")
  func kept() throws {
    let store = directory.file("a.sqlite")
    #expect(KeySource.of(store: store) == nil)
    let ring = KeyRing()
    try KeyFile.write(ring, to: KeyFile.url(forStore: store))
    #expect(try mode(KeyFile.url(forStore: store)) == 0o600)
    #expect(try KeySource.of(store: store)?.read() == ring)
    #expect(KeySource.of(store: store, command: "false") == .command("false"))
    try KeyFile.remove(forStore: store)
    try KeyFile.remove(forStore: store)
    #expect(KeySource.of(store: store) == nil)
  }

  @Test("A key file that others may read is refused", arguments: [0o640, 0o604, 0o660, 0o622])
  func readable(mode: Int) throws {
    let url = try file(KeyRing().text, mode: mode)
    let error = #expect(throws: Failure.self) { try KeyFile.read(url) }
    #expect(error?.code == "key-readable" && error?.status == .notAllowed)
    #expect(error?.suggestion.hasPrefix("chmod 600 \(url.path)") ?? false)
  }

  @Test("What is no key file is refused, without a word of it")
  func noKeys() throws {
    let text = KeyRing().text
    for bad in ["", "secretword", text.replacing("key ", with: "kez "), String(text.dropLast(9))] {
      let url = try file(bad)
      let error = #expect(throws: Failure.self) { try KeyFile.read(url) }
      #expect(error?.code == "no-key")
      let told = "\(error?.message ?? "") \(error?.suggestion ?? "")"
      #expect(
        !told.contains("secretword") && !told.contains(text.split(separator: " ")[3].prefix(20)))
    }
    #expect(throws: Failure.self) { try KeyFile.read(directory.file("missing")) }
    let empty = #expect(throws: Failure.self) { try KeyFile.read(try file("")) }
    #expect(empty?.message.contains("is empty") == true, "\(empty?.message ?? "")")
  }

  @Test("An empty file of authorities is said to be empty")
  func emptyAuthority() throws {
    let error = #expect(throws: Failure.self) { try AuthorityFile.read(try file("")) }
    #expect(error?.message.contains("it is empty") == true, "\(error?.message ?? "")")
    #expect(throws: Failure.self) { try KeyFile.read(directory.url) }
    let pipe = directory.file("pipe")
    #expect(mkfifo(pipe.path, 0o600) == 0)
    #expect(throws: Failure.self) { try KeyFile.read(pipe) }
  }

  @Test("A command prints the ring; one that fails, prints something else or too much gives none")
  func command() throws {
    let ring = KeyRing()
    let url = try file(ring.text)
    #expect(try KeySource.command("cat '\(url.path)'").read() == ring)
    for bad in [
      "exit 3", "echo secretword", "cat '\(url.path)'; exit 1", "kill -9 $$",
      "head -c 9000000 /dev/zero", "/no/such/program",
    ] {
      let error = #expect(throws: Failure.self, "\(bad)") { try KeySource.command(bad).read() }
      #expect(error?.code == "no-key")
      #expect(error.map { !$0.message.contains("secretword") } ?? false)
    }
  }

  @Test("syncctl key makes a file once, puts newer keys into it, and keeps a copy beside a store")
  func commands() async throws {
    let url = directory.file("ship.keys")
    try await KeyCreateCommand.parse([url.path]).run()
    let ring = try KeyFile.read(url)
    #expect(ring.keyIDs.count == 1)
    await #expect(throws: ExitCode.self) { try await KeyCreateCommand.parse([url.path]).run() }
    #expect(try KeyFile.read(url) == ring)
    try await KeyRotateCommand.parse([url.path]).run()
    let rotated = try KeyFile.read(url)
    #expect(rotated.keyIDs.count == 2 && rotated.keyIDs.first == ring.newest)
    #expect(try mode(url) == 0o600)
    try await KeyListCommand.parse([url.path]).run()
    let store = directory.file("a.sqlite")
    try Data("a store".utf8).write(to: store)
    try await KeyUseCommand.parse(["--store", store.path, url.path]).run()
    #expect(try KeySource.of(store: store)?.read() == rotated)
    try await KeyUseCommand.parse(["--store", store.path, "--none"]).run()
    #expect(KeySource.of(store: store) == nil)
    #expect(throws: (any Error).self) { try KeyUseCommand.parse(["--store", store.path]) }
  }

  @Test("The daemon's file names a key file or a command, and not both")
  func settings() throws {
    let file = directory.file("syncd.json")
    try Data(
      #"{"stores":[{"path":"/a","keyFile":"k"},{"path":"/b","keyCommand":"pass show k"}]}"#.utf8
    ).write(to: file)
    let stores = try DaemonConfiguration(contentsOf: file).stores
    #expect(stores[0].keyFile?.path == directory.file("k").path)
    #expect(stores[1].keyCommand == "pass show k" && stores[1].keyFile == nil)
    try Data(#"{"stores":[{"path":"/a","keyFile":"k","keyCommand":"c"}]}"#.utf8).write(to: file)
    let error = #expect(throws: Failure.self) { try DaemonConfiguration(contentsOf: file) }
    #expect(error?.message.contains("keyCommand") ?? false)
  }
}
