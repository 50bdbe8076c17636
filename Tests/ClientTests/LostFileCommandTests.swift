import ArgumentParser
import Driftless
import Foundation
import SyncControl
import SyncDaemon
import TestSupport
import Testing

@testable import SyncControl

/// What the command line says of large values whose files beside the store are gone.
struct LostFileCommandTests {
  private static let large = Data(repeating: 7, count: 300_000)

  private func model() -> ManagedObjectModel {
    let photo = EntityDescription("Photo")
    let image = AttributeDescription("image", .binaryData)
    image.allowsExternalBinaryDataStorage = true
    photo.properties = [image]
    return ManagedObjectModel(entities: [photo])
  }

  @MainActor
  private func store(_ directory: TemporaryDirectory) throws -> URL {
    let url = directory.file("album.sqlite")
    let store = try PersistentStore.open(url: url, model: model())
    defer { store.close() }
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    try context.insert(entityNamed: "Photo")["image"] = Self.large
    try context.save()
    return url
  }

  @Test(
    "doctor and give-up-lost name what is gone, backup copies what there is and says so, and --yes ends it"
  )
  func givingUp() async throws {
    let directory = try TemporaryDirectory()
    let url = try await store(directory)
    try await DoctorCommand.parse(["--store", url.path]).perform()
    try StoreGiveUpLostCommand.parse([url.path]).perform()
    try FileManager.default.removeItem(at: directory.file(".album_SUPPORT"))
    await #expect(throws: ExitCode(1)) {
      try await DoctorCommand.parse(["--store", url.path]).perform()
    }
    #expect(throws: ExitCode(65)) { try StoreGiveUpLostCommand.parse([url.path]).perform() }
    let copy = directory.file("copy.sqlite")
    #expect(throws: ExitCode(65)) {
      try StoreBackupCommand.parse([url.path, copy.path]).perform()
    }
    #expect(FileManager.default.fileExists(atPath: copy.path))
    try StoreGiveUpLostCommand.parse([url.path, "--yes"]).perform()
    try await DoctorCommand.parse(["--store", url.path]).perform()
    try StoreGiveUpLostCommand.parse([url.path]).perform()
    try StoreCheckCommand.parse([url.path]).perform()
  }

  @Test("Status of a store that was copied without its folder says so, and how to get out")
  @MainActor func copiedAlone() async throws {
    let directory = try TemporaryDirectory()
    let url = try store(directory)
    let folder = directory.file(".album_SUPPORT")
    func report() async throws -> StatusReport { try await StatusLook().report(of: url) }
    #expect(try await report().lostFolder == nil)
    try FileManager.default.moveItem(at: folder, to: directory.file("elsewhere"))
    let told = try await report()
    #expect(told.lostFolder?.path.contains(".album_SUPPORT") == true)
    #expect(told.lines.contains { $0.hasPrefix("no folder:") }, "\(told.lines)")
    #expect(told.reason?.contains("syncctl store give-up-lost") == true, "\(told.reason ?? "")")
    try FileManager.default.moveItem(at: directory.file("elsewhere"), to: folder)
    #expect(try await report().lostFolder == nil)
  }

  @Test(
    "An import that meets such objects says how to get out, and blames no line", arguments: [1, 2])
  @MainActor func importing(count: Int) throws {
    let directory = try TemporaryDirectory()
    let url = try store(directory)
    let store = try PersistentStore.open(url: url, model: model())
    defer { store.close() }
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    for _ in 1..<count { try context.insert(entityNamed: "Photo")["image"] = Self.large }
    try context.save()
    let photos = try context.fetch(FetchRequest<ManagedObject>(entityName: "Photo"))
    let ids = try store.read { transaction in
      try photos.map { try transaction.identity(of: $0.objectID.key) }
    }
    try FileManager.default.removeItem(at: directory.file(".album_SUPPORT"))
    let lines = ids.map { #"{"op":"update","entity":"Photo","id":"\#($0)","set":{"image":null}}"# }
    let failure = try #require(
      #expect(throws: Failure.self) {
        _ = try Importer(store: store, author: nil, source: "f.jsonl")
          .run(Data(lines.joined(separator: "\n").utf8))
      })
    #expect(failure.message.hasPrefix("f.jsonl:\(count): "), "\(failure.message)")
    #expect(failure.suggestion.contains("syncctl store give-up-lost"), "\(failure.suggestion)")
    #expect(!"\(failure)".contains("accessorErrors"), "\(failure)")
  }
}
