import ArgumentParser
import Driftless
import Foundation
import TestSupport
import Testing

@testable import SyncControl

/// What `syncctl` does with files that Core Data wrote on a Mac.
@Suite struct CoreDataFileCommandTests {
  @Test(
    "Who only looks changes nothing in a file of Core Data's, nor beside it",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"),
    arguments: SharedData.stores)
  func looking(path: String) async throws {
    let original = SharedData.url(path)
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

  @Test(
    "Of the versions of a compiled model the one that wrote the file is taken, and no other fits",
    .enabled(if: SharedData.has("core-data-stores"), "no ../shared"))
  func versions() async throws {
    let file = SharedData.url("core-data-stores/SampleModel/SampleModel_V2.sqlite")
    let models = SharedData.url("core-data-stores/SampleModel/SampleModel.momd")
    func check(_ model: URL) throws -> StoreCheckCommand {
      try StoreCheckCommand.parse([file.path, "--model", model.path])
    }
    let second = try ManagedObjectModel(
      contentsOf: models.appendingPathComponent("SampleModel2.mom"))
    let command = try check(models)
    let store = try command.target.inspect(command.output)
    #expect(store.model.entityVersionHashesByName == second.entityVersionHashesByName)
    store.close()
    try await command.run()
    for other in ["SampleModel", "SampleModel3"] {
      let command = try check(models.appendingPathComponent("\(other).mom"))
      await #expect(throws: ExitCode.self, "\(other)") { try await command.run() }
    }
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
