import Driftless
import DriftlessHTTP
import DriftlessSync
import Foundation

// The pieces of code that the other pages show, in functions that give them what they take as given.

// MARK: Driftless.md

func openLibrary(_ model: ManagedObjectModel, _ url: URL) async throws -> [String] {
  let library = try await LocalStore.open(model: model, at: url)
  try await library.write { context in
    try context.insert(Book.self).title = "Persuasion"
  }
  let titles = try await library.read { context in
    try context.fetch(Book.self, order: Book.title.ascending).map(\.title)
  }
  return titles
}

func openContainer(_ model: ManagedObjectModel, _ url: URL) async throws {
  let container = PersistentContainer(name: "Library", model: model, storeURL: url)
  try container.loadPersistentStores()
  try await container.perform { context in
    try context.insert(Book.self).title = "Persuasion"
    try context.save()
  }
}

// MARK: Contexts.md

extension Book {
  var pages: Int64 {
    get { self[Book.pages] }
    set { self[Book.pages] = newValue }
  }
}

func sumPages(of books: [Book], in context: ManagedObjectContext) throws -> Int64 {
  let sum = try context.accessing { books.reduce(0) { $0 + $1.pages } }
  return sum
}

private func importBooks(into context: ManagedObjectContext) throws {
  try context.insert(Book.self).title = "Emma"
}

@MainActor func editInChild(of container: PersistentContainer) async throws {
  let edit = BackgroundContext(parent: container.viewContext)
  try await edit.perform { context in
    try importBooks(into: context)
    try context.save()  // into the view context, which saves it into the store
  }
}

func addStores(to coordinator: PersistentStoreCoordinator, _ libraryURL: URL) throws {
  try coordinator.addPersistentStore(at: libraryURL, configuration: "Library")
  try coordinator.addPersistentStore(at: nil, configuration: "Session")
}

// MARK: Porting.md

func keepPortedInStep(
  _ container: PersistentContainer, _ server: URL, _ token: String,
  show: @Sendable (SyncState) -> Void
) async throws {
  let store = container.persistentStoreCoordinator.persistentStores[0]
  let transport = try CurlTransport(server: server, zone: "notes", token: token)
  for await state in SyncEngine(store: store, enrollingThrough: transport).run() { show(state) }
}
