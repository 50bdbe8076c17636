import Foundation
import TestSupport
import Testing

/// The demo's data under kills: what the demo shows on a good day holds on a bad one.
@Suite(.serialized) struct HostPackagesTests {
  @Test("Client and server killed at random points of a sync loop of the demo's data end equal")
  func killedAtRandom() throws {
    let seed = UInt64(ProcessInfo.processInfo.environment["SEED"] ?? "") ?? 7_351
    var random = SeededGenerator(seed: seed)
    let directory = try TemporaryDirectory()
    let server = try ServerProcess(data: directory.file("server"), zone: "host")
    let token = try server.token(zone: "host")
    let replicas = try ["kiosk", "till", "ship"].map {
      try Replica(
        $0, in: directory, model: HostPackages.model, server: server, zone: "host", token: token)
    }
    let lines = try HostPackages.lines(count: 300, in: directory)
    try replicas[0].importLines(lines)
    try replicas.settle()
    for _ in 0..<8 {
      for replica in replicas {
        try replica.importLines(try edits(by: replica, &random), author: replica.name)
        try replica.syncAndKill(
          after: .random(in: 0.0...0.2, using: &random),
          server: Int.random(in: 0..<3, using: &random) == 0 ? server : nil)
      }
    }
    try replicas.settle()
    try replicas.settle()
    let digests = try replicas.map { try $0.digest() }
    #expect(Set(digests).count == 1, "seed \(seed)")
    for replica in replicas {
      let pending = try replica.status()["pending"] as? [String: Any]
      #expect(pending?["objects"] as? Int == 0, "seed \(seed)")
      #expect(try SQLiteFile.integrity(of: replica.store) == "ok")
    }
    server.kill()
    #expect(
      try SQLiteFile.integrity(
        of: directory.file("server").appendingPathComponent("driftless.sqlite"))
        == "ok")
  }

  /// Some edits, deletes and inserts of one replica, each of what it knows.
  private func edits(by replica: Replica, _ random: inout SeededGenerator) throws -> [String] {
    var alive = try replica.identities(of: "Package")
    return try (0..<Int.random(in: 1...12, using: &random)).map { _ in
      let place = Int.random(in: 0..<alive.count, using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4:
        let note = "\(replica.name) \(UInt16.random(in: 0...9999, using: &random))"
        return try jsonLine([
          "op": "update", "entity": "Package", "id": alive[place], "set": ["note": note],
        ])
      case 4..<7:
        return try jsonLine([
          "op": "update", "entity": "Package", "id": alive[place],
          "set": [
            "reviews": Int.random(in: 1...9, using: &random),
            "rating": Int.random(in: 1...5, using: &random),
          ],
        ])
      case 7:
        return try jsonLine(["op": "delete", "entity": "Package", "id": alive.remove(at: place)])
      default:
        let id = "\(replica.name)-\(UInt64.random(in: 0 ... .max, using: &random))"
        return try jsonLine([
          "op": "insert", "entity": "Package", "id": id,
          "set": ["name": id, "section": "section-\(Int.random(in: 0..<9, using: &random))"],
        ])
      }
    }
  }
}
