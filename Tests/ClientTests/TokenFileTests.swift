import Foundation
import SyncDaemon
import TestSupport
import Testing

@Suite struct TokenFileTests {
  private func mode(_ url: URL) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
  }

  @Test("A kept token is for its owner only, and is read back")
  func kept() throws {
    let directory = try TemporaryDirectory()
    let url = TokenFile.url(forStore: directory.file("a.sqlite"))
    try TokenFile.write("secret", to: url)
    try TokenFile.write("newer", to: url)
    #expect(url.lastPathComponent == "a.sqlite-driftless-token")
    #expect(try mode(url) == 0o600)
    #expect(try TokenFile.read(url) == "newer")
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path).count == 1)
  }

  @Test("A pipe is no token, and is not waited for")
  func pipe() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("token")
    #expect(mkfifo(url.path, 0o600) == 0)
    #expect(throws: Failure.self) { try TokenFile.read(url) }
  }

  @Test("A token that others may read is refused", arguments: [0o640, 0o604, 0o660])
  func readable(mode: Int) throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("token")
    try Data("secret\n".utf8).write(to: url)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path)
    do {
      _ = try TokenFile.read(url)
      Issue.record("a token of mode \(String(mode, radix: 8)) was taken")
    } catch {
      #expect(error.status == .notAllowed)
      #expect(error.suggestion == "chmod 600 \(url.path)")
    }
  }

  @Test("What is no token is refused", arguments: ["", "\n", "two words", "line\nline", "é"])
  func noToken(text: String) throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("token")
    try Data(text.utf8).write(to: url)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: url.path)
    #expect(throws: Failure.self) { try TokenFile.read(url) }
    #expect(throws: Failure.self) { try TokenFile.read(directory.file("missing")) }
    #expect(throws: Failure.self) { try TokenFile.read(directory.url) }
  }
}
