import CoreData
import TestSupport
import Testing

/// Predicates, expressions and sort descriptors, against a store and in memory.
struct PredicateTests {
  private let folder: TemporaryDirectory
  private let context: NSManagedObjectContext

  init() throws {
    folder = try TemporaryDirectory()
    context = try Shop.container(folder).newBackgroundContext()
    try context.performAndWait { [context] in
      let order = NSEntityDescription.insertNewObject(forEntityName: "Order", into: context)
      order.setValue(7, forKey: "number")
      for (index, name) in ["lamp", "Lamp", "chair", "Äpfel", "file 10", "file 9"].enumerated() {
        let item = Item(context: context)
        item.name = name
        item.price = Int32(index)
        item.setValue(Double(index) / 2, forKey: "weight")
        item.setValue(index.isMultiple(of: 2), forKey: "isSold")
        item.setValue(Date(timeIntervalSinceReferenceDate: Double(index)), forKey: "made")
        item.setValue(UUID(), forKey: "code")
        if index < 2 { item.setValue(order, forKey: "order") }
      }
      try context.save()
    }
  }

  private func names(_ predicate: NSPredicate?, _ sort: NSSortDescriptor...) throws -> [String] {
    try context.performAndWait {
      let request: NSFetchRequest<Item> = Item.fetchRequest()
      request.predicate = predicate
      request.sortDescriptors =
        sort.isEmpty ? [NSSortDescriptor(key: "price", ascending: true)] : sort
      let found = try context.fetch(request)
      if let predicate {
        let all = try context.fetch(Item.fetchRequest() as NSFetchRequest<Item>)
        #expect(Set(all.filter { predicate.evaluate(with: $0) }) == Set(found), "in memory")
      }
      return found.compactMap(\.name)
    }
  }

  @Test(
    "An entity is compared by %@ and by its name; texts and bytes of a property have a length in a fetch"
  )
  func entitiesAndLengths() throws {
    let (items, orders) = try context.performAndWait {
      [context] in
      let model = try #require(context.persistentStoreCoordinator?.managedObjectModel)
      return (model.entitiesByName["Item"], model.entitiesByName["Order"])
    }
    let six = try names(nil)
    #expect(try names(NSPredicate(format: "entity == %@", items)) == six)
    #expect(try names(NSPredicate(format: "SELF.entity != %@", items)) == [])
    #expect(try names(NSPredicate(format: "entity IN %@", [items, orders])) == six)
    #expect(try names(NSPredicate(format: "entity.name == 'Order'")) == [])
    #expect(try names(NSPredicate(format: "entity.name BEGINSWITH 'It'")) == six)
    #expect(try names(NSPredicate(format: "order.entity == %@", orders)) == ["lamp", "Lamp"])
    #expect(try names(NSPredicate(format: "name.length == 5")) == ["chair", "Äpfel"])
    #expect(try names(NSPredicate(format: "order != nil AND name.length > 3")) == ["lamp", "Lamp"])
    try context.performAndWait { [context] in
      let item = try #require(try context.fetch(Item.fetchRequest() as NSFetchRequest<Item>).first)
      item.setValue(Data([1, 2, 3]), forKey: "photo")
      try context.save()
    }
    #expect(try names(NSPredicate(format: "photo.length == 3")).count == 1)
    // What is not saved yet is found in memory.
    try context.performAndWait { [context] in
      let item = Item(context: context)
      item.name = "Unsaved"
      item.price = 99
      let request: NSFetchRequest<Item> = Item.fetchRequest()
      request.predicate = NSPredicate(format: "entity == %@ AND name.length == 7", items)
      let found = try context.fetch(request)
      #expect(found.map(\.name).contains("Unsaved"))
      context.rollback()
    }
  }

  @Test(
    "Arguments that a format does not ask for are passed over; one too few is an error of the fetch"
  )
  func superfluousArguments() throws {
    #expect(try names(NSPredicate(format: "price == %d", 2, 7, "x")) == ["chair"])
    #expect(try names(NSPredicate(format: "price == 2", argumentArray: [1])) == ["chair"])
    #expect(
      CoreData.NSExpression(format: "1 + %d", 2, 9).expressionValue(with: nil, context: nil) as? Int
        == 3)
    #expect(throws: (any Error).self) {
      try names(NSPredicate(format: "price == %d AND name == %@", 2))
    }
  }

  @Test("An expression is an argument of a format")
  func expressionArguments() throws {
    let sum = CoreData.NSExpression(format: "price + 1")
    #expect(try names(NSPredicate(format: "%@ == 3", sum)) == ["chair"])
    #expect(
      try names(NSPredicate(format: "price == %@", CoreData.NSExpression(forConstantValue: 1)))
        == ["Lamp"])
  }

  @Test("An expression says what it stands for of an object, of a dictionary and of nothing")
  func expressionValues() throws {
    func value(_ format: String, _ object: Any?, _ context: NSMutableDictionary? = nil) -> Any? {
      CoreData.NSExpression(format: format).expressionValue(with: object, context: context)
    }
    #expect(value("4 + 5 - 2 ** 3", nil) as? Int == 1)
    #expect(value("max:({3, 1})", nil) as? Int == 3)
    #expect(value("uppercase:(name)", ["name": "a"]) as? String == "A")
    #expect(value("a * $b", ["a": 2] as NSDictionary, ["b": 3]) as? Int == 6)
    #expect(value("missing", ["a": 2]) == nil)
    let date = Date()
    #expect(
      CoreData.NSExpression(forConstantValue: date).expressionValue(with: nil, context: nil)
        as? Date == date)
    try context.performAndWait {
      let lamp = try #require(try context.fetch(Item.fetchRequest()).first { $0.name == "lamp" })
      #expect(value("order.number + 1", lamp) as? Int == 8)
      #expect(value("order", lamp) as? Order == lamp.order)
      #expect(value("order.items.name", lamp).map { ($0 as? [Any])?.count } == 2)
      #expect(value("SELF", lamp) as? Item == lamp)
      #expect(value("order.items.@count", lamp) as? Int == 2)
    }
  }

  @Test("Formats with C-style arguments find in the store what they find in memory")
  func formats() throws {
    #expect(try names(NSPredicate(format: "price > %d", 3)) == ["file 10", "file 9"])
    #expect(try names(NSPredicate(format: "price > %ld AND weight <= %f", 1, 1.5)).count == 2)
    #expect(try names(NSPredicate(format: "name ==[c] %@", "LAMP")) == ["lamp", "Lamp"])
    #expect(try names(NSPredicate(format: "%K BEGINSWITH %@", "name", "file")).count == 2)
    #expect(try names(NSPredicate(format: "isSold == %@", NSNumber(value: true))).count == 3)
    #expect(try names(NSPredicate(format: "isSold == YES")).count == 3)
    #expect(try names(NSPredicate(format: "price IN %@", [1, 3] as NSArray)) == ["Lamp", "Äpfel"])
    #expect(try names(NSPredicate(format: "price IN %@", Set([1, 3]))) == ["Lamp", "Äpfel"])
    #expect(try names(NSPredicate(format: "order.number == %i", 7)) == ["lamp", "Lamp"])
    #expect(try names(NSPredicate(format: "order == nil")).count == 4)
    #expect(try names(NSPredicate(format: "price BETWEEN %@", [1, 2])) == ["Lamp", "chair"])
    let date = Date(timeIntervalSinceReferenceDate: 4)
    #expect(try names(NSPredicate(format: "made >= %@", date as NSDate)).count == 2)
    #expect(
      try names(NSPredicate(format: "name == %@ OR price == %@", argumentArray: ["chair", 0]))
        == ["lamp", "chair"])
    #expect(try names(NSPredicate(value: false)).isEmpty)
  }

  @Test("An object and its ID are arguments")
  func objects() throws {
    try context.performAndWait {
      let order = try #require(
        try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Order")).first)
      let request: NSFetchRequest<Item> = Item.fetchRequest()
      request.predicate = NSPredicate(format: "order == %@", order)
      var found = try context.count(for: request)
      #expect(found == 2)
      request.predicate = NSPredicate(format: "order == %@", order.objectID)
      found = try context.count(for: request)
      #expect(found == 2)
      let orders = NSFetchRequest<NSManagedObject>(entityName: "Order")
      orders.predicate = NSPredicate(format: "ANY items.price == 1 AND items.@count == 2")
      found = try context.count(for: orders)
      #expect(found == 1)
      orders.predicate = NSPredicate(format: "SUBQUERY(items, $i, $i.price > 5).@count > 0")
      found = try context.count(for: orders)
      #expect(found == 0)
    }
  }

  @Test("Compounds and comparisons that are made by hand")
  func madeByHand() throws {
    let cheap = NSComparisonPredicate(
      leftExpression: NSExpression(forKeyPath: "price"),
      rightExpression: NSExpression(forConstantValue: 2), modifier: .direct, type: .lessThan)
    let lamp = NSComparisonPredicate(
      leftExpression: NSExpression(forKeyPath: "name"),
      rightExpression: NSExpression(forConstantValue: "LAMP"), modifier: .direct, type: .equalTo,
      options: .caseInsensitive)
    let both = NSCompoundPredicate(andPredicateWithSubpredicates: [cheap, lamp])
    #expect(try names(both) == ["lamp", "Lamp"])
    #expect(try names(NSCompoundPredicate(notPredicateWithSubpredicate: both)).count == 4)
    let chair = NSPredicate(format: "name == 'chair'")
    #expect(try names(NSCompoundPredicate(orPredicateWithSubpredicates: [chair, lamp])).count == 3)
  }

  @Test("Variables are substituted, and one that is missing makes the fetch throw")
  func variables() throws {
    let template = NSPredicate(format: "name == $NAME")
    #expect(try names(template.withSubstitutionVariables(["NAME": "chair"])) == ["chair"])
    let request: NSFetchRequest<Item> = Item.fetchRequest()
    request.predicate = template
    #expect(throws: CocoaError.self) { try context.performAndWait { try context.fetch(request) } }
  }

  @Test(
    "A format that does not parse, or names no property, makes the fetch throw",
    arguments: ["price >", "price > %@", "nothing == 3", "name MATCHES '['"])
  func wrongFormats(format: String) throws {
    let request: NSFetchRequest<Item> = Item.fetchRequest()
    request.predicate = NSPredicate(format: format)
    let error = #expect(throws: (any Error).self) {
      try context.performAndWait { try context.fetch(request) }
    }
    #expect((error as NSError?)?.domain == NSCocoaErrorDomain)
    #expect((error as NSError?)?.code == NSCoreDataError)
  }

  @Test("A block is for memory: a fetch refuses it, and does not run it on anything else")
  func blocks() throws {
    let block = NSPredicate { object, _ in
      guard let item = object as? Item else { preconditionFailure("asked of \(object ?? "nil")") }
      return item.price > 4
    }
    let request: NSFetchRequest<Item> = Item.fetchRequest()
    let all = try context.performAndWait { try context.fetch(request) }
    #expect(all.filter { block.evaluate(with: $0) }.count == 1)
    request.predicate = block
    #expect(throws: CocoaError.self) { try context.performAndWait { try context.fetch(request) } }
  }

  @Test("A copy asks the same, and so does that of a request")
  func copies() throws {
    let copy = NSPredicate(format: "name == 'chair'").copy() as? NSPredicate
    #expect(try names(copy) == ["chair"])
    #expect(copy == NSPredicate(format: "name == %@", "chair"))
    #expect(copy != NSPredicate(format: "name == 'lamp'"))
    let request: NSFetchRequest<Item> = Item.fetchRequest()
    request.predicate = copy
    request.fetchLimit = 3
    let other = try #require(request.copy() as? NSFetchRequest<Item>)
    #expect(other !== request && other.fetchLimit == 3 && other.entityName == "Item")
    request.fetchLimit = 4
    #expect(other.fetchLimit == 3)
  }

  @Test("A format is asked of a dictionary")
  func dictionaries() {
    let predicate = NSPredicate(format: "age > 3 AND name BEGINSWITH 'A'")
    #expect(predicate.evaluate(with: ["age": 4, "name": "Ann"]))
    #expect(!predicate.evaluate(with: ["age": 3, "name": "Ann"]))
  }

  @Test("Sort descriptors by key, by Swift key path, and by a locale's order")
  func sorts() throws {
    #expect(
      try names(
        nil, NSSortDescriptor(key: "order.number", ascending: false),
        NSSortDescriptor(key: "price", ascending: false)
      ).prefix(2) == ["Lamp", "lamp"])
    #expect(
      try names(nil, NSSortDescriptor(keyPath: \Item.price, ascending: false)).first == "file 9")
    let byName = NSSortDescriptor(keyPath: \Item.name, ascending: true)
    #expect(try names(nil, byName).first == "Lamp")
    let (one, two) = try context.performAndWait {
      let all = try context.fetch(Item.fetchRequest() as NSFetchRequest<Item>)
      return (all.first { $0.name == "Lamp" }, all.first { $0.name == "chair" })
    }
    #expect(byName.compare(try #require(one), to: try #require(two)) == .orderedAscending)
    let standard = NSSortDescriptor(
      key: "name", ascending: true, selector: .localizedStandardCompare)
    #expect(try names(nil, standard).filter { $0.hasPrefix("file") } == ["file 9", "file 10"])
    #expect(standard.key == "name" && standard.ascending)
  }

  @Test("Dictionaries of properties, expressions and groups; IDs; a count")
  func resultTypes() throws {
    try context.performAndWait {
      let request = NSFetchRequest<NSDictionary>(entityName: "Item")
      request.resultType = .dictionaryResultType
      let sum = NSExpressionDescription()
      sum.name = "total"
      sum.expression = NSExpression(
        forFunction: "sum:", arguments: [NSExpression(forKeyPath: "price")])
      sum.expressionResultType = .integer64AttributeType
      request.propertiesToFetch = ["isSold", sum]
      request.propertiesToGroupBy = ["isSold"]
      request.sortDescriptors = [NSSortDescriptor(key: "isSold", ascending: true)]
      let rows = try context.fetch(request)
      #expect(rows.map { $0["total"] as? Int } == [9, 6])
      request.havingPredicate = NSPredicate(format: "total > 8")
      #expect(try context.fetch(request).count == 1)

      let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Item")
      ids.resultType = .managedObjectIDResultType
      #expect(try context.fetch(ids).count == 6)
      let count = NSFetchRequest<NSNumber>(entityName: "Item")
      count.resultType = .countResultType
      #expect(try context.fetch(count) == [6])

      let erased: NSFetchRequest<any NSFetchRequestResult> = Item.fetchRequest()
      #expect(try context.fetch(erased) as? [Item] != nil)
      let wrong = NSFetchRequest<Order>(entityName: "Item")
      #expect(throws: CocoaError.self) { try context.fetch(wrong) }
    }
  }

  @Test("Expressions in words say what they are, and equal comparisons are equal and can be read")
  func words() {
    #expect(NSExpression(format: "name").expressionType == .keyPath)
    #expect(NSExpression(format: "name").keyPath == "name")
    #expect(NSExpression(format: "3").expressionType == .constantValue)
    #expect(NSExpression(format: "3").constantValue as? Int == 3)
    #expect(NSExpression(format: "sum:(price)").expressionType == .function)
    func comparison(_ price: Int) -> NSComparisonPredicate {
      NSComparisonPredicate(
        leftExpression: NSExpression(forKeyPath: "price"),
        rightExpression: NSExpression(forConstantValue: price), modifier: .direct, type: .equalTo)
    }
    #expect(comparison(1) == comparison(1) && comparison(1) != comparison(2))
    #expect(comparison(1).hash == comparison(1).hash)
    #expect("\(comparison(1))" == "price == 1")
    #expect(NSExpression(forKeyPath: "a") == NSExpression(forKeyPath: "a"))
  }
}
