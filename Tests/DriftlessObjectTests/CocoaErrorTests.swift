import Driftless
import Foundation
import TestSupport
import Testing

/// Errors as code that comes from Core Data asks for them.
struct CocoaErrorTests {
  let library: Library
  let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
  }

  private func error(_ body: () throws -> Void) -> NSError? {
    do {
      try body()
      return nil
    } catch {
      return error as NSError
    }
  }

  @Test(
    "Several defects are error 1560 with the single ones in its details, of one object and of a save"
  )
  func severalDefects() throws {
    let author = try context.insert(Author.self)
    let book = try context.insert(Book.self)
    try book.setValue(nil, forKey: "title")
    book.pages = -1
    let ofBook = try #require(error { try book.validateForInsert() })
    #expect(ofBook.domain == NSCocoaErrorDomain && ofBook.code == 1560)
    let details = try #require(ofBook.userInfo["NSDetailedErrors"] as? [NSError])
    #expect(Set(details.map(\.code)) == [1570, 1620])
    #expect(details.allSatisfy { $0.userInfo["NSValidationErrorKey"] is String })

    let ofSave = try #require(error { try context.save() })
    #expect(ofSave.domain == NSCocoaErrorDomain && ofSave.code == 1560)
    let all = try #require(ofSave.userInfo["NSDetailedErrors"] as? [NSError])
    #expect(all.map(\.code).sorted() == [1570, 1570, 1620])
    let objects = try #require(ofSave.userInfo["NSAffectedObjectsErrorKey"] as? [ManagedObjectID])
    #expect(Set(objects) == [author.objectID, book.objectID])
  }

  @Test("One defect is its own code and names its property")
  func oneDefect() throws {
    let author = try context.insert(Author.self)
    for body in [author.validateForInsert, { try self.context.save() }] {
      let error = try #require(self.error(body))
      #expect(error.domain == NSCocoaErrorDomain && error.code == 1570)
      #expect(error.userInfo["NSValidationErrorKey"] as? String == "name")
      #expect(error.localizedDescription.contains("name is a required value."))
    }
  }

  @Test("What an override finds is told beside the model's own defects, and never nested")
  func overrides() throws {
    struct Odd: Error {}
    let inner = ValidationErrors([Odd(), ValidationErrors([Odd(), Odd()])])
    #expect(inner.errors.count == 3 && inner.errors.allSatisfy { $0 is Odd })
    #expect((ValidationErrors([inner]) as NSError).code == 1560)
  }

  @Test("Conflicts and stores that do not fit have Core Data's codes")
  func codes() throws {
    let book = try context.insert(Book.self)
    try context.save()
    let other = library.container.newContext()
    let same = try #require(try other.fetch(Book.self).first)
    same.title = "theirs"
    try other.save()
    book.title = "ours"
    let conflict = try #require(error { try context.save() })
    #expect(conflict.domain == NSCocoaErrorDomain && conflict.code == 133020)
    #expect((conflict.userInfo["conflictList"] as? [MergeConflict])?.count == 1)

    let file = library.directory.file("text.sqlite")
    try Data(repeating: 0x41, count: 5000).write(to: file)
    let model = Library.model()
    let noDatabase = try #require(error { _ = try PersistentStore.open(url: file, model: model) })
    #expect(
      noDatabase.domain == NSCocoaErrorDomain && noDatabase.code == NSFileReadCorruptFileError)
    #expect(
      (noDatabase.userInfo[NSLocalizedRecoverySuggestionErrorKey] as? String)?.isEmpty == false)

    let changed = Library.model()
    changed.entities[0].properties.append(AttributeDescription("more", .string, isOptional: false))
    let stack = PersistentContainer(
      name: "Other", model: changed, storeURL: library.container.storeURL)
    stack.persistentStoreDescriptions[0].shouldMigrateStoreAutomatically = false
    let misfit = try #require(error { try stack.loadPersistentStores() })
    #expect(misfit.domain == NSCocoaErrorDomain && misfit.code == 134100)
  }

  @Test("Foundation's classes and numbers that fit exactly are taken by name")
  func conversions() throws {
    let book = try context.insert(Book.self)
    func taken(_ value: Any, _ name: String) throws -> Any? {
      try book.setValue(value, forKey: name)
      return try book.value(forKey: name)
    }
    #expect(try taken(3.0, "pages") as? Int64 == 3)
    #expect(try taken(UInt8(3), "pages") as? Int64 == 3)
    #expect(try taken(NSNumber(value: 4), "pages") as? Int64 == 4)
    #expect(try taken(Decimal(5), "pages") as? Int64 == 5)
    #expect(try taken(1.1, "price") as? Decimal == Decimal(string: "1.1"))
    #expect(try taken(NSNumber(value: 2), "price") as? Decimal == 2)
    #expect(
      try taken(NSDecimalNumber(string: "1.25"), "price") as? Decimal == Decimal(string: "1.25"))
    #expect(try taken(Decimal(string: "0.1") as Any, "weight") as? Double == 0.1)
    #expect(try taken(NSNumber(value: 2.5), "weight") as? Double == 2.5)
    #expect(try taken(NSNumber(value: true), "isRead") as? Bool == true)
    #expect(try taken(0, "isRead") as? Bool == false)
    #expect(try taken(NSString("x"), "title") as? String == "x")
    #expect(try taken("abc".dropFirst(), "title") as? String == "bc")
    let date = Date(timeIntervalSinceReferenceDate: 7.5)
    #expect(try taken(NSDate(timeIntervalSinceReferenceDate: 7.5), "printed") as? Date == date)
    #expect(try taken(NSData(data: Data([1, 2])), "cover") as? Data == Data([1, 2]))
    let code = UUID()
    #expect(try taken(NSUUID(uuidString: code.uuidString) as Any, "code") as? UUID == code)
    let page = try #require(URL(string: "https://example.org/a"))
    #expect(try taken(NSURL(string: page.absoluteString) as Any, "page") as? URL == page)
  }

  @Test(
    "What does not fit exactly is refused and changes nothing",
    arguments: [
      ("pages", 1.5 as any Sendable), ("pages", Int64.max), ("pages", Double.infinity),
      ("pages", "3"), ("price", Double.nan), ("isRead", 2), ("title", 3),
      ("weight", Int64.max), ("pages", UInt64.max),
    ])
  func misfits(name: String, value: any Sendable) throws {
    let book = try context.insert(Book.self)
    let before = try book.value(forKey: name)
    #expect(throws: ObjectError.self) { try book.setValue(value, forKey: name) }
    #expect("\(try book.value(forKey: name) as Any)" == "\(before as Any)")
  }
}
