import Dispatch
import Driftless
import Foundation
import TestSupport
import Testing

/// How long contexts keep their stores open.
struct StoreHoldTests {
  /// Has an object where nobody checks it.
  private final class Box: @unchecked Sendable {  // filled and looked at in turn
    var container: PersistentContainer?
    var object: ManagedObject?
    weak var store: PersistentStore?
  }

  /// How many files of this process are in a folder.
  private static func openFiles(in folder: URL) throws -> Int {
    let path = folder.resolvingSymlinksInPath().path
    return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter {
      let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)
      return file?.hasPrefix(path) == true
    }.count
  }

  @Test(
    "A view context that ends off the main actor lets go of its store before the main actor gets to it"
  )
  func whileMainIsBusy() async throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("library.sqlite")
    let box = Box()
    try await MainActor.run {
      ManagedObject.register(Author.self, Book.self, Tag.self, Chapter.self, Novel.self, Link.self)
      let container = PersistentContainer(
        name: "Library", model: Library.model(), storeURL: url)
      try container.loadPersistentStores()
      let tag = try container.viewContext.insert(Tag.self)
      tag.name = "kept"
      try container.viewContext.save()
      tag.name = "unsaved"
      (box.container, box.object) = (container, tag)
      box.store = container.persistentStoreCoordinator.persistentStores.first
    }
    // As in a program whose main thread waits for its work.
    let (begun, over) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    DispatchQueue.main.async {
      begun.signal()
      over.wait()
    }
    let (isClosed, openCount, reopened): (Bool, Int, Int) =
      try await withCheckedThrowingContinuation {
        continuation in
        DispatchQueue.global().async {
          begun.wait()
          defer { over.signal() }
          continuation.resume(
            with: Result {
              box.container = nil
              let (isClosed, count) = (box.store == nil, try Self.openFiles(in: directory.url))
              try PersistentStore.destroy(at: url)
              let again = PersistentContainer(
                name: "Library", model: Library.model(), storeURL: url)
              try again.loadPersistentStores()
              return (isClosed, count, try again.newContext().count(Tag.self))
            })
        }
      }
    #expect(isClosed && openCount == 0 && reopened == 0)
    // What the main actor still has is nobody's, with its values.
    await MainActor.run {
      #expect((box.object as? Tag)?.name == "unsaved")
      #expect(box.object?.managedObjectContext == nil)
      box.object = nil
    }
  }
}
