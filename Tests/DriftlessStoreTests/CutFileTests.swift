import DriftlessSQLite
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Driftless

/// Files of large values that are not as long as their values.
struct CutFileTests {
  private static let large = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })

  private static func model(_ more: String? = nil, isExternal: Bool = true) -> ManagedObjectModel {
    let photo = EntityDescription("Photo")
    let image = AttributeDescription("image", .binaryData)
    image.allowsExternalBinaryDataStorage = isExternal
    photo.properties = [AttributeDescription("name", .string), image]
    if let more { photo.properties.append(AttributeDescription(more, .string)) }
    return ManagedObjectModel(entities: [photo])
  }

  private let directory: TemporaryDirectory
  private let url: URL
  private let folder: ExternalDataFolder

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("album.sqlite")
    folder = ExternalDataFolder(store: url.path)
  }

  private func open() throws -> PersistentStore {
    try PersistentStore.open(url: url, model: Self.model())
  }

  /// A photo whose file is cut off.
  private func cut(_ store: PersistentStore, to bytes: Int) throws -> ObjectKey {
    let before = Set(folder.names)
    let key = try store.insert("Photo", ["name": .string("cut"), "image": .data(Self.large)])
    let name = try #require(folder.names.first { !before.contains($0) })
    try #require(truncate(folder.file(name).path, bytes) == 0)
    return key
  }

  @Test(
    "A name says how long its value is, and another's says nothing",
    arguments: [1, 300_000, 1 << 30])
  func names(length: Int) {
    let prefix: [UInt8] = [1, 2, 3, 4, 5, 6]
    let name = ExternalFileName.make(prefix: prefix, length: length)
    #expect(ExternalFileName.length(in: name) == Int64(length))
    #expect(ExternalFileName.isNamed(name, by: prefix))
    #expect(ExternalValue.name(in: ExternalValue.name(name)) == name)
    #expect(name != ExternalFileName.make(prefix: prefix, length: length))
    // As Core Data and programs of before give them.
    #expect(ExternalFileName.length(in: UUID().uuidString) == nil)
  }

  @Test(
    "A value whose file is cut off, or goes on behind it, is an error and no other value, and all that looks at files names it",
    arguments: [1, 299_999, 300_001])
  func reading(bytes: Int) async throws {
    let store = try open()
    let whole = try store.insert("Photo", ["name": .string("whole"), "image": .data(Self.large)])
    let key = try cut(store, to: bytes)
    let error = #expect(throws: StoreError.self) { try store.values(key) }
    #expect(error?.code == .lostFile && error?.keys == [key])
    #expect(error?.message.contains("it has \(bytes) bytes") == true, "\(error?.message ?? "")")
    #expect(error?.message.contains("its value 300000") == true)
    #expect(error?.suggestion.contains("give-up-lost") == true)
    try await MainActor.run {
      let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
      let photos = try context.fetch(FetchRequest<ManagedObject>(entityName: "Photo"))
      let images = photos.compactMap { $0["image"] as? Data }
      #expect(images == [Self.large])
      #expect("\(context.accessorErrors.map { "\($0)" })".contains("its value 300000"))
    }
    #expect(try store.values(whole)?["image"] == .data(Self.large))
    #expect(try store.lostValues().map(\.object) == [key])
    let look = try store.lookForLostValues()
    #expect(look.count == 1 && look.folder == nil)
    let found = try store.check().findings.map(\.message)
    #expect(found.count == 1 && found[0].contains("it has \(bytes) bytes"), "\(found)")
    #expect(try store.giveUpLostValues() == 1)
    #expect(try store.check().isSound)
    #expect(try store.lookForLostValues().count == 0)
  }

  @Test("A backup leaves what is cut off out, and what is whole where it goes stays whole")
  func backup() throws {
    let store = try open()
    let key = try store.insert("Photo", ["name": .string("a"), "image": .data(Self.large)])
    let (first, second) = (directory.file("first.sqlite"), directory.file("first.again"))
    try store.backup(to: first)
    let name = try #require(folder.names.first)
    // Both have the very file, until somebody writes it anew.
    unlink(folder.file(name).path)
    try Self.large.prefix(1000).write(to: folder.file(name))
    try store.backup(to: second)
    let copy = try PersistentStore.open(url: first, model: Self.model())
    #expect(try copy.values(key)?["image"] == .data(Self.large))
    let again = try PersistentStore.open(url: second, model: Self.model())
    #expect(try again.values(key)?["image"] == .data(Self.large))
    #expect(try store.lostValues().count == 1)
  }

  @Test("A file whose name says no length is read as it is")
  func former() throws {
    let store = try open()
    let key = try store.insert("Photo", ["name": .string("a"), "image": .data(Self.large)])
    let former = UUID().uuidString
    let name = try #require(folder.names.first)
    #expect(rename(folder.file(name).path, folder.file(former).path) == 0)
    _ = try store.write(TransactionInfo()) {
      try $0.connection.run("UPDATE ZPHOTO SET ZIMAGE = ?", .blob(ExternalValue.name(former)))
    }
    #expect(try store.values(key)?["image"] == .data(Self.large))
    #expect(try store.check().isSound)
    // Written anew, it has one.
    try store.update(key, "image", .data(Self.large + Data([1])))
    let lengths = folder.names.compactMap(ExternalFileName.length)
    #expect(lengths == [300_001])
  }

  @Test(
    "A migration that reads a lost value names it, and says how to go on without",
    arguments: [false, true])
  func migration(isCut: Bool) throws {
    let store = try open()
    let key = try store.insert("Photo", ["name": .string("a"), "image": .data(Self.large)])
    let identity = try store.read { try $0.identity(of: key) }
    store.close()
    let name = try #require(folder.names.first)
    if isCut { truncate(folder.file(name).path, 7) } else { folder.remove([name]) }
    let inside = Self.model("more", isExternal: false)
    let error = #expect(throws: StoreError.self) {
      try PersistentStore.migrate(at: url, to: inside)
    }
    #expect(error?.code == .lostFile && error?.keys == [key])
    let message = error?.message ?? ""
    #expect(message.contains("Photo.image of \(identity.uuidString.lowercased())"), "\(message)")
    #expect(message.contains(folder.file(name).path))
    #expect(error?.suggestion.contains("syncctl store give-up-lost") == true)
    let again = try open()
    #expect(try again.giveUpLostValues() == 1)
    again.close()
    try PersistentStore.migrate(at: url, to: inside)
  }

  @Test(
    "A migration by a mapping takes no lost value, nor any other of its object, for null",
    arguments: [false, true])
  func mapped(byPolicy: Bool) throws {
    let store = try open()
    let key = try store.insert("Photo", ["name": .string("a"), "image": .data(Self.large)])
    store.close()
    folder.remove(folder.names)
    let (old, new) = (Self.model(), Self.model("more"))
    var mapping = try MappingModel.inferredMappingModel(
      forSourceModel: old, destinationModel: new)
    if byPolicy {
      EntityMigrationPolicy.register(ReadingPolicy.self)
      mapping.entityMappings[0].attributeMappings = []
      mapping.entityMappings[0].entityMigrationPolicyClassName = String(
        reflecting: ReadingPolicy.self)
    }
    let error = #expect(throws: StoreError.self) {
      try PersistentStore.migrate(at: url, to: new, mapping: mapping)
    }
    #expect(error?.code == .lostFile && error?.keys == [key], "\(String(describing: error))")
    let again = try open()
    #expect(try again.read { try $0.connection.scalar("SELECT ZNAME FROM ZPHOTO") } == .text("a"))
  }

  @Test("What keeps a file from being written is said in the words of a store")
  func words() throws {
    let file = directory.file("copy.sqlite")
    func told(_ error: any Error) -> StoreError? {
      #expect(throws: StoreError.self) { try StoreError.writing(file) { throw error } }
    }
    let full = told(CocoaError(.fileWriteOutOfSpace, userInfo: [NSFilePathErrorKey: file.path]))
    #expect(full?.code == .diskFull)
    #expect(full?.message.contains("\(file.path) cannot be written") == true)
    #expect(full?.message.contains("bytes free") == true, "\(full?.message ?? "")")
    #expect(told(POSIXError(.EDQUOT))?.code == .diskFull)
    let refused = told(POSIXError(.EACCES))
    #expect(refused?.code == .cannotOpen && refused?.isOfRights == true)
    #expect(told(POSIXError(.EIO))?.code == .readOrWriteFailed)
    // What is none of a file stays what it is.
    #expect(throws: CancellationError.self) {
      try StoreError.writing(file) { throw CancellationError() }
    }
    let folder = directory.file("none")
    let missing = #expect(throws: StoreError.self) {
      try StoreError.writing(folder) {
        try FileManager.default.createDirectory(
          at: folder.appending(path: "a/b"), withIntermediateDirectories: false)
      }
    }
    #expect(missing?.message.contains("No such file") == true, "\(missing?.message ?? "")")
  }
}

/// Takes values over by plain accessors, which give nil for what cannot be read.
final class ReadingPolicy: EntityMigrationPolicy {
  override func createDestinationInstances(
    forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    let made = manager.destinationInstances(
      forEntityMappingName: mapping.name, sourceInstances: [source])
    made.first?["name"] = source["name"]
    made.first?["image"] = source["image"]
  }
}
