import Dispatch
import Driftless
import Foundation
import Synchronization
import Testing

@Suite("Asynchronous fetch requests")
struct AsynchronousFetchTests {
  let library: Library
  let background: BackgroundContext

  init() throws {
    library = try Library()
    try library.container.newContext().execute(
      BatchInsertRequest(
        entityName: "Book",
        objects: (0..<600).map { (number: Int) in
          ["pages": number, "title": "file\(number)"]
        }))
    background = library.container.newBackgroundContext()
  }

  private var request: FetchRequest<Book> {
    FetchRequest<Book>(
      entityName: "Book", predicate: (Book.pages < 500).predicate, sort: [FetchSort("pages")])
  }

  @Test("It returns at once; the block gets the objects where the context is, read already")
  func finds() async throws {
    let seen = Mutex<[String]>([])
    var asynchronous = AsynchronousFetchRequest(fetchRequest: request) { context, result in
      let books = result.finalResult(in: context) ?? []
      #expect(books.allSatisfy { !$0.isFault && $0.managedObjectContext === context })
      seen.withLock { $0 = books.map(\.title) }
    }
    asynchronous.estimatedResultCount = 7
    // The context is busy until the caller has the result in hand.
    let gate = DispatchSemaphore(value: 0)
    let started = AsyncStream.makeStream(of: Void.self)
    async let busy: Void = background.perform { _ in
      started.continuation.yield()
      gate.wait()
    }
    for await _ in started.stream { break }
    let result = background.execute(asynchronous)
    #expect(result.objectIDs == nil && result.operationError == nil)
    #expect(result.progress.completed == 0 && result.progress.total == 7)
    gate.signal()
    try await busy
    #expect(try await result.wait().count == 500)
    // After the block.
    try await background.perform { _ in }
    #expect(seen.withLock { $0 } == (0..<500).map { "file\($0)" })
    #expect(result.progress.completed == 500 && result.progress.total == 500)
    #expect(result.fetchRequest.entityName == "Book")
    let other = library.container.newContext()
    #expect(result.finalResult(in: other)?.first?.title == "file0")
    #expect(try await result.wait() == result.objectIDs)
  }

  @Test("It comes after what was sent before, and before what is sent later")
  func order() async throws {
    for round in 0..<40 {
      let result = background.execute(
        AsynchronousFetchRequest(fetchRequest: FetchRequest<Tag>(entityName: "Tag")))
      background.performAndWait { context in
        _ = try? context.insert(Tag.self)
        try? context.save()
      }
      #expect(try await result.wait().count == round)
    }
  }

  @Test("A cancelled fetch tells so, and so does one that makes no sense")
  func fails() async throws {
    let ends = Mutex(0)
    let gate = DispatchSemaphore(value: 0)
    let started = AsyncStream.makeStream(of: Void.self)
    async let busy: Void = background.perform { _ in
      started.continuation.yield()
      gate.wait()
    }
    for await _ in started.stream { break }
    let result = background.execute(
      AsynchronousFetchRequest(fetchRequest: request) { context, result in
        #expect(result.finalResult(in: context) == nil)
        ends.withLock { $0 += 1 }
      })
    result.cancel()
    gate.signal()
    try await busy
    await #expect(throws: FetchError.self) { try await result.wait() }
    #expect((result.operationError as? FetchError)?.code == .cancelled)
    var wrong = request
    wrong.predicate = try FetchPredicate(format: "nothing == 1")
    let unknown = background.execute(AsynchronousFetchRequest(fetchRequest: wrong))
    await #expect(throws: FetchError.self) { try await unknown.wait() }
    #expect((unknown.operationError as? FetchError)?.code == .unknownKey)
    try await background.perform { _ in }
    #expect(ends.withLock { $0 } == 1)
  }

  @Test("Core Data's selectors sort texts, in the store as with unsaved objects")
  func selectors() throws {
    let context = library.container.newContext()
    for title in ["File10", "file9", "Éa", "eb", "Z"] {
      try context.insert(Book.self).title = title
    }
    func titles(_ selector: FetchSort.Selector, _ ascending: Bool = true) throws -> [String] {
      try context.fetch(
        FetchRequest<Book>(
          entityName: "Book", predicate: (Book.pages == 1).predicate,
          sort: [FetchSort("title", ascending: ascending, selector: selector)])
      ).map(\.title).filter { $0 != "file1" }
    }
    for isSaved in [false, true] {
      if isSaved { try context.save() }
      #expect(try titles(.compare) == ["File10", "Z", "eb", "file9", "Éa"])
      #expect(try titles(.caseInsensitiveCompare) == ["eb", "File10", "file9", "Z", "Éa"])
      #expect(try titles(.localizedCompare) == ["Éa", "eb", "File10", "file9", "Z"])
      #expect(try titles(.localizedCaseInsensitiveCompare) == ["Éa", "eb", "File10", "file9", "Z"])
      #expect(try titles(.localizedStandardCompare) == ["Éa", "eb", "file9", "File10", "Z"])
      #expect(try titles(.localizedStandardCompare, false) == ["Z", "File10", "file9", "eb", "Éa"])
    }
  }
}
