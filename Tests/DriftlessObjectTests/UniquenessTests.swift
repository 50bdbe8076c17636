import Driftless
import Foundation
import Testing

@Suite("Uniqueness constraints at a save")
struct UniquenessTests {
  let customers: Customers
  let context: ManagedObjectContext

  init() throws {
    customers = try Customers()
    context = customers.container.newContext()
  }

  /// What the store has, a line a customer, in the order of their keys.
  private func stored() throws -> [String] {
    let other = try customers.another().newContext()
    var request = FetchRequest<ManagedObject>(entityName: "Customer")
    request.sort = [FetchSort("code"), FetchSort("city")]
    return try other.fetch(request).map { customer in
      func numbers(_ name: String, _ key: String) -> String {
        let objects = customer[name] as? [ManagedObject] ?? []
        return objects.map { "\($0[key] ?? "-")" }.sorted().joined(separator: "+")
      }
      let agent = (customer["agent"] as? ManagedObject)?["name"] ?? "-"
      return [
        "p\(customer.objectID.key.key)", customer["code"] ?? "-", customer["city"] ?? "-",
        customer["points"] ?? "-", agent, numbers("orders", "number"), numbers("tags", "name"),
      ].map { "\($0)" }.joined(separator: " ")
    }
  }

  private func transactions() throws -> [PersistentHistoryTransaction] {
    try customers.container.persistentStoreCoordinator.persistentStores[0]
      .fetchHistory(.fetchHistory(after: nil as PersistentHistoryToken?))
  }

  /// One saved customer with an order, a tag and an agent.
  private func saveFirst() throws -> ManagedObject {
    let customer = try context.make("Customer", ["code": "a", "city": "Rome", "points": 7])
    try customer.setValue([try context.make("Order", ["number": 1])], forKey: "orders")
    try customer.setValue([try context.make("Mark", ["name": "x"])], forKey: "tags")
    try customer.setValue(try context.make("Agent", ["name": "Ada"]), forKey: "agent")
    try context.save()
    return customer
  }

  /// A new customer with the same code.
  private func makeSecond(_ context: ManagedObjectContext) throws -> ManagedObject {
    let customer = try context.make("Customer", ["code": "a", "city": "Oslo"])
    try customer.setValue([try context.make("Order", ["number": 2])], forKey: "orders")
    try customer.setValue([try context.make("Mark", ["name": "y"])], forKey: "tags")
    return customer
  }

  @Test("Without a policy nothing is saved, and the error names every constraint and object")
  func errorPolicy() throws {
    let first = try saveFirst()
    let count = try transactions().count
    let second = try makeSecond(context)
    let twin = try context.make("Customer", ["code": "t", "first": "A", "last": "B"])
    let other = try context.make("Customer", ["code": "u", "first": "A", "last": "B"])
    let error = #expect(throws: ConstraintConflictError.self) { try context.save() }
    let conflicts = try #require(error?.conflicts)
    #expect(conflicts.count == 2)
    let row = try #require(conflicts.first { $0.constraint == ["code"] })
    #expect(row.constraintValues == ["code": .string("a")])
    #expect(row.databaseObject == first.objectID)
    #expect(row.databaseSnapshot?["city"] == .string("Rome"))
    #expect(row.conflictingObjects == [second.objectID] && row.conflictingSnapshots == [nil])
    let pair = try #require(conflicts.first { $0.constraint == ["first", "last"] })
    #expect(pair.constraintValues == ["first": .string("A"), "last": .string("B")])
    #expect(pair.databaseObject == nil && pair.databaseSnapshot == nil)
    #expect(pair.conflictingObjects == [twin.objectID, other.objectID])
    #expect(error?.description.contains("code") == true)
    #expect(try transactions().count == count && stored() == ["p1 a Rome 7 Ada 1 x"])
    // The context keeps its changes, and can save once they are corrected.
    #expect(second.isInserted && twin.isInserted)
    try second.setValue("b", forKey: "code")
    try other.setValue("C", forKey: "last")
    try context.save()
    #expect(try stored().count == 4)
  }

  @Test(
    "A new object that meets a row becomes that row's object, as the policy says",
    arguments: [
      (MergePolicyType.mergeByPropertyStoreTrump, "p1 a Rome 7 Ada 1+2 x+y"),
      (.mergeByPropertyObjectTrump, "p1 a Oslo 7 Ada 1+2 x+y"),
      (.overwrite, "p1 a Oslo 5 - 1+2 x+y"), (.rollback, "p1 a Rome 7 Ada 1 x"),
    ], [true, false])
  func newAgainstRow(_ policy: (MergePolicyType, String), isKnown: Bool) throws {
    let first = try saveFirst()
    let count = try transactions().count
    let context = isKnown ? context : customers.container.newContext()
    context.mergePolicy = MergePolicy(merge: policy.0)
    let second = try makeSecond(context)
    try context.save()
    #expect(try stored() == [policy.1])
    #expect(second.managedObjectContext == nil && !context.hasChanges)
    #expect(try transactions().count == count + 1)
    // The object in memory is what the store has.
    let kept = try context.existingObject(with: first.objectID)
    #expect(policy.1.contains("\(kept["city"] ?? "-") \(kept["points"] ?? "-")"))
    #expect((kept["orders"] as? [ManagedObject])?.count == (policy.0 == .rollback ? 1 : 2))
    try kept.setValue("Bern", forKey: "city")
    try context.save()
    #expect(try stored()[0].hasPrefix("p1 a Bern"))
  }

  @Test("The merge is in the save's one transaction of history, as changes of the kept object")
  func history() throws {
    let first = try saveFirst()
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.make("Customer", ["code": "a", "city": "Oslo"])
    try context.make("Customer", ["code": "n"])
    try context.save()
    let last = try #require(try transactions().last)
    let changes = try #require(last.changes)
    #expect(changes.count == 2)
    let update = try #require(changes.first { $0.changeType == .update })
    #expect(update.changedObjectID == first.objectID)
    #expect(update.updatedProperties == ["city"])
  }

  @Test(
    "A saved object that takes over a row's value gives it back, or stays in place of the other",
    arguments: [
      (
        MergePolicyType.mergeByPropertyStoreTrump,
        ["p1 a Rome 7 Ada 1 x", "p2 b Kiev 5 - 2 "]
      ),
      (.rollback, ["p1 a Rome 7 Ada 1 x", "p2 b Oslo 5 - 2 "]),
      (.mergeByPropertyObjectTrump, ["p2 a Kiev 5 Ada 1+2 x"]),
      (.overwrite, ["p2 a Kiev 5 Ada 1+2 x"]),
    ])
  func changedAgainstRow(policy: MergePolicyType, expected: [String]) throws {
    let first = try saveFirst()
    let second = try context.make("Customer", ["code": "b", "city": "Oslo"])
    try second.setValue([try context.make("Order", ["number": 2])], forKey: "orders")
    try context.save()
    try second.setValue("a", forKey: "code")
    try second.setValue("Kiev", forKey: "city")
    let error = #expect(throws: ConstraintConflictError.self) { try context.save() }
    #expect(error?.conflicts.first?.conflictingSnapshots.first??["code"] == .string("b"))
    context.mergePolicy = MergePolicy(merge: policy)
    try context.save()
    #expect(try stored() == expected)
    #expect((first.managedObjectContext == nil) == (expected.count == 1))
    #expect(!context.hasChanges && second["code"] as? String == (expected.count == 1 ? "a" : "b"))
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Order")) == 2)
  }

  @Test("New objects that meet each other become one, or an error where the store has none to keep")
  func newAgainstNew() throws {
    for policy in [MergePolicyType.mergeByPropertyStoreTrump, .rollback] {
      context.mergePolicy = MergePolicy(merge: policy)
      try context.make("Customer", ["code": "n"])
      try context.make("Customer", ["code": "n"])
      #expect(throws: ConstraintConflictError.self) { try context.save() }
      context.rollback()
    }
    context.mergePolicy = .mergeByPropertyObjectTrump
    let first = try context.make("Customer", ["code": "n", "city": "Rome", "points": 1])
    let order = try context.make("Order", ["number": 3])
    let second = try context.make("Customer", ["code": "n", "city": "Oslo"])
    try order.setValue(second, forKey: "customer")
    try context.make("Customer", ["code": "n", "points": 2])
    try context.save()
    #expect(try stored() == ["p1 n Oslo 2 - 3 "])
    #expect(order["customer"] as? ManagedObject === first)
  }

  @Test("One new object that meets two rows by two constraints makes one of all three")
  func twoConstraints() throws {
    try context.make("Customer", ["code": "a", "city": "Rome"])
    try context.make("Customer", ["code": "b", "first": "F", "last": "L", "points": 9])
    try context.save()
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.make("Customer", ["code": "a", "first": "F", "last": "L"])
    try context.save()
    #expect(try stored() == ["p1 a Rome 5 -  "])
  }

  @Test("Null is like no other value, and half of a pair is no pair")
  func nulls() throws {
    for _ in 0..<3 { try context.make("Customer", ["first": "A"]) }
    for _ in 0..<2 { try context.make("Customer", ["last": "B"]) }
    try context.save()
    #expect(try stored().count == 5)
  }

  @Test("Values pass from one object to another in one save")
  func passing() throws {
    let first = try saveFirst()
    let second = try context.make("Customer", ["code": "b"])
    let third = try context.make("Customer", ["code": "c"])
    try context.save()
    // A ring, a row that goes, and a new one in its place.
    try first.setValue("b", forKey: "code")
    try second.setValue("a", forKey: "code")
    context.delete(third)
    try context.make("Customer", ["code": "c", "city": "new"])
    try context.save()
    #expect(try stored().map { String($0.prefix(8)) } == ["p2 a - 5", "p1 b Rom", "p4 c new"])
    let changes = try #require(try transactions().last?.changes)
    #expect(changes.map(\.changeType).filter { $0 == .update }.count == 2)
    #expect(second["code"] as? String == "a" && !context.hasChanges)
    try second.setValue("z", forKey: "code")
    try context.save()
  }

  @Test("Constraints are inherited, and those of a subentity hold beside them")
  func inheritance() throws {
    try context.make("Employee", ["code": "e", "badge": 1, "city": "Rome"])
    try context.save()
    try context.make("Employee", ["code": "f", "badge": 1])
    let byBadge = #expect(throws: ConstraintConflictError.self) { try context.save() }
    #expect(byBadge?.conflicts.map(\.constraint) == [["badge"]])
    context.rollback()
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.make("Employee", ["code": "e", "city": "Oslo"])
    try context.save()
    #expect(try stored() == ["p1 e Oslo 5 -  "])
    // An employee and a customer cannot become one object.
    try context.make("Customer", ["code": "e"])
    let error = #expect(throws: ConstraintConflictError.self) { try context.save() }
    #expect(error?.conflicts.map(\.constraint) == [["code"]])
    context.mergePolicy = .rollback
    try context.save()
    #expect(try stored() == ["p1 e Oslo 5 -  "])
  }

  @Test("A row that another stack wrote since is met as well, and its newest values count")
  func anotherStack() throws {
    let first = try saveFirst()
    let elsewhere = try customers.another().newContext()
    let theirs = try #require(elsewhere.object(with: first.objectID))
    try theirs.setValue("Lima", forKey: "city")
    try theirs.setValue(8, forKey: "points")
    try elsewhere.save()
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.make("Customer", ["code": "a", "city": "Oslo"])
    try context.save()
    #expect(try stored() == ["p1 a Oslo 8 Ada 1 x"])
    #expect(first["points"] as? Int64 == 8)
  }

  @Test("Contexts that insert the same keys at one time end with one object a key")
  func concurrent() async throws {
    let container = customers.container
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<4 {
        let background = container.newBackgroundContext()
        group.addTask {
          for round in 0..<40 {
            try await background.perform { context in
              context.mergePolicy = .mergeByPropertyObjectTrump
              let customer = try context.make("Customer", ["code": "\(round % 8)"])
              try context.make("Order", ["number": number * 100 + round, "customer": customer])
              try context.save()
            }
          }
        }
      }
      try await group.waitForAll()
    }
    let all = try context.fetch(FetchRequest<ManagedObject>(entityName: "Customer"))
    #expect(Set(all.compactMap { $0["code"] as? String }).count == 8 && all.count == 8)
    // No order was lost, whichever context made its customer.
    #expect(all.map { ($0["orders"] as? [ManagedObject])?.count } == Array(repeating: 20, count: 8))
  }

  @Test("What breaks the model's rules after a merge fails the save")
  func validation() throws {
    let model = Customers.model()
    model.entitiesByName["Order"]?.relationshipsByName["customer"]?.isOptional = true
    let customer = try #require(model.entitiesByName["Customer"])
    customer.relationshipsByName["orders"]?.maxCount = 2
    let container = PersistentContainer(name: "Few", model: model, storeURL: nil)
    try container.loadPersistentStores()
    let context = container.newContext()
    func make(_ orders: Int) throws {
      let customer = try context.make("Customer", ["code": "a"])
      let list = try (0..<orders).map { try context.make("Order", ["number": $0]) }
      try customer.setValue(list, forKey: "orders")
    }
    try make(2)
    try context.save()
    context.mergePolicy = .mergeByPropertyObjectTrump
    try make(1)
    #expect(throws: ValidationFailure.self) { try context.save() }
  }

  @Test("An undo after a merge does not bring the object back that went")
  func undo() throws {
    let first = try saveFirst()
    context.undoManager = UndoManager()
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.make("Customer", ["code": "a", "city": "Oslo"])
    try context.save()
    context.undo()
    try context.save()
    #expect(try stored().count == 1 && first["city"] as? String == "Oslo")
  }

  @Test("What a new object was given goes into the row, where it is the default or nothing, too")
  func givenDefault() throws {
    _ = try saveFirst()
    let other = try customers.another().newContext()
    other.mergePolicy = .mergeByPropertyObjectTrump
    let second = try other.make("Customer", ["code": "a", "points": 5])
    second["city"] = nil
    try second.setValue(nil, forKey: "agent")
    try other.save()
    let reader = try customers.another().newContext()
    let found = try #require(
      try reader.fetch(FetchRequest<ManagedObject>(entityName: "Customer")).first)
    #expect(found["points"] as? Int32 == 5 || found["points"] as? Int64 == 5)
    #expect(found["city"] == nil && found["agent"] == nil)
  }

  @Test("What a child did not give stays in the row, what it gave goes there")
  func givenByChild() throws {
    _ = try saveFirst()
    let parent = try customers.another().newContext()
    parent.mergePolicy = .mergeByPropertyObjectTrump
    let child = ManagedObjectContext(parent: parent)
    let second = try child.make("Customer", ["code": "a", "points": 5])
    try child.save()
    try parent.save()
    _ = second
    let reader = try customers.another().newContext()
    let found = try #require(
      try reader.fetch(FetchRequest<ManagedObject>(entityName: "Customer")).first)
    #expect("\(found["points"] ?? "-")" == "5" && found["city"] as? String == "Rome")
    #expect((found["agent"] as? ManagedObject)?["name"] as? String == "Ada")
  }
}
