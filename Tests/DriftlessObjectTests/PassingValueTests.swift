import Driftless
import Foundation
import Testing

/// Unique values that pass from one object to another in a save, while somebody else changes the object that gives them up.
struct PassingValueTests {
  let customers: Customers
  let context: ManagedObjectContext
  /// Has the code "a", and gives it up.
  let giver: ManagedObject

  init() throws {
    customers = try Customers()
    context = customers.container.newContext()
    giver = try context.make("Customer", ["code": "a", "city": "Rome", "points": 7])
    try context.save()
  }

  /// As another process changes it.
  private func changeElsewhere(_ values: [String: Any]) throws {
    let other = try customers.another().newContext()
    let same = try other.existingObject(with: giver.objectID)
    for (name, value) in values { try same.setValue(value, forKey: name) }
    try other.save()
  }

  /// Code, city and points of all, as another process reads them.
  private func stored() throws -> [String] {
    let other = try customers.another().newContext()
    var request = FetchRequest<ManagedObject>(entityName: "Customer")
    request.sort = [FetchSort("code")]
    return try other.fetch(request).map {
      "\($0["code"] ?? "-") \($0["city"] ?? "-") \($0["points"] ?? "-")"
    }
  }

  @Test(
    "Without a policy the save names the object that others changed, and goes through after a refresh"
  )
  func errorPolicy() throws {
    try changeElsewhere(["city": "Oslo"])
    try giver.setValue("b", forKey: "code")
    let taker = try context.make("Customer", ["code": "a", "city": "Bern"])
    let error = #expect(throws: SaveConflictError.self) { try context.save() }
    #expect(error?.conflicts.map(\.objectID) == [giver.objectID])
    #expect(error?.conflicts.first?.changedProperties == ["code"])
    #expect(giver.isUpdated && taker.isInserted)
    #expect(try stored() == ["a Oslo 7"])
    try context.refresh(giver, mergeChanges: true)
    try context.save()
    #expect(try stored() == ["a Bern 5", "b Oslo 7"])
  }

  @Test(
    "What only this context changed is written, and the value passes",
    arguments: [MergePolicyType.mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump])
  func merged(_ type: MergePolicyType) throws {
    try changeElsewhere(["city": "Oslo"])
    try giver.setValue("b", forKey: "code")
    _ = try context.make("Customer", ["code": "a", "city": "Bern"])
    context.mergePolicy = MergePolicy(merge: type)
    try context.save()
    #expect(try stored() == ["a Bern 5", "b Oslo 7"])
    #expect(giver["city"] as? String == "Oslo" && !context.hasChanges)
    // And what they were told is right for the next one.
    try giver.setValue("c", forKey: "code")
    _ = try context.make("Customer", ["code": "b"])
    try context.save()
    #expect(try stored().map { $0.prefix(1) } == ["a", "b", "c"])
  }

  @Test("All of the object is written by the policy that says so")
  func overwritten() throws {
    try changeElsewhere(["city": "Oslo", "points": 9])
    try giver.setValue("b", forKey: "code")
    _ = try context.make("Customer", ["code": "a"])
    context.mergePolicy = .overwrite
    try context.save()
    #expect(try stored() == ["a - 5", "b Rome 7"])
  }

  @Test("Where the change is given up the value stays, and who was to have it gives way")
  func rolledBack() throws {
    try changeElsewhere(["city": "Oslo"])
    try giver.setValue("b", forKey: "code")
    let taker = try context.make("Customer", ["code": "a"])
    context.mergePolicy = .rollback
    try context.save()
    #expect(try stored() == ["a Oslo 7"])
    #expect(giver["code"] as? String == "a" && taker.managedObjectContext == nil)
  }

  @Test("An object that took the value there keeps it, and who was to have it becomes one with it")
  func takenThere() throws {
    try changeElsewhere(["code": "z"])
    try context.refresh(giver, mergeChanges: false)
    #expect(giver["code"] as? String == "z")
    try changeElsewhere(["code": "a", "city": "Oslo"])
    try giver.setValue("b", forKey: "code")
    _ = try context.make("Customer", ["code": "a", "city": "Bern"])
    context.mergePolicy = .mergeByPropertyStoreTrump
    try context.save()
    #expect(try stored() == ["a Oslo 7"])
    #expect(giver["code"] as? String == "a" && !context.hasChanges)
  }

  @Test("A value passes between saved objects, of which one was changed elsewhere")
  func betweenSaved() throws {
    let second = try context.make("Customer", ["code": "b", "city": "Bern"])
    try context.save()
    try changeElsewhere(["city": "Oslo"])
    try giver.setValue("b", forKey: "code")
    try second.setValue("a", forKey: "code")
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(try stored() == ["a Bern 5", "b Oslo 7"])
  }

  @Test("Of values that are unique together, one passes, and the others stay with both")
  func oneOfTwo() throws {
    let names = ["first": "Ada", "last": "Lee"]
    for (name, value) in names { try giver.setValue(value, forKey: name) }
    let taker = try context.make("Customer", ["code": "b", "first": "Ada"])
    try context.save()
    try giver.setValue("May", forKey: "last")
    try taker.setValue("Lee", forKey: "last")
    try context.save()
    let other = try customers.another().newContext()
    for (object, last) in [(giver, "May"), (taker, "Lee")] {
      let stored = try other.existingObject(with: object.objectID)
      #expect(stored["first"] as? String == "Ada")
      #expect(stored["last"] as? String == last)
    }
  }

  @Test("A value passes from a deleted object that was changed elsewhere, if the delete stands")
  func deleted() throws {
    try changeElsewhere(["city": "Oslo"])
    context.delete(giver)
    let taker = try context.make("Customer", ["code": "a", "city": "Bern"])
    #expect(throws: SaveConflictError.self) { try context.save() }
    #expect(giver.isDeleted && taker.isInserted)
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(try stored() == ["a Bern 5"])
  }

  @Test("A deleted object that was changed elsewhere stays with its value, if the policy says so")
  func deleteGivenUp() throws {
    try changeElsewhere(["city": "Oslo"])
    context.delete(giver)
    _ = try context.make("Customer", ["code": "a", "city": "Bern"])
    context.mergePolicy = .mergeByPropertyStoreTrump
    try context.save()
    #expect(try stored() == ["a Oslo 7"])
    #expect(!giver.isDeleted && giver.managedObjectContext === context)
  }

  /// Refreshes what it is asked about, and says that it is to be written.
  private final class Refresher: MergePolicy {
    override func resolve(
      optimisticLockingConflicts conflicts: inout [MergeConflict],
      in context: ManagedObjectContext
    ) throws {
      for conflict in conflicts {
        let object = try context.existingObject(with: conflict.objectID)
        try context.refresh(object, mergeChanges: false)
      }
      try super.resolve(optimisticLockingConflicts: &conflicts, in: context)
    }

    override func resolve(
      constraintConflicts conflicts: inout [ConstraintConflict], in context: ManagedObjectContext
    ) throws {
      let policy = MergePolicy(merge: .mergeByPropertyStoreTrump)
      try policy.resolve(constraintConflicts: &conflicts, in: context)
    }
  }

  @Test("An object that the policy refreshes has what its row has, and gives no value up")
  func refreshed() throws {
    try changeElsewhere(["city": "Oslo", "points": 9])
    try giver.setValue("b", forKey: "code")
    _ = try context.make("Customer", ["code": "a", "city": "Bern"])
    context.mergePolicy = Refresher(merge: .overwrite)
    try context.save()
    #expect(try stored() == ["a Oslo 9"])
    #expect(giver["code"] as? String == "a" && giver["city"] as? String == "Oslo")
    try giver.setValue("Kyiv", forKey: "city")
    try context.save()
    #expect(try stored() == ["a Kyiv 9"])
  }

  @Test("A deleted object that the policy refreshes stays")
  func refreshedDelete() throws {
    try changeElsewhere(["city": "Oslo"])
    context.delete(giver)
    context.mergePolicy = Refresher(merge: .overwrite)
    try context.save()
    #expect(try stored() == ["a Oslo 7"])
    #expect(!giver.isDeleted && giver.managedObjectContext === context)
    #expect(giver["city"] as? String == "Oslo")
  }
}
