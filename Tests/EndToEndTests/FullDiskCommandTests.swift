import Foundation
import TestSupport
import Testing

/// What `syncctl` does on a host whose disk is full.
@Suite(.serialized, .enabled(if: SmallDisk.isPossible, "This user may not mount a file system."))
struct FullDiskCommandTests {
  private let directory: TemporaryDirectory
  private let disk: SmallDisk
  private var store: String { disk.folder.appendingPathComponent("small.sqlite").path }

  init() throws {
    directory = try TemporaryDirectory()
    disk = try SmallDisk(mebibytes: 24, at: directory.file("disk"))
  }

  private func model(isExternal: Bool) throws -> URL {
    let image =
      "<attribute name=\"image\" optional=\"YES\" attributeType=\"Binary\""
      + (isExternal ? " allowsExternalBinaryDataStorage=\"YES\"/>" : "/>")
    let text = """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
      <entity name="Photo"><attribute name="name" optional="YES" attributeType="String"/>\(image)</entity>
      </model>
      """
    return try writeModel(text, named: "Photos", in: directory)
  }

  private func run(_ arguments: [String], token: String? = nil) throws -> Outcome {
    try Programs.run(
      "syncctl", arguments, environment: token.map { ["SYNCCTL_TOKEN": $0] } ?? [:],
      script: disk.script)
  }

  @discardableResult
  private func done(
    _ arguments: [String], token: String? = nil, _ location: SourceLocation = #_sourceLocation
  ) throws -> String {
    let outcome = try run(arguments, token: token)
    #expect(outcome.status == 0, "\(arguments): \(outcome.errors)", sourceLocation: location)
    return outcome.output
  }

  private func addPhoto(_ number: UInt64, bytes: Int) throws {
    var numbers = SeededNumbers(seed: number)
    let image = Data((0..<bytes).map { _ in UInt8(truncatingIfNeeded: numbers.next()) })
    let file = directory.file("p\(number).jsonl")
    try Data(
      try jsonLine([
        "op": "insert", "entity": "Photo", "id": "p\(number)",
        "set": ["name": "\(number)", "image": image.base64EncodedString()],
      ]).utf8
    ).write(to: file)
    try done(["import", "--store", store, file.path])
  }

  private func free() throws -> Int {
    let text = try disk.shell("df -B1 --output=avail '\(disk.folder.path)' | tail -1")
    return try #require(Int(text.trimmingCharacters(in: .whitespacesAndNewlines)))
  }

  /// Leaves so many bytes.
  private func fill(leaving bytes: Int) throws {
    try disk.shell("head -c \(try free() - bytes) /dev/zero > '\(disk.folder.path)/fill'")
  }

  @Test(
    "let-go makes room, sends what waited for it, and what has no room at all says which disk and how much",
    arguments: [true, false])
  func letGo(isExternal: Bool) throws {
    let server = try ServerProcess(data: directory.file("server"), zone: "photos")
    let token = try server.token(zone: "photos")
    server.kill()
    let limits = directory.file("limits.json")
    try Data(#"{ "valueBytesMax": 100000000 }"#.utf8).write(to: limits)
    server.limits = limits
    try server.start()
    defer { _ = server.stop() }
    try done(["init", "--store", store, "--model", try model(isExternal: isExternal).path])
    try done(
      [
        "enroll", "--store", store, "--server", server.address, "--zone", "photos", "--values",
        "first-use",
      ],
      token: token)
    for number in 0..<3 { try addPhoto(UInt64(number), bytes: 2_200_000) }
    try done(["sync", "--store", store], token: token)
    try done(["store", "vacuum", store])
    try addPhoto(7, bytes: 1_100_000)

    try fill(leaving: 0)
    // To look takes no room.
    #expect(try done(["values", "list", "--store", store]) == "all large values are here\n")
    var advised = 0
    for command in ["download", "take-back", "let-go"] {
      let full = try run(["values", command, "--store", store], token: token)
      #expect(full.status == 75, "\(command): \(full.errors)")
      #expect(
        full.errors.contains("\(disk.folder.path) has 0 bytes free"), "\(command): \(full.errors)")
      advised = Int(full.errors.firstMatch(of: /Free (\d+) bytes there/)?.1 ?? "") ?? 0
      #expect(advised > 0, "\(command): \(full.errors)")
    }
    // So much is enough to note it.
    try disk.empty()
    try fill(leaving: advised)
    let noted = try run(
      ["values", "let-go", "--store", store, "--keep-bytes", "1000000000"], token: token)
    #expect(!noted.errors.contains("bytes there, and run it again"), "\(advised): \(noted.errors)")
    #expect(!noted.errors.contains("to note which"), "\(advised): \(noted.errors)")

    try disk.empty()
    try fill(leaving: 200_000)
    let refused = try run(["sync", "--store", store], token: token)
    #expect(refused.status == 75, "\(refused.errors)")
    #expect(refused.errors.contains("syncctl values let-go --store"), "\(refused.errors)")
    let left = try free()
    #expect(left >= 120_000, "what found no room gives back what it took: \(left)")
    // What there is nothing to do for takes no room either.
    try done(["values", "download", "--store", store], token: token)
    try done(["values", "take-back", "--store", store], token: token)
    let gone = try done(["values", "let-go", "--store", store], token: token)
    #expect(gone.hasPrefix("let go of 3 large values of 6600000 bytes; 1 large value of 1100000 "))
    #expect(try free() > 4_000_000)
    let rest = try done(["values", "let-go", "--store", store], token: token)
    #expect(rest == "let go of 1 large value of 1100000 bytes\n")
    let status = try done(["status", "--store", store])
    #expect(status.contains("in step"), "\(status)")
    try done(["store", "check", store])
    try disk.empty()
    try done(["values", "download", "--store", store], token: token)
    #expect(try done(["verify", "--store", store], token: token).hasPrefix("equal"))
  }

  @Test("What is written to a disk that is full says so, and leaves nothing there")
  func writing() throws {
    let elsewhere = directory.file("album.sqlite")
    let model = try model(isExternal: true)
    try done(["init", "--store", elsewhere.path, "--model", model.path])
    var numbers = SeededNumbers(seed: 3)
    let image = Data((0..<700_000).map { _ in UInt8(truncatingIfNeeded: numbers.next()) })
    let line = try jsonLine([
      "op": "insert", "entity": "Photo", "id": "p", "set": ["image": image.base64EncodedString()],
    ])
    let file = directory.file("p.jsonl")
    try Data(line.utf8).write(to: file)
    try done(["import", "--store", elsewhere.path, file.path])
    let copy = disk.folder.appendingPathComponent("copy.sqlite").path
    // Not even the folder of large values, the folder alone, some of a value, and all but the database.
    for bytes in [0, 4096, 400_000, 720_000] {
      try fill(leaving: bytes)
      let outcome = try run(["store", "backup", elsewhere.path, copy])
      #expect(outcome.status == 75, "\(bytes): \(outcome.errors)")
      #expect(outcome.errors.contains("bytes free"), "\(bytes): \(outcome.errors)")
      #expect(outcome.errors.contains(disk.folder.path), "\(bytes): \(outcome.errors)")
      #expect(!outcome.errors.contains("Error Domain"), "\(bytes): \(outcome.errors)")
      try disk.empty()
      let rest = try disk.shell("find '\(disk.folder.path)' -type f")
      #expect(rest.isEmpty, "\(bytes): \(rest)")
    }
    try done(["store", "backup", elsewhere.path, copy])
  }
}
