import CoreData
import TestSupport
import Testing

/// What `returnsObjectsAsFaults` makes of the objects of a fetch.
struct FetchedFaultTests {
  private let folder: TemporaryDirectory
  private let container: NSPersistentContainer
  private let request = NSFetchRequest<Visitor>(entityName: "Visitor")

  init() throws {
    folder = try TemporaryDirectory()
    let visitor = NSEntityDescription()
    visitor.name = "Visitor"
    visitor.managedObjectClassName = NSStringFromClass(Visitor.self)
    let friends = Shop.relationship("friends", to: visitor, max: 0)
    let friendOf = Shop.relationship("friendOf", to: visitor, max: 0)
    (friends.inverseRelationship, friendOf.inverseRelationship) = (friendOf, friends)
    visitor.properties = [
      Shop.attribute("name", .stringAttributeType), Shop.attribute("age", .integer32AttributeType),
      friends, friendOf,
    ]
    let model = NSManagedObjectModel()
    model.entities = [visitor]
    container = NSPersistentContainer(name: "Visitors", managedObjectModel: model)
    container.persistentStoreDescriptions = [
      NSPersistentStoreDescription(url: folder.file("Visitors.sqlite"))
    ]
    nonisolated(unsafe) var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    if let failure { throw failure }
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let ann = NSEntityDescription.insertNewObject(forEntityName: "Visitor", into: context)
      ann.setValue("Ann", forKey: "name")
      let bob = NSEntityDescription.insertNewObject(forEntityName: "Visitor", into: context)
      bob.setValue("Bob", forKey: "name")
      bob.setValue([ann] as Set, forKey: "friends")
      try context.save()
    }
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
  }

  private func work<T>(_ body: (NSManagedObjectContext) throws -> T) rethrows -> T {
    let context = container.newBackgroundContext()
    return try context.performAndWait { try body(context) }
  }

  private func rename(to name: String) throws {
    try work { other in
      let all = try other.fetch(NSFetchRequest<Visitor>(entityName: "Visitor"))
      for visitor in all { visitor.setValue(name, forKey: "name") }
      try other.save()
    }
  }

  @Test(
    "An object of a fetch is a fault, whose row came with the fetch, until a value is asked for")
  func rowsAtHand() throws {
    try work { context in
      let visitors = try context.fetch(request)
      #expect(visitors.allSatisfy(\.isFault) && visitors.allSatisfy(\.told.isEmpty))
      #expect(visitors[0].faultingState == 1)
      #expect(visitors[0].hasFault(forRelationshipNamed: "friends"))
      // What others save meanwhile is not read: the row is here.
      try rename(to: "Cy")
      #expect(visitors[0].name == "Ann")
      #expect(!visitors[0].isFault && visitors[0].told == ["fetch Ann"])
      #expect(visitors[1].isFault)
      _ = visitors[0].name
      #expect(visitors[0].told.count == 1)
      // To fetch once more changes nothing of it, and an ID is no value.
      #expect(try context.fetch(request) == visitors)
      _ = visitors[1].objectID
      #expect(visitors[1].isFault && !visitors[0].isFault)
      // A relationship is one.
      #expect((visitors[1].value(forKey: "friends") as? Set<Visitor>) == [visitors[0]])
      #expect(!visitors[1].isFault)
    }
  }

  @Test(
    "With returnsObjectsAsFaults set to false objects have their values, those of a former fetch too"
  )
  func withValues() throws {
    try work { context in
      let faults = try context.fetch(request)
      request.returnsObjectsAsFaults = false
      let visitors = try context.fetch(request)
      #expect(visitors == faults)
      #expect(visitors.map(\.isFault) == [false, false])
      #expect(visitors.map(\.told) == [["fetch Ann"], ["fetch Bob"]])
      #expect(visitors[0].hasFault(forRelationshipNamed: "friends"))
      request.relationshipKeyPathsForPrefetching = ["friends"]
      #expect(
        try context.fetch(request).allSatisfy { !$0.hasFault(forRelationshipNamed: "friends") })
      request.returnsObjectsAsFaults = true
      #expect(try context.fetch(request).map(\.isFault) == [false, false])
    }
  }

  @Test("A refresh of a fault that a fetch gave reads the store, and is told to nobody")
  func refreshed() throws {
    try work { context in
      let visitors = try context.fetch(request)
      try rename(to: "Cy")
      context.refresh(visitors[0], mergeChanges: false)
      #expect(visitors[0].isFault && visitors[0].told.isEmpty)
      #expect(visitors[0].name == "Cy" && visitors[0].told == ["fetch Cy"])
      context.refresh(visitors[0], mergeChanges: false)
      #expect(visitors[0].told == ["fetch Cy", "fault"])
      try rename(to: "Dan")
      request.shouldRefreshRefetchedObjects = true
      #expect(try context.fetch(request).map(\.name) == ["Dan", "Dan"])
      request.shouldRefreshRefetchedObjects = false
      context.reset()
      let again = try context.fetch(request)
      context.reset()
      #expect(again[0].told.isEmpty && again[0].isFault && again[0].name == nil)
    }
  }

  @Test("A fault that a fetch gave is changed, validated, saved and deleted as any other object is")
  func changed() throws {
    try work { context in
      let visitors = try context.fetch(request)
      visitors[0].setValue(7, forKey: "age")
      #expect(!visitors[0].isFault && visitors[0].told == ["fetch Ann"])
      #expect(visitors[0].changedValues().count == 1)
      try context.save()
      visitors[0].mutableSetValue(forKey: "friends").add(visitors[1])
      #expect(!visitors[1].isFault && visitors[1].hasChanges)
      try context.save()
      context.reset()
      let fresh = try context.fetch(request)
      fresh[0].setPrimitiveValue("Zed", forKey: "name")
      #expect(fresh[0].told == ["fetch Ann"] && fresh[0].name == "Zed")
      context.delete(fresh[1])
      try context.save()
      #expect(try context.count(for: request) == 1)
    }
  }

  @Test(
    "A child's fetch gives faults with their rows too, and existingObject(with:) an object with its values"
  )
  func child() throws {
    try work { context in
      let child = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
      child.parent = context
      let visitors = try child.fetch(request)
      #expect(visitors.allSatisfy(\.isFault) && visitors.allSatisfy(\.told.isEmpty))
      #expect(visitors[0].name == "Ann" && visitors[0].told == ["fetch Ann"])
      let bob = try #require(try child.existingObject(with: visitors[1].objectID) as? Visitor)
      #expect(!bob.isFault && bob.told == ["fetch Bob"])
    }
  }
}

final class Visitor: NSManagedObject {
  var told: [String] = []
  var name: String? { value(forKey: "name") as? String }
  override func awakeFromFetch() {
    super.awakeFromFetch()
    told.append("fetch \(primitiveValue(forKey: "name") as? String ?? "-")")
  }
  override func willTurnIntoFault() {
    super.willTurnIntoFault()
    told.append("fault")
  }
}
