import Driftless
import DriftlessProtocol
import DriftlessSync
import Foundation
import SyncControl
import TestSupport
import Testing

/// The exit codes that scripts rely on, from the command line down.
@Suite struct ExitStatusTests {
  private func run(_ arguments: String...) async -> Int32 { await SyncControl.run(arguments) }

  @Test("A wrong command line is 64")
  func usage() async throws {
    #expect(await run("no-such-command") == 64)
    #expect(await run("log") == 64)
    #expect(await run("status", "--store", "a", "--socket", "b") == 64)
    #expect(await run("status", "--store", "") == 64)
    #expect(await run("status", "--socket", "") == 64)
    #expect(await run("watch", "--store", "a", "--every", "nan") == 64)
    #expect(await run("watch", "--store", "a", "--every", "0") == 64)
    #expect(await run("watch", "--store", "a", "--every", "1e300") == 64)
    #expect(await run("watch", "--store", "a", "--for", "-1") == 64)
    #expect(await run("watch", "--store", "a", "--for", "inf") == 64)
    #expect(await run("watch", "--store", "a", "--until", "done") == 64)
    #expect(await run("model", "lint") == 64)
    #expect(await run("model", "show") == 64)
    let shop = try Shop()
    #expect(
      await run("enroll", "--store", shop.url.path, "--server", "http://far.example", "--zone", "z")
        == 64, "the token would go in the clear")
  }

  @Test("A store that is enrolled knows its server; one that is not is 64 without it")
  func noServer() async throws {
    let shop = try Shop()
    let token = shop.directory.file("token")
    try Data("secret".utf8).write(to: token)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: token.path)
    let arguments = [
      "enroll", "--store", shop.url.path, "--zone", "z", "--token-file", token.path,
    ]
    #expect(await SyncControl.run(arguments) == 64)
    try shop.enroll()
    #expect(await SyncControl.run(arguments) == 69, "the server that it knows is away")
  }

  @Test("Help is 0")
  func help() async {
    #expect(await run("--help") == 0)
    #expect(await run("import", "--help") == 0)
  }

  @Test("Missing and foreign files are 65")
  func badData() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("none.sqlite").path
    #expect(await run("status", "--store", path) == 65)
    #expect(await run("watch", "--store", path) == 65)
    #expect(await run("model", "lint", path) == 65)
    #expect(await run("init", "--store", path, "--model", path) == 65)
    #expect(!FileManager.default.fileExists(atPath: path), "a failed init leaves nothing behind")
    try Data("no database at all, but long enough to be read".utf8).write(
      to: directory.file("none.sqlite"))
    #expect(await run("digest", "--store", path) == 65)
  }

  @Test("A server that is away is 69, a token file that others may read is 77")
  func enrol() async throws {
    let shop = try Shop()
    let token = shop.directory.file("token")
    try Data("secret".utf8).write(to: token)
    let arguments = [
      "enroll", "--store", shop.url.path, "--server", "http://127.0.0.1:1", "--zone", "z",
      "--token-file", token.path,
    ]
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: token.path)
    #expect(await SyncControl.run(arguments) == 77)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: token.path)
    #expect(await SyncControl.run(arguments) == 69)
    #expect(await run("sync", "--store", shop.url.path) == 1, "it is not enrolled")
  }

  @Test("A store that exists is not initialised again")
  func initTwice() async throws {
    let shop = try Shop()
    #expect(await run("init", "--store", shop.url.path, "--model", "whatever") == 1)
  }
}
