import Driftless
import Foundation
import TestSupport
import Testing

/// What the page on concurrency says may be used from anywhere, used from several threads at once: each of these is a run for the
/// thread sanitizer as well (`make sanitize`).
struct SharedTypeTests {
  private let library: Library
  private let store: PersistentStore

  init() throws {
    library = try Library()
    store = try #require(library.container.persistentStoreCoordinator.persistentStores.first)
    let context = library.container.newContext()
    for index in 0..<8 {
      let book = try context.insert(Book.self)
      book.title = "title \(index)"
      book.pages = index * 100
    }
    try context.save()
  }

  @Test("A frozen model, its entities and their properties")
  func models() async throws {
    let model = library.container.managedObjectModel
    let hashes = model.entityVersionHashesByName
    try await onSeveralThreads { number in
      #expect(model.isFrozen && model.entityVersionHashesByName == hashes)
      let book = try #require(model.entitiesByName["Book"])
      #expect(book.attributesByName["title"]?.attributeType == .string)
      #expect(book.relationshipsByName["author"]?.destinationEntity?.name == "Author")
      #expect(book.propertiesByName.count == book.properties.count)
      // It refuses the change, and says so, on whichever thread.
      book.userInfo["a"] = "\(number)"
      #expect(book.userInfo.isEmpty && model.refusedChange?.code == .inUse)
      let copy = try model.copy()
      copy.entitiesByName["Book"]?.userInfo["a"] = "\(number)"
      try copy.freeze()
      #expect(copy.entitiesByName["Book"]?.userInfo == ["a": "\(number)"])
    }
  }

  @Test("A description of a store, which threads read and change")
  func descriptions() async throws {
    let description = PersistentStoreDescription(url: library.directory.file("other.sqlite"))
    try await onSeveralThreads { number in
      for round in 0..<50 {
        description.timeout = TimeInterval(number + 1)
        description.configuration = "\(number)"
        description.setOption(number, forKey: "option \(number)")
        #expect((1...8).contains(Int(description.timeout)))
        #expect(description.copy().url == description.url, "round \(round)")
      }
    }
    #expect(description.options.count >= 8)
  }

  @Test("A container that many load has each store once, and gives each thread contexts")
  func containers() async throws {
    let container = PersistentContainer(
      name: "Many", model: Library.model(), storeURL: library.directory.file("many.sqlite"))
    try await onSeveralThreads { number in
      try container.loadPersistentStores()
      let context = container.newContext()
      try context.insert(Book.self).title = "\(number)"
      try context.save()
    }
    #expect(container.persistentStoreCoordinator.persistentStores.count == 1)
    #expect(try container.newContext().count(Book.self) == 8)
  }

  @Test("A coordinator that finds stores and objects while stores come, go and are saved to")
  func coordinators() async throws {
    let coordinator = library.container.persistentStoreCoordinator
    let book = try #require(try library.container.newContext().fetch(Book.self).first).objectID
    let (store, uri) = (store, book.uriRepresentation())
    try await onSeveralThreads { number in
      for _ in 0..<10 {
        switch number {
        case 0:
          let new = try coordinator.addPersistentStore(at: nil)
          coordinator.remove(new)
        case 1, 2:
          let context = ManagedObjectContext(coordinator)
          try context.insert(Tag.self).name = "\(number)"
          try context.save()
        default:
          #expect(coordinator.managedObjectID(forURIRepresentation: uri) == book)
          #expect(coordinator.persistentStore(withIdentifier: store.identifier) === store)
          #expect(coordinator.persistentStores.contains { $0 === store })
          coordinator.name = "\(number)"
        }
      }
    }
    #expect(try library.container.newContext().count(Tag.self) == 20)
  }

  @Test("A store that is read, written, looked over and asked for its history")
  func stores() async throws {
    let store = store
    let container = library.container
    try await onSeveralThreads { number in
      for round in 0..<4 {
        switch number {
        case 0, 1:
          let context = container.newContext()
          try context.insert(Book.self).title = "\(number) \(round)"
          try context.save()
        case 2: try store.setMetadata("\(round)", forKey: "round")
        case 3:
          let findings = try store.check().findings
          #expect(findings.isEmpty)
        case 4: try store.registerHistoryReader("reader", at: try store.currentHistoryToken())
        case 5: _ = try store.historyReaders()
        default:
          let all = PersistentHistoryChangeRequest.fetchHistory(
            after: nil as PersistentHistoryToken?)
          let transactions = try store.fetchHistory(all)
          #expect(!transactions.isEmpty)
        }
      }
    }
    #expect(try container.newContext().count(Book.self) == 16)
  }

  @Test("One state of the stores that many contexts read while others save")
  func generations() async throws {
    let container = library.container
    let pinned = container.newContext()
    try pinned.setQueryGenerationFrom(.current)
    #expect(try pinned.count(Book.self) == 8)
    let token = try #require(pinned.queryGenerationToken)
    try await onSeveralThreads { number in
      let context = container.newContext()
      if number < 2 {
        for _ in 0..<5 {
          try context.insert(Book.self).title = "new"
          try context.save()
        }
      } else {
        try context.setQueryGenerationFrom(token)
        for _ in 0..<5 {
          let count = try context.count(Book.self)
          #expect(count == 8)
        }
      }
    }
    #expect(try container.newContext().count(Book.self) == 18)
  }

  @Test("Predicates, orders and requests that all threads use")
  func requests() async throws {
    let container = library.container
    let format = try FetchPredicate(format: "title MATCHES 'title [0-5]' AND pages > 100")
    let typed = Book.pages > 100 && Book.title.like("title*")
    let request = FetchRequest(Book.self, where: typed, sort: Book.pages.descending)
    try await onSeveralThreads { _ in
      let context = container.newContext()
      for _ in 0..<5 {
        let pages = try context.fetch(request).map(\.pages)
        #expect(pages == [700, 600, 500, 400, 300, 200])
        let found = try context.fetch(Book.self).filter { try format.evaluate(with: $0) }
        #expect(found.count == 4)
      }
    }
  }

  @Test("IDs that all threads hold, compare and look up")
  func identifiers() async throws {
    let container = library.container
    let ids = try container.newContext().fetch(Book.self).map(\.objectID)
    let sorted = Set(ids.map { $0.uriRepresentation() })
    try await onSeveralThreads { _ in
      let context = container.newContext()
      #expect(Set(ids.map { $0.uriRepresentation() }) == sorted && Set(ids).count == 8)
      for id in ids {
        let object = try context.existingObject(with: id)
        #expect(object.objectID == id)
      }
    }
  }

  @Test("Transformers that threads register and look up by name")
  func transformers() async throws {
    try await onSeveralThreads { number in
      for round in 0..<50 {
        let name = ValueTransformer.Name("shared \(number) \(round)")
        ValueTransformer.setValueTransformer(SecureUnarchiveFromData(), forName: name)
        #expect(ValueTransformer.valueTransformer(forName: name) is SecureUnarchiveFromData)
        #expect(ValueTransformer.valueTransformerNames().contains(name))
        ValueTransformer.setValueTransformer(nil, forName: name)
        #expect(ValueTransformer.valueTransformer(forName: name) == nil)
      }
    }
  }
}
