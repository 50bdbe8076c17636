import Foundation
import TestSupport
import Testing

/// Twelve years of edits by fifty people to one data set, replayed by five replicas through the real programs.
@Suite(.serialized, .enabled(if: SharedData.has("legislators"), "no ../shared"))
struct LegislatorsTests {
  private static let replicaCount = 5
  private static let changes = "legislators/legislators-linear.changes.jsonl.gz"
  private static let final = "legislators/legislators-linear.final.jsonl.gz"

  private struct World {
    let history: EditHistory
    let directory: TemporaryDirectory
    let server: ServerProcess
    let replicas: [Replica]

    init() throws {
      let history = try EditHistory(changes: changes)
      let directory = try TemporaryDirectory()
      let model = try writeModel(history.model.xml, named: "Legislators", in: directory)
      let server = try ServerProcess(data: directory.file("server"), zone: "congress")
      let token = try server.token(zone: "congress")
      self.history = history
      self.directory = directory
      self.server = server
      replicas = try (0..<replicaCount).map {
        try Replica(
          "r\($0)", in: directory, model: model, server: server, zone: "congress", token: token)
      }
    }

    /// Runs of commits that one replica makes in a row: (replica, its commits).
    var turns: [(replica: Int, commits: [EditHistory.Commit])] {
      var turns: [(replica: Int, commits: [EditHistory.Commit])] = []
      for commit in history.commits {
        let replica = commit.author % replicaCount
        if turns.last?.replica == replica {
          turns[turns.count - 1].commits.append(commit)
        } else {
          turns.append((replica, [commit]))
        }
      }
      return turns
    }
  }

  /// The objects of an export by "entity/key", each with its properties that are not null.
  private func objects(_ export: String) throws -> [String: [String: String]] {
    var objects: [String: [String: String]] = [:]
    for line in export.split(separator: "\n") {
      guard
        let row = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
        let entity = row["entity"] as? String, let set = row["set"] as? [String: Any]
      else { throw HarnessError(description: "not an exported object: \(line)") }
      let key = "\(entity)/\(set["key"] ?? "")"
      objects[key] = set.filter { $0.key != "key" && !($0.value is NSNull) }
        .mapValues { "\($0)" }
    }
    return objects
  }

  @Test("Replayed in order by five replicas, the end state is the recorded one")
  func inOrder() throws {
    let world = try World()
    for turn in world.turns {
      let replica = world.replicas[turn.replica]
      var lines: [String] = []
      for commit in turn.commits {
        lines += try commit.changes.map { try world.history.line($0) }
        lines.append(#"{"op":"save","author":"\#(commit.author)"}"#)
      }
      try replica.sync()
      try replica.importLines(lines)
      try replica.sync()
    }
    try world.replicas.settle()

    let digests = try Set(world.replicas.map { try $0.digest() })
    #expect(digests.count == 1)
    let objects = try objects(world.replicas[0].export())
    var expected: [String: [String: String]] = [:]
    for line in try EditHistory.lines(of: Self.final) {
      guard
        let row = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
        let entity = row["e"] as? String, let id = row["id"] as? String,
        let properties = row["props"] as? [String: Any]
      else { throw HarnessError(description: "not a final object: \(line)") }
      let values = try world.history.values(
        entity: entity, properties.filter { !($0.value is NSNull) })
      expected["\(entity)/\(id)"] = values.mapValues { "\($0)" }
    }
    #expect(objects.count == expected.count)
    let different = expected.filter { objects[$0.key] != $0.value }
    #expect(
      different.isEmpty,
      "\(different.count) objects differ, first \(different.first.map { "\($0) is \(String(describing: objects[$0.key]))" } ?? "")"
    )
  }

  @Test("Replayed with long offline windows, all replicas end equal")
  func offlineWindows() throws {
    let world = try World()
    var live = [Set<String>](repeating: [], count: Self.replicaCount)
    var turnsSinceSync = [Int](repeating: 0, count: Self.replicaCount)
    for turn in world.turns {
      let replica = world.replicas[turn.replica]
      var lines: [String] = []
      for commit in turn.commits {
        for change in commit.changes {
          let key = "\(change.entity)/\(change.id)"
          let known = live[turn.replica].contains(key)
          switch (change.operation, known) {
          case ("delete", false): continue
          case ("delete", true): live[turn.replica].remove(key)
          default: live[turn.replica].insert(key)
          }
          let operation = change.operation == "delete" ? "delete" : known ? "update" : "insert"
          lines.append(try world.history.line(change, operation: operation))
        }
        lines.append(#"{"op":"save","author":"\#(commit.author)"}"#)
      }
      try replica.importLines(lines)
      turnsSinceSync[turn.replica] += 1
      // A window of its own length for each replica, so that they meet in ever new combinations.
      if turnsSinceSync[turn.replica] >= 3 + 2 * turn.replica {
        turnsSinceSync[turn.replica] = 0
        // In the longest windows more than half of what a replica has is deleted by the others.
        try replica.sync(allowingMassDelete: true)
        live[turn.replica] = Set(try objects(replica.export()).keys)
      }
    }
    try world.replicas.settle(allowingMassDelete: true)
    try world.replicas.settle()

    let digests = try world.replicas.map { try $0.digest() }
    #expect(Set(digests).count == 1)
    for replica in world.replicas {
      let pending = try replica.status()["pending"] as? [String: Any]
      #expect(pending?["properties"] as? Int == 0, "\(replica.name) has nothing left to push")
    }
  }
}
