import CoreData
import Testing

@testable import Notebook

/// The application at work.
@MainActor @Suite(.serialized)
struct NotebookTests {
  private let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  private func store() -> PersistenceController {
    PersistenceController(url: folder.appendingPathComponent("Notebook.sqlite"))
  }

  @Test("The preview of the template has its ten notes")
  func preview() throws {
    let notes = try PersistenceController.preview.container.viewContext.fetch(Note.fetchRequest())
    #expect(notes.count == 10 && notes.allSatisfy { $0.made != nil && !$0.isPinned })
  }

  @Test("A list follows what is made, changed and deleted")
  func list() throws {
    let context = store().container.viewContext
    let list = try NoteList(context: context)
    let (first, second) = (Note(context: context), Note(context: context))
    (first.title, second.title) = ("Pears", "Apples")
    try context.save()
    #expect(list.titles == ["Apples", "Pears"])
    first.isPinned = true
    try context.save()
    #expect(list.titles == ["Pears", "Apples"] && list.note(at: [0, 0]) === first)
    context.delete(second)
    try context.save()
    #expect(list.titles == ["Pears"] && list.changes.last == "delete Apples")
  }

  @Test("An editor's changes are taken back or saved, with tags")
  func editor() throws {
    let context = store().container.viewContext
    let note = Note(context: context)
    note.title = "Milk"
    note.kind = .list
    try context.save()
    let editor = try NoteEditor(note, in: context)
    editor.note.title = "Cream"
    editor.cancel()
    #expect(note.title == "Milk")
    editor.note.title = "Butter"
    try editor.tag("food")
    try editor.save()
    #expect(note.title == "Butter" && note.kind == .list)
    #expect((note.tags as? Set<Notebook.Tag>)?.first?.name == "food")
  }

  @Test("A note without a title is not saved")
  func validation() {
    let context = store().container.viewContext
    _ = Note(context: context)
    #expect(throws: (any Error).self) { try context.save() }
  }

  @Test("What is imported in one batch is in the history, which is read once")
  func history() async throws {
    let container = store().container
    let reader = HistoryReader(container: container, file: folder.appendingPathComponent("token"))
    let note = Note(context: container.viewContext)
    note.title = "Mine"
    try container.viewContext.save()
    try await NoteImporter(container: container).importNotes((0..<100).map { "Note \($0)" })
    #expect(try reader.read() == ["app: 1", "import: 100"])
    let again = HistoryReader(container: container, file: folder.appendingPathComponent("token"))
    #expect(try again.read().isEmpty)
    #expect(try container.viewContext.count(for: Note.fetchRequest()) == 101)
  }

  /// Makes a store of the first version, which is closed at the end.
  private func writeOlder(_ file: URL) throws {
    let models = try #require(
      Bundle.module.url(forResource: "Notebook", withExtension: "momd"))
    let first = try #require(
      NSManagedObjectModel(contentsOf: models.appendingPathComponent("Notebook.mom")))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: first)
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: file, options: nil)
    let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.execute(
      NSBatchInsertRequest(entityName: "Note", objects: [["name": "Old"]]))
  }

  @Test("A store of the first version is migrated when it is opened")
  func migration() throws {
    let file = folder.appendingPathComponent("Notebook.sqlite")
    try writeOlder(file)
    let notes = try store().container.viewContext.fetch(Note.fetchRequest())
    #expect(notes.map(\.title) == ["Old"] && notes.first?.tags?.count == 0)
  }
}
