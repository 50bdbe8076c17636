import CoreData
import TestSupport
import Testing

/// A container whose model is not among the program's resources.
struct MissingModelTests {
  @Test("Loading the stores of a container without a model gives an error that says what to do")
  func loading() throws {
    let folder = try TemporaryDirectory()
    let container = NSPersistentContainer(name: "NoSuchModel")
    #expect(container.name == "NoSuchModel" && container.managedObjectModel.entities.isEmpty)
    let url = folder.file("a.sqlite")
    container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: url)]
    nonisolated(unsafe) var failures: [(any Error)?] = []
    container.loadPersistentStores { _, error in failures.append(error) }
    try #require(failures.count == 1)
    let failure = try #require(failures[0] as NSError?)
    #expect(failure.domain == NSCocoaErrorDomain)
    #expect(failure.code == NSManagedObjectModelReferenceNotFoundError)
    #expect(failure.localizedDescription.contains("NoSuchModel"))
    let advice = failure.userInfo[NSLocalizedRecoverySuggestionErrorKey] as? String
    #expect(advice?.contains("NoSuchModel.momd") == true)
    #expect(!FileManager.default.fileExists(atPath: url.path))
  }

  @Test("A subclass makes the container as any other: its own designated initialiser is called")
  func subclass() {
    final class OwnContainer: NSPersistentContainer, @unchecked Sendable {}
    let container = OwnContainer(name: "NoSuchModel")
    #expect(container.persistentStoreCoordinator.persistentStores.isEmpty)
  }
}
