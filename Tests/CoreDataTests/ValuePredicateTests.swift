import CoreData
import Foundation
import TestSupport
import Testing

/// Predicates in words on values, lists and dictionaries: `SELF` is what they are evaluated with.
struct ValuePredicateTests {
  private func holds(_ object: Any?, _ format: String, _ arguments: Any...) -> Bool {
    NSPredicate(format: format, argumentArray: arguments).evaluate(with: object)
  }

  @Test("Texts")
  func texts() {
    #expect(holds("123", "SELF MATCHES %@", "[0-9]+") && !holds("12a", "SELF MATCHES %@", "[0-9]+"))
    #expect(holds("three", "SELF BEGINSWITH 't'") && !holds("one", "SELF BEGINSWITH 't'"))
    #expect(holds("x", "SELF == 'x'") && holds("y" as NSString, "SELF != 'x'"))
    #expect(holds("abc", "SELF CONTAINS[c] 'B'") && holds("abc" as NSString, "SELF LIKE 'a*'"))
    #expect(holds("a", "SELF IN %@", ["a", "b"]) && !holds("c", "SELF IN %@", ["a", "b"]))
    #expect(holds("abc", "length == 3") && holds("äbc", "SELF.length BETWEEN {3, 4}"))
    #expect(
      (["one", "two", "ten"] as NSArray).filtered(using: NSPredicate(format: "SELF BEGINSWITH 't'"))
        as? [String] == ["two", "ten"])
  }

  @Test("Numbers, dates, identifiers, data")
  func otherValues() {
    #expect(holds(5, "SELF > 3") && !holds(NSNumber(value: 2), "SELF > 3"))
    #expect(holds(2.5, "SELF BETWEEN {1, 3}") && holds(true, "SELF == YES"))
    #expect(holds(Date(), "SELF > %@", Date.distantPast))
    let id = UUID()
    #expect(holds(id, "SELF == %@", id) && !holds(UUID(), "SELF == %@", id))
    #expect(holds(Data([1, 2]), "SELF == %@ AND length == 2", Data([1, 2])))
    #expect(holds(nil, "SELF == nil") && holds(NSNull(), "SELF == nil"))
  }

  @Test("Lists, and what stands in them")
  func lists() {
    #expect(holds([1, 2], "ANY SELF > 1") && !holds([1, 2], "ALL SELF > 1"))
    #expect(holds([1, 2], "SELF.@count == 2") && holds(Set(["a"]), "SELF.@count == 1"))
    #expect(holds(NSSet(array: [1, 5]), "ANY SELF == 5"))
    #expect(holds(["a", "b"], "SELF CONTAINS 'b'") && holds([] as [Int], "SELF.@count == 0"))

  }

  @Test("Dictionaries")
  func dictionaries() {
    let values: [String: Any] = ["a": 1, "t": "xy"]
    #expect(holds(values, "t.length == 2 AND a < 3"))
    #expect(holds(values as NSDictionary, "t.length == 2") && !holds(values, "a.length == 2"))
  }

  @Test("Data of another type than a predicate asks for do not satisfy it")
  func otherTypes() {
    for value: Any in [5, Date(), UUID(), Data(), [1], NSObject()] {
      #expect(!holds(value, "SELF BEGINSWITH 't'") && !holds(value, "SELF MATCHES 'a'"))
    }
    #expect(!holds("x", "SELF > 3") && !holds(Date(), "SELF > 'a'") && !holds(5, "length > 1"))
    #expect(!holds([1, 2], "SELF > 1") && !holds(5, "ANY SELF > 1"))
  }

  @Test("Every letter that C's formats have for whole numbers")
  func placeholders() {
    for letter in ["%hd", "%hhd", "%hu", "%ld", "%lu", "%lld", "%llu", "%zd", "%zu", "%i"] {
      #expect(NSPredicate(format: "SELF == \(letter)", 3).evaluate(with: 3), "\(letter)")
    }
  }

  @Test("A text in a property has a length")
  func properties() throws {
    let folder = try TemporaryDirectory()
    let context = try Shop.container(folder).newBackgroundContext()
    context.performAndWait {
      let item = Item(context: context)
      item.name = "lamp"
      #expect(NSPredicate(format: "name.length == 4").evaluate(with: item))
    }
  }

  @Test("The value that breaks a rule casts to every number that fits")
  func brokenValue() throws {
    let folder = try TemporaryDirectory()
    let model = NSManagedObjectModel()
    let entity = NSEntityDescription()
    entity.name = "Thing"
    let size = NSAttributeDescription()
    size.name = "size"
    size.attributeType = .integer16AttributeType
    size.setValidationPredicates(
      [NSPredicate(format: "SELF <= 150")], withValidationWarnings: ["too large"])
    entity.properties = [size]
    model.entities = [entity]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let type = #expect(throws: CocoaError.self) {
      try coordinator.addPersistentStore(ofType: "Paper", configurationName: nil, at: nil)
    }
    #expect(type?.code.rawValue == 134000)
    #expect(type?.localizedDescription.contains("SQLite, InMemory, Binary") == true)
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: folder.file("thing.sqlite"))
    #expect(coordinator.persistentStores == [store] && Set([store]).contains(store))
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      let thing = NSEntityDescription.insertNewObject(forEntityName: "Thing", into: context)
      thing.setValue(200, forKey: "size")
      let error = #expect(throws: CocoaError.self) { try context.save() }
      #expect(error?.validationValue as? Int == 200 && error?.validationValue as? Int16 == 200)
      #expect((error?.userInfo[NSValidationValueErrorKey] as? NSNumber)?.intValue == 200)
      thing.setValue(1, forKey: "size")
      try context.save()
      let request = NSBatchDeleteRequest(fetchRequest: NSFetchRequest(entityName: "Thing"))
      request.resultType = .resultTypeCount
      #expect((try context.execute(request) as? NSBatchDeleteResult)?.result as? Int == 1)
    }
  }
}
