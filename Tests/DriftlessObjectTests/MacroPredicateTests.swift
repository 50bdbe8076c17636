import Driftless
import Foundation
import Testing

extension Book {
  var isRead: Bool { self[Book.isRead] }
  var weight: Double? { self[Book.weight] }
  var printed: Date? { self[Book.printed] }
  var code: UUID? { self[Book.code] }
  var genre: Genre { self[Book.genre] }
  var isLong: Bool { pages > 150 }
  var isUnread: Bool { !isRead }
  var doublePages: Int { 2 * pages }
}

extension Tag: PredicateNaming {
  var books: RelatedObjects<Book> { self[Tag.books] }
  var label: String { (name ?? "").uppercased() }

  static var predicateNames: [AnyKeyPath: String] { [\Tag.label: "name"] }
}

@Suite("Foundation's #Predicate")
struct MacroPredicateTests {
  let library: Library
  let context: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
    let tags = try ["novel", "Été", nil].map { name in
      let tag = try context.insert(Tag.self)
      tag.name = name
      return tag
    }
    for (index, name) in ["Eco", "Calvino", ""].enumerated() {
      let author = try context.insert(Author.self)
      author.name = name
      for number in 0..<4 {
        let book = try context.insert(Book.self)
        book.title = number == 3 ? "" : "\(name) \(number)"
        book.pages = 100 * index + 10 * number
        book[Book.weight] = number == 1 ? nil : Double(number) / 2
        book[Book.isRead] = number == 2
        book[Book.printed] =
          number == 0 ? nil : Date(timeIntervalSinceReferenceDate: Double(number))
        book[Book.code] = UUID()
        book.author = index == 2 && number > 1 ? nil : author
        book.tags = RelatedObjects(tags.prefix(number))
        book.chapters = RelatedObjects(
          try (0..<number).map { place in
            let chapter = try context.insert(Chapter.self)
            chapter[Chapter.title] = place == 0 ? nil : "\(name) \(place)"
            return chapter
          })
      }
    }
    try context.save()
  }

  /// The store finds what Foundation's own evaluation finds.
  private func agrees(
    _ predicate: Foundation.Predicate<Book>, location: SourceLocation = #_sourceLocation
  ) throws {
    let all = try context.fetch(Book.self)
    let inMemory = Set(try all.filter { try predicate.evaluate($0) }.map(\.objectID))
    let found = try context.fetch(Book.self, matching: predicate, order: Book.title.ascending)
    #expect(Set(found.map(\.objectID)) == inMemory, sourceLocation: location)
    #expect(!inMemory.isEmpty && inMemory.count < all.count, sourceLocation: location)
    #expect(
      try context.count(Book.self, matching: predicate) == inMemory.count, sourceLocation: location)
  }

  @Test("Comparisons, logic and arithmetic find what they find in memory")
  func scalars() throws {
    try agrees(#Predicate { $0.pages > 100 && $0.pages <= 210 })
    try agrees(#Predicate { $0.pages == 10 || $0.title != "Eco 1" && !($0.pages < 20) })
    try agrees(#Predicate { $0.isRead })
    try agrees(#Predicate { !$0.isRead && $0.pages >= 10 })
    try agrees(#Predicate { $0.isRead == ($0.pages > 150) })
    try agrees(#Predicate { $0.pages % 100 == 10 && $0.pages / 100 > 0 })
    try agrees(#Predicate { $0.pages * 2 - 1 == 219 || -$0.pages == -10 })
    try agrees(#Predicate { ($0.pages > 100 ? $0.pages : 0) == 110 })
    try agrees(#Predicate { $0.pages > 100 ? $0.isRead : $0.title.isEmpty })
    let (limit, titles) = (110, ["Eco 0", "Calvino 1"])
    try agrees(#Predicate { $0.pages == limit || titles.contains($0.title) })
    try agrees(#Predicate { book in titles.contains { $0 == book.title } })
    try agrees(#Predicate { book in titles.allSatisfy { $0 != book.title } })
  }

  @Test("Ranges find what they find in memory")
  func ranges() throws {
    let (closed, open) = (10...110, 10..<110)
    try agrees(#Predicate { closed.contains($0.pages) })
    try agrees(#Predicate { open.contains($0.pages) })
    try agrees(#Predicate { (10...110).contains($0.pages) })
    try agrees(#Predicate { (10..<110).contains($0.pages) })
    let upwards = 110...
    try agrees(#Predicate { upwards.contains($0.pages) })
  }

  @Test("Optionals compare as in Swift: without a value they are unequal to all values")
  func optionals() throws {
    try agrees(#Predicate { $0.weight == nil })
    try agrees(#Predicate { $0.weight != nil })
    try agrees(#Predicate { $0.weight == 0.5 || $0.weight == 1 })
    try agrees(#Predicate { $0.weight != 1 })
    try agrees(#Predicate { !($0.weight == 1) })
    try agrees(#Predicate { ($0.weight ?? 7) > 1 })
    try agrees(#Predicate { $0.author == nil })
    try agrees(#Predicate { $0.author?.name == "Eco" })
    try agrees(#Predicate { $0.author?.name != "Eco" })
    try agrees(#Predicate { $0.author != nil && $0.author!.name == "Eco" })
    try agrees(#Predicate { $0.author?.name.contains("cc") ?? true || $0.author?.name == "Eco" })
    try agrees(#Predicate { $0.author?.name.isEmpty == false })
    try agrees(#Predicate { !($0.author?.name.starts(with: "E") ?? false) })
    try agrees(#Predicate { if let author = $0.author { author.name == "Eco" } else { false } })
    let date = Date(timeIntervalSinceReferenceDate: 1)
    try agrees(#Predicate { $0.printed == date })
    try agrees(#Predicate { if let printed = $0.printed { printed > date } else { false } })
  }

  @Test("Texts and collections find what they find in memory")
  func collections() throws {
    try agrees(#Predicate { $0.title.contains("o 1") })
    try agrees(#Predicate { $0.title.starts(with: "Cal") })
    try agrees(#Predicate { $0.title.isEmpty })
    try agrees(#Predicate { $0.title.localizedStandardContains("ECO") })
    try agrees(#Predicate { $0.tags.contains { $0.name == "novel" } })
    try agrees(#Predicate { $0.tags.contains { $0.name == nil } })
    try agrees(#Predicate { $0.tags.allSatisfy { $0.name == "novel" } })
    try agrees(#Predicate { !$0.tags.allSatisfy { $0.name != nil } })
    try agrees(#Predicate { $0.tags.count > 1 })
    try agrees(#Predicate { $0.tags.isEmpty })
    try agrees(#Predicate { $0.chapters.filter { $0.title == nil }.count == 1 })
    try agrees(#Predicate { $0.chapters.filter { $0.title != nil }.isEmpty })
    try agrees(
      #Predicate { book in
        book.tags.contains { tag in tag.books.contains { other in other.pages > book.pages } }
      })
    try agrees(#Predicate { $0.author?.books.contains { $0.isRead } ?? false })
  }

  @Test("A property that PredicateNaming names stands for the attribute")
  func named() throws {
    let predicate = #Predicate<Book> { $0.tags.contains { $0.label == "novel" } }
    #expect(try context.count(Book.self, matching: predicate) == 9)
    #expect(
      try FetchPredicate(predicate, in: context)
        == FetchPredicate(format: "SUBQUERY(tags, $e0, $e0.name == 'novel').@count > 0"))
  }

  @Test("What a store cannot be asked is refused by name, before anything is read")
  func refused() throws {
    func refusal(_ predicate: Foundation.Predicate<Book>) -> FetchError? {
      #expect(throws: FetchError.self) { try context.fetch(Book.self, matching: predicate) }
    }
    for predicate: Foundation.Predicate<Book> in [
      #Predicate { $0.isLong }, #Predicate { $0.isUnread }, #Predicate { $0.doublePages > 3 },
      #Predicate { $0.log.isEmpty },
    ] {
      let error = refusal(predicate)
      #expect(error?.code == .unsupported && error?.message.contains("Book") == true)
    }
    #expect(refusal(#Predicate { $0 is Novel })?.message.contains("TypeCheck") == true)
    #expect(refusal(#Predicate { $0.title.count > 3 })?.message.contains("KeyPath") == true)
    let dictionary = ["Eco 0": true]
    #expect(
      refusal(#Predicate { dictionary[$0.title] == true })?.message.contains("Dictionary") == true)
    #expect(try context.fetch(Book.self).count == 12 && !context.hasChanges)
  }
}
