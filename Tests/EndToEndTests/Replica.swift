import Foundation
import TestSupport

/// A replica, driven through `syncctl` as a person or a script drives it.
struct Replica {
  let name: String
  let store: URL
  let folder: URL

  /// Creates the store and enrols it.
  init(
    _ name: String, in directory: TemporaryDirectory, model: URL, server: ServerProcess,
    zone: String, token: String
  ) throws {
    self.name = name
    folder = directory.file(name)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    store = folder.appendingPathComponent("\(name).sqlite")
    try run(["init", "--store", store.path, "--model", model.path])
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

  func sync() throws { try run(["sync", "--store", store.path]) }
  func export() throws -> String { try run(["export", "--store", store.path]) }
  func digest() throws -> String {
    try run(["digest", "--store", store.path]).trimmingCharacters(in: .whitespacesAndNewlines)
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
  func settle() throws {
    for _ in 0..<2 { for replica in self { try replica.sync() } }
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
