import CoreData
import Testing

@testable import Template

/// Stores of the program lie in a folder that a test gives it.
private enum DataFolder {
  static func use(_ folder: URL) { setenv("XDG_DATA_HOME", folder.path, 1) }

  static func make() throws -> URL {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    use(folder)
    return folder
  }
}

/// The template at work, as its list and its buttons use it.
@MainActor @Suite(.serialized)
struct TemplateTests {
  private let folder: URL

  init() throws { folder = try DataFolder.make() }

  /// What the list of the template fetches.
  private func items(_ context: NSManagedObjectContext) throws -> [Item] {
    let request: NSFetchRequest<Item> = Item.fetchRequest()
    request.sortDescriptors = [NSSortDescriptor(keyPath: \Item.timestamp, ascending: true)]
    return try context.fetch(request)
  }

  @Test("The preview has ten items with their times, and no file")
  func preview() throws {
    let items = try items(PersistenceController.preview.container.viewContext)
    #expect(items.count == 10 && items.allSatisfy { $0.timestamp != nil })
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  @Test("What is added and saved is there for the next run, and what is deleted is not")
  func list() throws {
    let times = (1...3).map { Date(timeIntervalSinceReferenceDate: Double($0)) }
    let first = PersistenceController().container.viewContext
    for time in times.reversed() { Item(context: first).timestamp = time }
    try first.save()
    first.delete(try #require(try items(first).first))
    try first.save()
    let second = PersistenceController().container.viewContext
    #expect(try items(second).map(\.timestamp) == Array(times.dropFirst()))
    #expect(second.automaticallyMergesChangesFromParent)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names.contains("Template.sqlite"))
  }

  @Test("The delegate saves what has changed, to the same store")
  func delegate() throws {
    let delegate = AppDelegate()
    delegate.saveContext()
    Item(context: delegate.persistentContainer.viewContext).timestamp = .distantPast
    #expect(delegate.persistentContainer.viewContext.hasChanges)
    delegate.saveContext()
    #expect(!delegate.persistentContainer.viewContext.hasChanges)
    let items = try items(PersistenceController().container.viewContext)
    #expect(items.map(\.timestamp) == [.distantPast])
  }
}

/// What the template does where it cannot go on: it ends the program, and says why.
struct TemplateEndTests {
  private func lastWords(_ result: ExitTest.Result?) throws -> String {
    String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
  }

  @Test("A store that cannot be opened ends the program with Core Data's error")
  func unopened() async throws {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let folder = try DataFolder.make()
      try Data("no store".utf8).write(to: folder.appendingPathComponent("Template.sqlite"))
      _ = PersistenceController()
    }
    let words = try lastWords(result)
    #expect(words.contains("Unresolved error"), "\(words)")
    #expect(words.contains(NSCocoaErrorDomain) && words.contains("259"), "\(words)")
  }

  @Test("A save that meets another's change ends the program with Core Data's error")
  func unsaved() async throws {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      await MainActor.run {
        _ = try? DataFolder.make()
        let delegate = AppDelegate()
        let item = Item(context: delegate.persistentContainer.viewContext)
        delegate.saveContext()
        // Another one changes it first.
        let others = PersistenceController().container.viewContext
        (try? others.fetch(Item.fetchRequest()))?.first?.timestamp = .distantPast
        try? others.save()
        item.timestamp = .distantFuture
        delegate.saveContext()
      }
    }
    let words = try lastWords(result)
    #expect(words.contains("Unresolved error"), "\(words)")
    #expect(words.contains(NSCocoaErrorDomain) && words.contains("133020"), "\(words)")
  }
}
