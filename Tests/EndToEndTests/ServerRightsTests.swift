import Foundation
import TestSupport
import Testing

/// What commands of the server say where the rights of its data folder are wrong. Run by root they run as nobody; else as who
/// runs the tests.
@Suite(.serialized) struct ServerRightsTests {
  private static let isRoot = geteuid() == 0
  private static let asOther =
    isRoot
    ? #"exec setpriv --reuid=65534 --regid=65534 --clear-groups "$0" "$@""#
    : #"exec "$0" "$@""#

  private let directory: TemporaryDirectory
  private let data: URL

  init() throws {
    directory = try TemporaryDirectory()
    data = directory.file("data")
    chmod(directory.url.path, 0o755)
    try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
    if Self.isRoot { try #require(chown(data.path, 65_534, 65_534) == 0) }
    try #require(try run(["zone", "create", "shop"]).status == 0)
  }

  private func run(_ arguments: [String]) throws -> Outcome {
    try Programs.run(
      "driftless-server", arguments + ["--data", data.path], script: Self.asOther)
  }

  private static let commands = [
    ["zone", "list"], ["zone", "create", "other"], ["token", "create", "--zone", "shop"],
    ["operator", "list"], ["verify"], ["audit"], ["serve", "--listen", "127.0.0.1:0"],
  ]

  private func expectRefusals(of path: String, _ what: String) throws {
    // A server asks for that lock only when it copies its log.
    for command in Self.commands where !path.hasSuffix("write.lock") || command[0] != "serve" {
      let outcome = try run(command)
      #expect(outcome.status == 77, "\(what), \(command): \(outcome)")
      #expect(outcome.errors.contains("\(path)"), "\(what), \(command): \(outcome)")
      #expect(outcome.errors.contains("(folder)"), "\(what), \(command): \(outcome)")
      #expect(outcome.errors.contains("Try: "), "\(what), \(command): \(outcome)")
    }
  }

  @Test(
    "A data folder, or a file in it, whose rights are wrong ends each command with 77, and is named",
    arguments: [
      ("", 0o500), ("", 0o000), ("/driftless.sqlite", 0o000), ("/driftless.sqlite", 0o400),
      ("/driftless.sqlite-shm", 0o400), ("/write.lock", 0o000),
    ])
  func rights(_ file: String, _ mode: mode_t) throws {
    let path = data.path + file
    // As one that was killed leaves it.
    if file.hasSuffix("-shm") {
      try Data().write(to: URL(fileURLWithPath: path))
      if Self.isRoot { try #require(chown(path, 65_534, 65_534) == 0) }
    }
    chmod(path, mode)
    defer { chmod(path, file.isEmpty ? 0o700 : 0o600) }
    try expectRefusals(of: path, "\(file) \(String(mode, radix: 8))")
    chmod(path, file.isEmpty ? 0o700 : 0o600)
    #expect(try run(["verify"]).status == 0, "nothing was changed")
  }

  @Test("A data folder that cannot be made ends with 77")
  func unmakeable() throws {
    let closed = directory.file("closed")
    try FileManager.default.createDirectory(at: closed, withIntermediateDirectories: true)
    chmod(closed.path, 0o555)
    defer { chmod(closed.path, 0o755) }
    let outcome = try Programs.run(
      "driftless-server",
      ["zone", "create", "shop", "--data", closed.appendingPathComponent("data").path],
      script: Self.asOther)
    #expect(outcome.status == 77, "\(outcome)")
    #expect(outcome.errors.contains("permission"), "\(outcome)")
  }
}
