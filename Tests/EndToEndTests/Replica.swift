import Foundation
import TestSupport

/// A replica, driven through `syncctl` as a person or a script drives it.
struct Replica {
  let name: String
  let store: URL
  let folder: URL

  /// Creates the store.
  init(bare name: String, in directory: TemporaryDirectory, model: URL) throws {
    self.name = name
    folder = directory.file(name)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    store = folder.appendingPathComponent("\(name).sqlite")
    try run(["init", "--store", store.path, "--model", model.path])
  }

  /// Creates the store and enrols it.
  init(
    _ name: String, in directory: TemporaryDirectory, model: URL, server: ServerProcess,
    zone: String, token: String
  ) throws {
    try self.init(bare: name, in: directory, model: model)
    try run(
      ["enroll", "--store", store.path, "--server", server.address, "--zone", zone],
      environment: ["SYNCCTL_TOKEN": token])
  }

  /// Runs `syncctl` and expects it to succeed.
  @discardableResult
  func run(_ arguments: [String], environment: [String: String] = [:]) throws -> String {
    let outcome = try Programs.run("syncctl", arguments, environment: environment)
    guard outcome.status == 0 else {
      throw HarnessError(
        description:
          "\(name): syncctl \(arguments.joined(separator: " ")) ended \(outcome.status)\n\(outcome.output)\(outcome.errors)"
      )
    }
    return outcome.output
  }

  /// Runs `syncctl` on this store and hands back how it ended.
  func attempt(_ command: String, _ arguments: [String] = []) throws -> Outcome {
    try Programs.run("syncctl", [command, "--store", store.path] + arguments)
  }

  /// Imports JSON lines as `author`.
  func importLines(_ lines: [String], author: String? = nil) throws {
    let file = folder.appendingPathComponent("import.jsonl")
    try Data(lines.joined(separator: "\n").utf8).write(to: file)
    try run(
      ["import", "--store", store.path] + (author.map { ["--author", $0] } ?? []) + [file.path])
  }

  /// - Parameter allowingMassDelete: whether deletes are meant, however many of the objects here they are of.
  func sync(allowingMassDelete: Bool = false) throws {
    try run(
      ["sync", "--store", store.path] + (allowingMassDelete ? ["--allow-mass-delete"] : []))
  }
  func export() throws -> String { try run(["export", "--store", store.path]) }
  func digest() throws -> String {
    try run(["digest", "--store", store.path]).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// The identities of an entity's objects.
  func identities(of entity: String) throws -> [String] {
    let lines = try run(["export", "--store", store.path, "--entity", entity])
    return try lines.split(separator: "\n").compactMap {
      let object = try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
      return object?["id"] as? String
    }
  }

  /// Starts a sync and kills it after a while; the server too, if one is given, and starts that again.
  func syncAndKill(after seconds: Double, server: ServerProcess?) throws {
    let process = Process()
    process.executableURL = Programs.url("syncctl")
    process.arguments = ["sync", "--store", store.path]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    // Where the kill lands is chance; what must hold afterwards holds wherever it lands.
    usleep(UInt32(seconds * 1_000_000))
    server?.kill()
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    try server?.start()
  }

  /// `status --json` as a dictionary.
  func status() throws -> [String: Any] {
    let text = try run(["status", "--store", store.path, "--json"])
    guard let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    else { throw HarnessError(description: "status --json is no object: \(text)") }
    return object
  }
}

extension [Replica] {
  /// Syncs all until nothing is pending anywhere: every replica pushes once and pulls what came after.
  func settle(allowingMassDelete: Bool = false) throws {
    for _ in 0..<2 {
      for replica in self { try replica.sync(allowingMassDelete: allowingMassDelete) }
    }
  }
}

/// A JSON line of a dictionary, with sorted keys.
func jsonLine(_ object: [String: Any]) throws -> String {
  String(
    decoding: try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys]),
    as: UTF8.self)
}

/// Writes a model as `<name>.xcdatamodeld` with one version.
func writeModel(_ xml: String, named name: String, in directory: TemporaryDirectory) throws -> URL {
  let bundle = directory.file("\(name).xcdatamodeld")
  let version = bundle.appendingPathComponent("\(name).xcdatamodel")
  try FileManager.default.createDirectory(at: version, withIntermediateDirectories: true)
  try Data(xml.utf8).write(to: version.appendingPathComponent("contents"))
  return bundle
}
