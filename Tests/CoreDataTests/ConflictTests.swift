import CoreData
import Foundation
import TestSupport
import Testing

import struct Driftless.ValueInZone

/// Merge policies: conflicts with another save, and under uniqueness constraints.
struct ConflictTests {
  /// Keeps the greater price.
  private final class Dearest: NSMergePolicy {
    override func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
      for conflict in list {
        let theirs = conflict.cachedSnapshot?["price"] as? Int ?? 0
        let mine = conflict.sourceObject.value(forKey: "price") as? Int ?? 0
        conflict.sourceObject.setValue(max(theirs, mine), forKey: "price")
      }
      try super.resolve(optimisticLockingConflicts: list)
    }
  }

  /// Sets all that the row has.
  private final class Theirs: NSMergePolicy {
    override func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
      for conflict in list {
        conflict.sourceObject.setValuesForKeys(conflict.cachedSnapshot ?? [:])
      }
      try super.resolve(optimisticLockingConflicts: list)
    }
  }

  /// Asked of everything, it answers by the store.
  private final class Asked: NSMergePolicy {
    nonisolated(unsafe) var conflicts: [[Any]] = []

    override func resolve(mergeConflicts list: [Any]) throws {
      conflicts.append(list)
      try super.resolve(mergeConflicts: list)
    }
  }

  private let folder: TemporaryDirectory
  private let container: NSPersistentContainer

  init() throws {
    folder = try TemporaryDirectory()
    container = try Shop.container(folder)
  }

  /// What two contexts make of one price, the second with a policy: theirs is 5, mine 3.
  private func price(_ policy: Any) throws -> Int32 {
    let (one, two) = (container.newBackgroundContext(), container.newBackgroundContext())
    two.mergePolicy = policy
    return try one.performAndWait {
      let item = Item(context: one)
      item.name = "Lamp"
      try one.save()
      return try two.performAndWait {
        let same = try #require(try two.existingObject(with: item.objectID) as? Item)
        item.price = 5
        try one.save()
        same.price = 3
        try two.save()
        return same.price
      }
    }
  }

  @Test("Each of the standard policies decides as Core Data's does")
  func standard() throws {
    #expect(try price(NSMergePolicy.mergeByPropertyObjectTrump) == 3)
    #expect(try price(NSMergeByPropertyStoreTrumpMergePolicy) == 5)
    #expect(try price(NSOverwriteMergePolicy) == 3)
    #expect(try price(NSMergePolicy(merge: .rollbackMergePolicyType)) == 5)
  }

  @Test("A policy of one's own sees the object and the row, and its change is saved")
  func own() throws {
    #expect(try price(Dearest(merge: .mergeByPropertyObjectTrumpMergePolicyType)) == 5)
  }

  @Test("What sets the values of snapshots and of lists keeps a large value that is not here")
  func notHere() throws {
    let name = try #require(ValueInZone(name: Data(count: 40), isSealed: false)).bytes
    let (one, two) = (container.newBackgroundContext(), container.newBackgroundContext())
    two.mergePolicy = Theirs(merge: .mergeByPropertyObjectTrumpMergePolicyType)
    try one.performAndWait {
      let item = Item(context: one)
      item.name = "Lamp"
      item.setValue(Data(name), forKey: "photo")
      try one.save()
      item.setValuesForKeys(item.committedValues(forKeys: nil).filter { $0.key == "photo" })
      #expect(item.changedValues().isEmpty)
      try two.performAndWait {
        let same = try #require(try two.existingObject(with: item.objectID) as? Item)
        item.price = 5
        try one.save()
        same.price = 3
        try two.save()
        #expect(same.price == 5)
        two.refresh(same, mergeChanges: false)
        let request = NSFetchRequest<Item>(entityName: "Item")
        request.predicate = NSPredicate(format: "photo != nil")
        #expect(try two.count(for: request) == 1)
      }
    }
  }

  @Test("A policy is asked by its most general member, and the standard ones are one object each")
  func general() throws {
    let policy = Asked(merge: .mergeByPropertyStoreTrumpMergePolicyType)
    #expect(try price(policy) == 5)
    #expect(policy.conflicts.count == 1 && policy.conflicts.first?.first is NSMergeConflict)
    let context = container.newBackgroundContext()
    #expect(context.mergePolicy as AnyObject === NSErrorMergePolicy)
    #expect(NSMergePolicy.error === NSMergePolicy.error)
    context.mergePolicy = NSOverwriteMergePolicy
    #expect(context.mergePolicy as AnyObject === NSMergePolicy.overwrite)
  }

  @Test("The error policy makes the save throw with the conflicts as objects")
  func error() throws {
    let error = #expect(throws: (any Error).self) { try price(NSMergePolicy.error) }
    #expect((error as NSError?)?.code == NSManagedObjectMergeError)
    let conflicts =
      (error as NSError?)?.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict]
    let conflict = try #require(conflicts?.first)
    #expect(conflict.cachedSnapshot?["price"] as? Int == 5 && conflict.persistedSnapshot == nil)
    #expect(conflict.newVersionNumber > conflict.oldVersionNumber)
  }

  @Test("Snapshots have the IDs of objects at the other ends, and none of a row that is gone")
  func references() throws {
    let (one, two) = (container.newBackgroundContext(), container.newBackgroundContext())
    let policy = Asked(merge: .mergeByPropertyStoreTrumpMergePolicyType)
    two.mergePolicy = policy
    try one.performAndWait {
      let (first, second, item) = (Order(context: one), Order(context: one), Item(context: one))
      item.name = "Lamp"
      item.order = first
      try one.save()
      let (former, new) = (first.objectID, second.objectID)
      try two.performAndWait {
        let same = try #require(try two.existingObject(with: item.objectID) as? Item)
        #expect(same.price == 0)
        item.order = second
        try one.save()
        same.price = 3
        try two.save()
        let conflict = try #require(policy.conflicts.last?.first as? NSMergeConflict)
        #expect(conflict.objectSnapshot?["order"] as? NSManagedObjectID == former)
        #expect(conflict.cachedSnapshot?["order"] as? NSManagedObjectID == new)
        one.refresh(item, mergeChanges: false)
        one.delete(item)
        try one.save()
        same.price = 4
        try two.save()
        let last = try #require(policy.conflicts.last?.first as? NSMergeConflict)
        #expect(last.newVersionNumber == 0 && last.cachedSnapshot == nil)
      }
    }
  }

  @Test(
    "Objects that meet under a constraint: the error names them, and a policy makes one of them")
  func constraints() throws {
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let code = UUID()
      for name in ["old", "new"] {
        let item = Item(context: context)
        item.name = name
        item.setValue(code, forKey: "code")
        if name == "old" { try context.save() }
      }
      let error = #expect(throws: (any Error).self) { try context.save() }
      #expect((error as NSError?)?.code == NSManagedObjectConstraintMergeError)
      let conflict = try #require(
        ((error as NSError?)?.userInfo["conflictList"] as? [NSConstraintConflict])?.first)
      #expect(conflict.constraint == ["code"])
      #expect(conflict.databaseObject?.value(forKey: "name") as? String == "old")
      context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      try context.save()
      let names = try context.fetch(Item.fetchRequest() as NSFetchRequest<Item>).map(\.name)
      #expect(names == ["new"])
    }
  }
}
