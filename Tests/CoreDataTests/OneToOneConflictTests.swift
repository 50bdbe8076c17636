import CoreData
import TestSupport
import Testing

/// One-to-one relationships in conflicts: both ends say the same, whatever a merge policy decides.
struct OneToOneConflictTests {
  private let folder: TemporaryDirectory
  private let container: NSPersistentContainer
  private let entity: String

  init() throws { try self.init(entity: "Person") }

  private init(entity: String) throws {
    self.entity = entity
    folder = try TemporaryDirectory()
    let person = NSEntityDescription()
    person.name = "Person"
    let spouse = Shop.relationship("spouse", to: person, max: 1)
    spouse.inverseRelationship = spouse
    let (boss, aide) = (
      Shop.relationship("boss", to: person, max: 1), Shop.relationship("aide", to: person, max: 1)
    )
    (boss.inverseRelationship, aide.inverseRelationship) = (aide, boss)
    // That which is its own inverse has an entity of its own: it is one-to-one by itself.
    let worker = NSEntityDescription()
    worker.name = "Worker"
    let pairs = [boss, aide]
    for end in pairs { end.destinationEntity = worker }
    person.properties = [
      Shop.attribute("name", .stringAttributeType), Shop.attribute("age", .integer32AttributeType),
      spouse,
    ]
    worker.properties = [Shop.attribute("name", .stringAttributeType)] + pairs
    let model = NSManagedObjectModel()
    model.entities = entity == "Person" ? [person] : [worker]
    container = NSPersistentContainer(name: "People", managedObjectModel: model)
    container.persistentStoreDescriptions = [
      NSPersistentStoreDescription(url: folder.file("People.sqlite"))
    ]
    nonisolated(unsafe) var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    if let failure { throw failure }
  }

  /// Two contexts on the same people, a to d; those of the second were read.
  private func people() throws -> (
    NSManagedObjectContext, NSManagedObjectContext, [NSManagedObject], [NSManagedObject]
  ) {
    let (one, two) = (context(), context())
    try one.execute(
      NSBatchDeleteRequest(
        fetchRequest: NSFetchRequest<any NSFetchRequestResult>(entityName: entity)))
    let here = ["a", "b", "c", "d"].map { name in
      let person = NSEntityDescription.insertNewObject(forEntityName: entity, into: one)
      person.setValue(name, forKey: "name")
      return person
    }
    try one.save()
    let there = here.map { two.object(with: $0.objectID) }
    for person in there { _ = person.value(forKey: entity == "Person" ? "spouse" : "aide") }
    return (one, two, here, there)
  }

  private func context() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = container.persistentStoreCoordinator
    return context
  }

  /// `a-b` for each pair that the store has by the relationship, and `a>b` where b does not say so.
  private func pairs(_ name: String, _ inverse: String, in context: NSManagedObjectContext) throws
    -> String
  {
    let all = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: entity))
    func text(_ person: NSManagedObject?) -> String {
      person?.value(forKey: "name") as? String ?? "?"
    }
    return all.compactMap { person -> String? in
      guard let other = person.value(forKey: name) as? NSManagedObject else { return nil }
      let answer = other.value(forKey: inverse) as? NSManagedObject
      return text(person) + (answer === person ? "-" : ">") + text(other)
    }.sorted().joined(separator: " ")
  }

  @Test(
    "Two marriages of one person: one stands, as the policy says, in the store and in the context",
    arguments: [
      (NSMergePolicyType.mergeByPropertyObjectTrumpMergePolicyType, "a-b b-a"),
      (.mergeByPropertyStoreTrumpMergePolicyType, "a-c c-a"),
      (.overwriteMergePolicyType, "a-b b-a"), (.rollbackMergePolicyType, "a-c c-a"),
    ])
  func marriages(policy: NSMergePolicyType, expected: String) throws {
    let (one, two, here, there) = try people()
    two.mergePolicy = NSMergePolicy(merge: policy)
    there[0].setValue(there[1], forKey: "spouse")
    here[0].setValue(here[2], forKey: "spouse")
    try one.save()
    try two.save()
    #expect(try pairs("spouse", "spouse", in: context()) == expected)
    #expect(try pairs("spouse", "spouse", in: two) == expected)
    #expect(!two.hasChanges)
  }

  @Test(
    "So it is where the two ends have names of their own, and one of them is new",
    arguments: [
      (NSMergePolicyType.mergeByPropertyObjectTrumpMergePolicyType, "a-e"),
      (.mergeByPropertyStoreTrumpMergePolicyType, "a-c"), (.rollbackMergePolicyType, "a-c"),
    ])
  func newEnd(policy: NSMergePolicyType, expected: String) throws {
    try OneToOneConflictTests(entity: "Worker").checkNewEnd(policy, expected)
  }

  private func checkNewEnd(_ policy: NSMergePolicyType, _ expected: String) throws {
    let (one, two, here, there) = try people()
    two.mergePolicy = NSMergePolicy(merge: policy)
    let new = NSEntityDescription.insertNewObject(forEntityName: entity, into: two)
    new.setValue("e", forKey: "name")
    there[0].setValue(new, forKey: "aide")
    here[0].setValue(here[2], forKey: "aide")
    try one.save()
    try two.save()
    for place in [context(), two] {
      #expect(try pairs("aide", "boss", in: place) == expected)
      #expect(try pairs("boss", "aide", in: place) == String(expected.reversed()))
    }
    #expect(!two.hasChanges && !new.isInserted)
  }

  @Test(
    "A divorce that a policy half gives up leaves nobody married to who is not",
    arguments: [
      NSMergePolicyType.mergeByPropertyObjectTrumpMergePolicyType,
      .mergeByPropertyStoreTrumpMergePolicyType, .overwriteMergePolicyType,
      .rollbackMergePolicyType,
    ])
  func divorce(policy: NSMergePolicyType) throws {
    let (one, two, here, there) = try people()
    here[0].setValue(here[1], forKey: "spouse")
    try one.save()
    two.refreshAllObjects()
    for person in there { _ = person.value(forKey: "spouse") }
    two.mergePolicy = NSMergePolicy(merge: policy)
    there[0].setValue(nil, forKey: "spouse")
    here[0].setValue(9, forKey: "age")
    try one.save()
    try two.save()
    #expect(try !pairs("spouse", "spouse", in: context()).contains(">"))
    #expect(try pairs("spouse", "spouse", in: two) == pairs("spouse", "spouse", in: context()))
  }

  @Test("A marriage with who is gone is one again or none, as the policy says")
  func widowed() throws {
    for policy in [
      NSMergePolicyType.mergeByPropertyObjectTrumpMergePolicyType,
      .mergeByPropertyStoreTrumpMergePolicyType, .overwriteMergePolicyType,
      .rollbackMergePolicyType,
    ] {
      let (one, two, here, there) = try people()
      two.mergePolicy = NSMergePolicy(merge: policy)
      there[0].setValue(there[1], forKey: "spouse")
      one.delete(here[0])
      try one.save()
      try two.save()
      let found = try pairs("spouse", "spouse", in: context())
      #expect(["", "a-b b-a"].contains(found), "\(policy)")
      #expect(try pairs("spouse", "spouse", in: two) == found)
    }
  }
}
