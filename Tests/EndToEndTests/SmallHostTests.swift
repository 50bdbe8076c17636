import Foundation
import TestSupport
import Testing

/// Hosts that have not all large values of their zone: for want of room, or since they let go of some.
@Suite(.serialized) struct SmallHostTests {
  private let directory: TemporaryDirectory
  private let server: ServerProcess
  private let model: URL
  private let token: String
  private let large: Replica

  init() throws {
    directory = try TemporaryDirectory()
    let text = ModelText(entities: [
      .init(name: "Photo", attributes: [("name", "String", nil), ("image", "Binary", nil)])
    ])
    model = try writeModel(text.xml, named: "Photos", in: directory)
    server = try ServerProcess(data: directory.file("server"), zone: "photos")
    token = try server.token(zone: "photos")
    server.kill()
    let limits = directory.file("limits.json")
    try Data(#"{ "valueBytesMax": 100000000 }"#.utf8).write(to: limits)
    server.limits = limits
    try server.start()
    large = try Replica(
      "large", in: directory, model: model, server: server, zone: "photos", token: token)
  }

  private func addPhotos(_ count: Int) throws {
    var numbers = SeededNumbers(seed: 7)
    for number in 0..<count {
      let image = Data((0..<1_500_000).map { _ in UInt8(truncatingIfNeeded: numbers.next()) })
      try large.importLines([
        try jsonLine([
          "op": "insert", "entity": "Photo", "id": "p\(number)",
          "set": ["name": "photo \(number)", "image": image.base64EncodedString()],
        ])
      ])
    }
    try large.sync()
  }

  @Test(
    "One whose disk has no room for all values saves and syncs on, says what waits, and fetches it once there is room",
    .enabled(if: SmallDisk.isPossible, "This user may not mount a file system."))
  func withoutRoom() throws {
    try addPhotos(8)
    let disk = try SmallDisk(mebibytes: 10, at: directory.file("disk"))
    let store = disk.folder.appendingPathComponent("small.sqlite").path
    func run(
      _ arguments: [String], expecting status: Int32 = 0,
      _ location: SourceLocation = #_sourceLocation
    ) throws -> String {
      let outcome = try Programs.run(
        "syncctl", arguments, environment: ["SYNCCTL_TOKEN": token], script: disk.script)
      #expect(
        outcome.status == status, "\(arguments): \(outcome.errors)", sourceLocation: location)
      return outcome.output
    }
    func status() throws -> [String: Any] {
      let text = try run(["status", "--store", store, "--json"])
      return try #require(
        try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }
    _ = try run(["init", "--store", store, "--model", model.path])
    _ = try run([
      "enroll", "--store", store, "--server", server.address, "--zone", "photos",
    ])
    for number in 0..<4 {
      _ = try run(["sync", "--store", store])
      // A save between has room, and goes.
      let line = directory.file("own\(number).jsonl")
      try Data(
        try jsonLine([
          "op": "insert", "entity": "Photo", "id": "own\(number)", "set": ["name": "own"],
        ]).utf8
      ).write(to: line)
      _ = try run(["import", "--store", store, line.path])
    }
    _ = try run(["sync", "--store", store])
    let full = try status()
    #expect(full["state"] as? String == "behind", "\(full)")
    let waiting = try #require(full["valuesWithoutRoom"] as? Int)
    #expect(waiting > 0 && waiting < 8, "some fit")
    #expect((full["pending"] as? [String: Any])?["objects"] as? Int == 0)
    let text = try run(["status", "--store", store, "--check"], expecting: 11)
    #expect(text.contains("for room on this host's disk"), "\(text)")
    try large.sync()
    #expect(try large.identities(of: "Photo").count == 12)
    try disk.shell("mount -o remount,size=200m '\(disk.folder.path)'")
    _ = try run(["sync", "--store", store])
    let whole = try status()
    #expect(whole["state"] as? String == "in-step", "\(whole)")
    #expect(whole["valuesWithoutRoom"] as? Int == 0 && whole["valuesInZone"] as? Int == 0)
    let exported = try run(["export", "--store", store])
    #expect(try exported == large.export())
    _ = server.stop()
  }

  @Test("A zone that has large values is replaced only by who says that they may be lost")
  func replaced() throws {
    func renew(_ words: String...) throws -> Outcome {
      try Programs.run(
        "driftless-server",
        ["zone", "renew", "photos", "--yes", "--data", server.data.path] + words)
    }
    try large.sync()
    #expect(try renew("--replace").status == 0, "it has none so far")
    try large.sync()
    try addPhotos(2)
    let before = try server.zoneGeneration("photos")
    let refused = try renew("--replace")
    #expect(refused.status != 0)
    #expect(
      refused.errors.contains("has 2 large values of 3000000 bytes")
        && refused.errors.contains("--lose-values")
        && refused.errors.contains("syncctl values download"), "\(refused.errors)")
    #expect(try server.zoneGeneration("photos") == before)
    #expect(try renew("--replace", "--lose-values").status == 0)
    #expect(try server.zoneGeneration("photos") != before)
    try large.sync()
    try addPhotos(1)
    #expect(try renew().status == 0, "replicas offer what they hold")
    _ = server.stop()
  }
}

extension ServerProcess {
  fileprivate func zoneGeneration(_ name: String) throws -> String? {
    let outcome = try Programs.run(
      "driftless-server", ["zone", "inspect", name, "--json", "--data", data.path])
    let json = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
    return json?["generation"] as? String
  }
}
