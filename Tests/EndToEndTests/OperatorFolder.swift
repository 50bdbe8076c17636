import Foundation
import TestSupport
import Testing

/// A server's data folder, and the operator's commands on it.
struct OperatorFolder {
  let directory: TemporaryDirectory
  let data: URL

  /// A folder that is made by the first command that makes a zone.
  init(zones: [String] = []) throws {
    directory = try TemporaryDirectory()
    data = directory.file("data")
    for zone in zones { try done(["zone", "create", zone]) }
  }

  /// The folder of a server.
  init(_ world: FaultWorld) {
    directory = world.directory
    data = world.server.data
  }

  var database: URL { data.appendingPathComponent("driftless.sqlite") }

  /// A file beside the folder.
  func path(_ name: String) -> String { directory.file(name).path }

  func run(_ arguments: [String], faults: [String: String] = [:]) throws -> Outcome {
    try Programs.run(
      "driftless-server", arguments + ["--data", data.path], environment: faults)
  }

  /// Runs a command that is to be done.
  @discardableResult
  func done(_ arguments: [String], _ location: SourceLocation = #_sourceLocation) throws -> Outcome
  {
    let outcome = try run(arguments)
    #expect(outcome.status == 0, "\(arguments): \(outcome.errors)", sourceLocation: location)
    return outcome
  }

  /// The values that a command with `--json` prints, one a line.
  @discardableResult
  func json(
    _ arguments: [String], _ location: SourceLocation = #_sourceLocation
  ) throws -> [[String: Any]] {
    try done(arguments + ["--json"], location).output.split(separator: "\n").map { line in
      let value = try JSONSerialization.jsonObject(with: Data(line.utf8))
      return try #require(value as? [String: Any])
    }
  }

  /// Changes rows as a disk does it, which knows no rules.
  func damage(_ statement: String) throws { try SQLiteFile.damage(database, statement) }
}
