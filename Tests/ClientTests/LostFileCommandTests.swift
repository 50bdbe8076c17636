import ArgumentParser
import Driftless
import DriftlessSync
import Foundation
import Glibc
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
    "Status says how many files are gone or cut off where their folder is there, and so do check, doctor and backup",
    arguments: [false, true])
  @MainActor func lostFile(isCut: Bool) async throws {
    let directory = try TemporaryDirectory()
    let url = try store(directory)
    let folder = directory.file(".album_SUPPORT/_EXTERNAL_DATA")
    let name = try #require(
      try FileManager.default.contentsOfDirectory(atPath: folder.path).first)
    let file = folder.appendingPathComponent(name)
    #expect(try await StatusLook().report(of: url).lostValues == 0)
    if isCut {
      truncate(file.path, 200_000)
    } else {
      try FileManager.default.removeItem(at: file)
    }
    let told = try await StatusLook().report(of: url)
    #expect(told.lostValues == 1 && told.lostFolder == nil)
    #expect(told.lines.contains { $0.hasPrefix("lost values:") }, "\(told.lines)")
    #expect(told.reason?.contains("syncctl store give-up-lost") == true, "\(told.reason ?? "")")
    let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(told)) as? [String: Any]
    #expect(json?["valuesLost"] as? Int == 1)
    #expect(throws: ExitCode(65)) { try StoreCheckCommand.parse([url.path]).perform() }
    await #expect(throws: ExitCode(1)) {
      try await DoctorCommand.parse(["--store", url.path]).perform()
    }
    #expect(throws: ExitCode(65)) {
      try StoreBackupCommand.parse([url.path, directory.file("copy.sqlite").path]).perform()
    }
    #expect(!FileManager.default.fileExists(atPath: directory.file(".copy_SUPPORT").path))
    try StoreGiveUpLostCommand.parse([url.path, "--yes"]).perform()
    #expect(try await StatusLook().report(of: url).lostValues == 0)
  }

  /// Two stores alike, of which the first has lost a value.
  @MainActor
  private func twins(_ directory: TemporaryDirectory) throws -> (lost: URL, whole: URL) {
    let url = try store(directory)
    let copy = directory.file("copy.sqlite")
    let first = try PersistentStore.open(url: url, model: model())
    defer { first.close() }
    try first.backup(to: copy)
    try FileManager.default.removeItem(at: directory.file(".album_SUPPORT"))
    return (url, copy)
  }

  @Test(
    "An export leaves a lost value out, also where it goes over what is there, and ends with 65")
  @MainActor func exporting() throws {
    let directory = try TemporaryDirectory()
    let (url, copy) = try twins(directory)
    #expect(throws: ExitCode(65)) { try ExportCommand.parse(["--store", url.path]).perform() }
    #expect(throws: ExitCode(65)) {
      try ExportCommand.parse(["--store", url.path, "--upsert"]).perform()
    }
    #expect(throws: ExitCode(65)) { try StoreExportCommand.parse([url.path]).perform() }
    try ExportCommand.parse(["--store", copy.path]).perform()
  }

  @Test("A digest without a lost value is none: the command says which is missing")
  @MainActor func digest() throws {
    let directory = try TemporaryDirectory()
    let (url, _) = try twins(directory)
    let error = #expect(throws: StoreError.self) {
      try DigestCommand.parse(["--store", url.path]).perform()
    }
    #expect(error?.code == .lostFile)
    #expect(error?.message.contains("no digest without Photo.image of ") == true, "\(error as Any)")
  }

  @Test(
    "A comparison of two stores leaves a lost value out, and ends with 65 where all else is the same"
  )
  @MainActor func diff() throws {
    let directory = try TemporaryDirectory()
    let (url, copy) = try twins(directory)
    for pair in [[url.path, copy.path], [copy.path, url.path]] {
      #expect(throws: ExitCode(65)) { try DiffCommand.parse(pair).perform() }
    }
    try DiffCommand.parse([copy.path, copy.path]).perform()
    let failure = #expect(throws: Failure.self) {
      try DiffCommand.parse([copy.path, directory.file("none.sqlite").path]).perform()
    }
    #expect(failure?.suggestion.contains("init") == false, "\(failure as Any)")
  }

  @Test(
    "A comparison with the zone names what is lost and was never sent, and a sync says how many there are"
  )
  func unsent() throws {
    let json = """
      {"sequence":3,"objects":1,"properties":2,"bytes":0,"requests":0,"differenceCount":1,"repairedCount":0,
      "leftOut":{"pending":0,"setAside":0,"properties":[],"encrypted":[]},"differences":[{"kind":"value",
      "entity":"Photo","object":"6F9619FF-8B86-4011-B42D-00C04FC964FF","property":"image","isLost":true,
      "isUnsent":true,"isRepaired":false}]}
      """
    let report = try JSONDecoder().decode(VerifyReport.self, from: Data(json.utf8))
    let text = VerifyText(report).lines(store: "my album.sqlite").joined(separator: "\n")
    #expect(text.contains("was never sent: the zone does not have it"), "\(text)")
    #expect(text.contains("syncctl store give-up-lost 'my album.sqlite'"), "\(text)")
    #expect(!text.contains("--take-in"), "\(text)")
    var summary = SyncSummary(SyncReport())
    #expect(summary.text == "sent nothing; received nothing new")
    summary.sent?.lost = 2
    #expect(summary.text.contains("2 large values cannot be sent: their files are lost"))
  }

  @Test("A backup says which large values are missing, and of what is cut off that it is")
  @MainActor func backupWords() throws {
    let directory = try TemporaryDirectory()
    let url = try store(directory)
    let folder = directory.file(".album_SUPPORT/_EXTERNAL_DATA")
    let name = try #require(
      try FileManager.default.contentsOfDirectory(atPath: folder.path).first)
    func text() throws -> String {
      let store = try PersistentStore.open(url: url, model: model())
      defer { store.close() }
      return StoreBackupCommand.text(try store.lostValues())
    }
    truncate(folder.appendingPathComponent(name).path, 200_000)
    #expect(
      try text()
        == "1 large value is in neither: the file of 1 is cut off, or cannot be read")
    try FileManager.default.removeItem(at: folder.appendingPathComponent(name))
    #expect(try text() == "1 large value is in neither: the file of 1 is gone")
  }

  @Test(
    "A backup shares files on one file system, and has files of its own where that is asked for",
    arguments: [false, true])
  @MainActor func backupFiles(copies: Bool) throws {
    let directory = try TemporaryDirectory()
    let url = try store(directory)
    let copy = directory.file("copy.sqlite")
    try StoreBackupCommand.parse([url.path, copy.path] + (copies ? ["--copies-files"] : []))
      .perform()
    let folder = directory.file(".copy_SUPPORT/_EXTERNAL_DATA")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    let file = folder.appendingPathComponent(try #require(names.first))
    var status = stat()
    try #require(stat(file.path, &status) == 0 && status.st_size == 300_000)
    #expect(status.st_nlink == (copies ? 1 : 2))
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
