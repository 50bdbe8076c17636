import CoreData
import TestSupport
import Testing

/// `Novel.swift` and `Writer.swift` say `@NSManaged` as they do on Apple's systems: that they link is the first half of the
/// test, and this the second.
struct ManagedMemberTests {
  private let folder: TemporaryDirectory
  private let context: NSManagedObjectContext

  init() throws {
    folder = try TemporaryDirectory()
    let container = NSPersistentContainer(name: "Novels", managedObjectModel: Self.model())
    container.persistentStoreDescriptions = [
      NSPersistentStoreDescription(url: folder.file("Novels.sqlite"))
    ]
    nonisolated(unsafe) var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    if let failure { throw failure }
    context = container.newBackgroundContext()
  }

  private static func attribute(
    _ name: String, _ type: NSAttributeType, _ transformer: String? = nil
  ) -> NSAttributeDescription {
    let attribute = NSAttributeDescription()
    (attribute.name, attribute.attributeType, attribute.isOptional) = (name, type, true)
    attribute.valueTransformerName = transformer
    return attribute
  }

  private static func model() -> NSManagedObjectModel {
    func entity(_ name: String, _ type: NSManagedObject.Type) -> NSEntityDescription {
      let entity = NSEntityDescription()
      (entity.name, entity.managedObjectClassName) = (name, String(reflecting: type))
      return entity
    }
    let (novel, sequel) = (entity("Novel", Novel.self), entity("Sequel", Sequel.self))
    let (writer, series) = (entity("Writer", Writer.self), entity("Series", Novel.Series.self))
    let secure = "NSSecureUnarchiveFromData"
    novel.properties = [
      attribute("title", .stringAttributeType), attribute("code", .stringAttributeType),
      attribute("made", .dateAttributeType), attribute("small", .integer16AttributeType),
      attribute("middle", .integer32AttributeType), attribute("large", .integer64AttributeType),
      attribute("isSold", .booleanAttributeType), attribute("weight", .doubleAttributeType),
      attribute("rating", .floatAttributeType), attribute("seen", .dateAttributeType),
      attribute("photo", .binaryDataAttributeType), attribute("id", .UUIDAttributeType),
      attribute("page", .URIAttributeType), attribute("count", .integer32AttributeType),
      attribute("price", .decimalAttributeType), attribute("cost", .decimalAttributeType),
      attribute("facts", .transformableAttributeType, secure),
      attribute("info", .transformableAttributeType, secure),
      attribute("words", .transformableAttributeType, secure),
      attribute("kind", .integer16AttributeType), attribute("secret", .integer64AttributeType),
      attribute("hidden", .stringAttributeType), attribute("default", .stringAttributeType),
      attribute("ending", .stringAttributeType), attribute("epilogue", .stringAttributeType),
    ]
    writer.properties = [attribute("name", .stringAttributeType)]
    series.properties = [attribute("name", .stringAttributeType)]
    sequel.properties = [attribute("number", .integer32AttributeType)]
    novel.subentities = [sequel]
    for (owner, many, one, isOrdered) in [
      (writer, "novels", "author", false), (writer, "row", "other", true),
      (series, "novels", "series", false),
    ] {
      let (to, from) = (NSRelationshipDescription(), NSRelationshipDescription())
      (to.name, to.destinationEntity, to.maxCount, to.isOrdered) = (many, novel, 0, isOrdered)
      (from.name, from.destinationEntity, from.maxCount) = (one, owner, 1)
      (to.inverseRelationship, from.inverseRelationship) = (from, to)
      (to.isOptional, from.isOptional) = (true, true)
      owner.properties.append(to)
      novel.properties.append(from)
    }
    let model = NSManagedObjectModel()
    model.entities = [novel, sequel, writer, series]
    return model
  }

  @Test("Values of every type come back, before and after a save")
  func values() throws {
    try context.performAndWait {
      let novel = Novel(context: context)
      let (date, id) = (Date(timeIntervalSinceReferenceDate: 7), UUID())
      #expect(novel.title == nil && novel.code.isEmpty && novel.small == 0 && !novel.isSold)
      novel.title = "Emma"
      novel.title?.append("!")
      novel.code = "E1"
      (novel.small, novel.middle, novel.large) = (.min, .max, .min)
      (novel.isSold, novel.rating, novel.made, novel.seen) = (true, 0.5, date, 9)
      novel.weigh(1.5)
      (novel.photo, novel.id, novel.page) = (Data([1]), id, URL(string: "https://a.example"))
      (novel.count, novel.price, novel.cost) = (3, NSDecimalNumber(string: "2.5"), Decimal(4))
      (novel.facts, novel.info, novel.words) = (["ink": "black"], "x", ["a", "b"])
      (novel.kind, novel.default, novel.epilogue) = (.poetry, "d", "good")
      #expect(novel.keep(4) == 4 && novel.keep(5) == 9 && novel.hiddenText == "h9")
      for _ in 0...1 {
        #expect(novel.title == "Emma!" && novel.code == "E1" && novel[keyPath: \.title] == "Emma!")
        #expect(novel.small == .min && novel.middle == .max && novel.large == .min)
        #expect(novel.isSold && novel.rating == 0.5 && novel.made == date && novel.seen == 9)
        #expect(novel.weight == 1.5 && novel.photo == Data([1]) && novel.id == id)
        #expect(novel.page?.absoluteString == "https://a.example" && novel.count == 3)
        #expect(novel.price == NSDecimalNumber(string: "2.5") && novel.cost == 4)
        #expect(novel.facts["ink"] as? String == "black" && novel.info as? String == "x")
        #expect(novel.words == ["a", "b"] && novel.kind == .poetry && novel.default == "d")
        #expect(novel.epilogue == "good" && novel.value(forKey: "secret") as? Int64 == 9)
        try context.save()
        context.refresh(novel, mergeChanges: false)
      }
      novel.quietTitle = "quiet"
      #expect(novel.title == "quiet" && !novel.hasChanges)
    }
  }

  @Test("Relationships are objects, sets and ordered sets, in nested and inherited classes too")
  func relationships() throws {
    try context.performAndWait {
      let (writer, series) = (Writer(context: context), Novel.Series(context: context))
      let sequel = Sequel(context: context)
      (sequel.number, sequel.title, sequel.series) = (2, "Two", series)
      sequel.author = writer
      sequel.other = writer
      #expect(series.novels == [sequel] && writer.novels == NSSet(object: sequel))
      series.novels.insert(Novel(context: context))
      try context.save()
      context.refreshAllObjects()
      #expect(series.novels.count == 2 && sequel.number == 2 && sequel.author === writer)
      #expect(sequel.series === series && sequel.other === writer)
      let request = Writer.fetchRequest()
      #expect(try context.fetch(request).first === writer)
    }
  }

  @Test("Values by key come and go through the accessor that a class has, its own or a subclass's")
  func keyedValues() throws {
    context.performAndWait {
      let novel = Novel(context: context)
      novel.setValue("Good", forKey: "ending")
      #expect(novel.primitiveValue(forKey: "ending") as? String == "Good!")
      #expect(novel.value(forKey: "ending") as? String == "good!")
      #expect(novel.value(forKeyPath: "ending") as? String == "good!")
      #expect(novel.hasChanges && novel.changedValues()["ending"] as? String == "Good!")
      let sequel = Sequel(context: context)
      sequel.setValue("Bad", forKey: "ending")
      #expect(sequel.value(forKey: "ending") as? String == "to be continued")
      #expect(sequel.primitiveValue(forKey: "ending") as? String == "Bad!")
    }
  }

  @Test(
    "A property that the model does not have has a value by key; without a setter it takes none")
  func ownKeys() throws {
    try context.performAndWait {
      let novel = Novel(context: context)
      novel.kind = .crime
      novel.setValuesForKeys(["summary": "Emma", "small": 3, "middle": 9, "genre": 2])
      #expect(novel.value(forKey: "summary") as? String == "Emma, 3")
      #expect(novel.value(forKey: "half") as? NSNumber == 4 && novel.genre == .poetry)
      #expect(novel.value(forKey: "genre") as? NSNumber == 2)
      #expect(novel.dictionaryWithValues(forKeys: ["summary"])["summary"] as? String == "Emma, 3")
      let writer = Writer(context: context)
      writer.novels = NSSet(object: novel)
      #expect(writer.value(forKeyPath: "novels.summary") as? Set<String> == ["Emma, 3"])
      try context.save()
      // No accessor is known of these, and the model has no such property.
      for key in ["pair", "own"] {
        #expect(novel.value(forKey: key) == nil)
        #expect(throws: CocoaError.self) { try context.save() }
      }
      novel.setValue(5, forKey: "half")
      #expect(throws: CocoaError.self) { try context.save() }
      novel.setValue(Data(), forKey: "summary")
      #expect(throws: CocoaError.self) { try context.save() }
    }
  }

  @Test(
    "A method validate<Key> is called for a value by name and before a save, and may correct it")
  func validators() throws {
    try context.performAndWait {
      let novel = Novel(context: context)
      var value: AnyObject? = NSNumber(value: -1)
      try novel.validateValue(&value, forKey: "rating")
      #expect(value as? NSNumber == 0 && novel.rating == 0)
      novel.rating = -4
      try context.save()
      #expect(novel.rating == 0)
      novel.rating = 11
      let error = try #require(throws: (any Error).self) { try context.save() } as NSError
      #expect(error.domain == "Novel" && error.code == 10)
      value = NSNumber(value: 12)
      #expect(throws: NSError.self) { try novel.validateValue(&value, forKey: "rating") }
      novel.rating = 1
      let writer = Writer(context: context)
      (writer.name, novel.author) = ("Nobody", writer)
      #expect(throws: NSError.self) { try context.save() }
      // A subclass has the methods of the class above it.
      writer.name = "Somebody"
      Sequel(context: context).rating = -1
      try context.save()
    }
  }

  @Test("Functions add, take out, insert and replace")
  func functions() {
    context.performAndWait {
      let writer = Writer(context: context)
      let all = (0..<4).map { _ in Novel(context: context) }
      writer.addToNovels(all[0])
      writer.addToNovels(NSSet(array: [all[1], all[2]]))
      writer.removeFromNovels(all[1])
      writer.removeFromNovels(NSSet(object: all[2]))
      #expect(writer.novels == NSSet(object: all[0]))
      func places() -> [Int?] {
        (writer.row?.array ?? []).map { one in all.firstIndex { $0 === one as AnyObject } }
      }
      writer.addToRow(all[0])
      writer.addToRow(NSOrderedSet(object: all[1]))
      writer.insertIntoRow(all[2], at: 0)
      #expect(places() == [2, 0, 1])
      writer.insertIntoRow([all[3]], at: NSIndexSet(index: 1))
      #expect(places() == [2, 3, 0, 1])
      writer.removeFromRow(at: 0)
      writer.removeFromRow(at: NSIndexSet(index: 0))
      #expect(places() == [0, 1])
      writer.replaceRow(at: 0, with: all[2])
      writer.replaceRow(at: NSIndexSet(index: 1), with: [all[3]])
      #expect(places() == [2, 3])
      writer.removeFromRow(all[2])
      writer.removeFromRow(NSOrderedSet(object: all[3]))
      #expect(places().isEmpty)
    }
  }
}
