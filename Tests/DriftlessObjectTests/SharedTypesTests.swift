import Driftless
import Foundation
import Synchronization
import TestSupport
import Testing

/// What may be handed to several threads is used by several at once. Run it with `make sanitize` as well.
struct SharedTypesTests {
  private let library: Library

  init() throws {
    library = try Library()
    try library.container.newContext().execute(
      BatchInsertRequest(
        entityName: "Book",
        objects: (0..<200).map { (number: Int) in ["pages": number, "title": "file\(number)"] }))
  }

  @Test("The result of an asynchronous fetch is asked, waited for and cancelled by several at once")
  func asynchronousFetch() async throws {
    let background = library.container.newBackgroundContext()
    for isCancelled in [false, true] {
      let calls = Mutex(0)
      let request = FetchRequest<Book>(entityName: "Book", sort: [FetchSort("pages")])
      let result = background.execute(
        AsynchronousFetchRequest(fetchRequest: request) { _, _ in calls.withLock { $0 += 1 } })
      let ends = await withTaskGroup(of: Int?.self) { group in
        for number in 0..<16 {
          group.addTask {
            if isCancelled, number % 4 == 0 { result.cancel() }
            _ = (result.progress, result.objectIDs, result.operationError)
            return try? await result.wait().count
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      // All hear of one end, whichever it was.
      #expect(Set(ends).count == 1 && ends.count == 16)
      if !isCancelled { #expect(ends[0] == 200) }
      #expect((result.objectIDs == nil) == (result.operationError != nil))
      try await background.perform { _ in }
      #expect(calls.withLock { $0 } == 1)
    }
  }

  @Test("Descriptions of stores are changed, read and copied by several at once")
  func descriptions() async throws {
    let description = PersistentStoreDescription()
    let urls = (0..<8).map { URL(fileURLWithPath: "/none/\($0)") }
    try await onSeveralThreads { number in
      for _ in 0..<200 {
        description.url = urls[number]
        description.configuration = "\(number)"
        let copy = description.copy()
        #expect(copy.url.map(urls.contains) == true && Int(copy.configuration ?? "") != nil)
      }
    }
  }

  @Test("A generation is read by several contexts at once, while others save")
  func generations() async throws {
    let container = library.container
    let first = container.newContext()
    try first.setQueryGenerationFrom(.current)
    let request = FetchRequest<Book>(entityName: "Book")
    #expect(try first.count(for: request) == 200)
    let token = try #require(first.queryGenerationToken)
    try await onSeveralThreads { number in
      let context = container.newContext()
      if number.isMultiple(of: 2) {
        for index in 0..<20 {
          let book = try context.insert(Book.self)
          book.title = "new \(number) \(index)"
          try context.save()
        }
      } else {
        try context.setQueryGenerationFrom(token)
        for _ in 0..<20 { #expect(try context.count(for: request) == 200) }
      }
      #expect(Set([token, QueryGenerationToken.current]).count == 2)
    }
    #expect(try container.newContext().count(for: request) == 280)
  }

  @Test("One coordinator has stores added and asked for while contexts of it read")
  func coordinator() async throws {
    let container = library.container
    let coordinator = container.persistentStoreCoordinator
    try await onSeveralThreads { number in
      if number < 2 {
        let store = try coordinator.addPersistentStore(at: nil)
        #expect(coordinator.persistentStores.contains { $0 === store })
      } else {
        let context = container.newContext()
        for _ in 0..<20 {
          let found = try context.fetch(FetchRequest<Book>(entityName: "Book"))
          #expect(found.count == 200)
          let id = found[0].objectID
          let again = coordinator.managedObjectID(forURIRepresentation: id.uriRepresentation())
          #expect(again == id)
        }
      }
    }
    #expect(coordinator.persistentStores.count == 3)
  }

  @Test("A frozen model and its descriptions are read by several at once")
  func models() async throws {
    let model = Library.model()
    try model.freeze()
    let hashes = model.entityVersionHashesByName
    try await onSeveralThreads { _ in
      for _ in 0..<50 {
        #expect(model.entityVersionHashesByName == hashes)
        for entity in model.entities {
          #expect(entity.attributesByName.count + entity.relationshipsByName.count > 0)
          for element in entity.indexes.flatMap(\.elements) {
            #expect(!element.propertyName.isEmpty || element.expressionFormat != nil)
          }
        }
      }
    }
  }
}
