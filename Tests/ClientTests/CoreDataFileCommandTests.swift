import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import SyncControl

/// What `syncctl` does with files that Core Data wrote on a Mac.
@Suite struct CoreDataFileCommandTests {
  private static let stores = [
    "Recipes.sqlite", "Bookmarks/Bookmarks_V1.sqlite", "SampleModel/SampleModel_V2.sqlite",
    "SampleModel2/SampleModel2_V1.sqlite",
  ]

  /// Nil, with a line that says so, where the shared folder is absent.
  private func shared(_ path: String) -> URL? {
    var root = URL(fileURLWithPath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    let url = root.appendingPathComponent("shared/data/core-data-stores/\(path)")
    guard FileManager.default.fileExists(atPath: url.path) else {
      print("skipped: \(url.lastPathComponent) of the shared data is absent")
      return nil
    }
    return url
  }

  @Test(
    "Who only looks changes nothing in a file of Core Data's, nor beside it", arguments: stores)
  func looking(name: String) async throws {
    guard let original = shared(name) else { return }
    let directory = try TemporaryDirectory()
    let url = directory.file("core.sqlite")
    let bytes = try Data(contentsOf: original)
    try bytes.write(to: url)
    let doctor = try DoctorCommand.parse(["--store", url.path])
    try await doctor.run()
    let status = try StatusCommand.parse(["--store", url.path])
    try await status.run()
    let log = try LogCommand.parse(["--store", url.path])
    try await log.run()
    let digest = try DigestCommand.parse(["--store", url.path])
    try await digest.run()
    #expect(try Data(contentsOf: url) == bytes)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: directory.url.path) == ["core.sqlite"])
    let vacuum = try StoreVacuumCommand.parse([url.path])
    try await vacuum.run()
    let info = try StoreInfoCommand.parse([url.path])
    try await info.run()
  }

  @Test("Of the versions of a compiled model the one that wrote the file is taken")
  func versions() async throws {
    guard let file = shared("SampleModel/SampleModel_V2.sqlite"),
      let model = shared("SampleModel/SampleModel.momd")
    else { return }
    let check = try StoreCheckCommand.parse([file.path, "--model", model.path])
    try await check.run()
  }

  @Test("The doctor says of what is no store just that")
  func noStore() async throws {
    let directory = try TemporaryDirectory()
    for url in [directory.url, directory.file("missing.sqlite")] {
      let doctor = try DoctorCommand.parse(["--store", url.path])
      await #expect(throws: ExitCode.self) { try await doctor.run() }
    }
  }
}
