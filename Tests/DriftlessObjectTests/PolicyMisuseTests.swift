import Driftless
import Foundation
import TestSupport
import Testing

/// Merge policies, and methods of objects, that do to their context what a save must not bear.
struct PolicyMisuseTests {
  private let library: Library
  private let context: ManagedObjectContext
  private let policy = Meddler(merge: .overwrite)

  init() throws {
    library = try Library()
    context = library.container.newContext()
    context.mergePolicy = policy
  }

  /// A book that another context and this one changed.
  private func contested() throws -> Book {
    let book = try context.insert(Book.self)
    book.title = "old"
    try context.save()
    let other = library.container.newContext()
    let same = try #require(try other.existingObject(with: book.objectID) as? Book)
    same.pages = 9
    try other.save()
    book.title = "mine"
    return book
  }

  private func stored() throws -> [String] {
    try library.container.newContext().fetch(Book.self, order: Book.title.ascending)
      .map { "\($0.title) \($0.pages)" }
  }

  @Test("A policy that rolls back or resets in a save fails it, and nothing of it is done")
  func refused() throws {
    let book = try contested()
    let new = try context.insert(Book.self)
    new.title = "new"
    for meddle in [{ $0.rollback() }, { $0.reset() }] as [(ManagedObjectContext) -> Void] {
      policy.meddle = meddle
      #expect { try context.save() } throws: { ($0 as? ObjectError)?.code == .nestedSave }
      #expect(book.title == "mine" && book.isUpdated && new.isInserted)
      #expect(try stored() == ["old 9"])
      #expect(context.accessorErrors.isEmpty)
    }
    policy.meddle = { try $0.save() }
    #expect { try context.save() } throws: { ($0 as? ObjectError)?.code == .nestedSave }
    policy.meddle = { _ in }
    try context.save()
    #expect(try stored() == ["mine 1", "new 1"])
  }

  @Test("A policy that rolls back where constraints are settled fails the save")
  func refusedAtConstraints() throws {
    let customers = try Customers()
    let context = customers.container.newContext()
    context.mergePolicy = policy
    try context.make("Customer", ["code": "a", "city": "Rome"])
    try context.save()
    try context.make("Customer", ["code": "a", "city": "Oslo"])
    for meddle in [{ $0.rollback() }, { $0.reset() }] as [(ManagedObjectContext) -> Void] {
      policy.meddle = meddle
      #expect { try context.save() } throws: { ($0 as? ObjectError)?.code == .nestedSave }
      #expect(context.insertedObjects.count == 1 && context.accessorErrors.isEmpty)
    }
    policy.meddle = { _ in }
    try context.save()
    let request = FetchRequest<ManagedObject>(entityName: "Customer")
    #expect(try context.fetch(request).map { $0["city"] as? String } == ["Oslo"])
  }

  @Test("A policy that refreshes the object of its conflict gives up what was changed, not the row")
  func refreshed() throws {
    let book = try contested()
    policy.meddle = { try $0.refresh(book, mergeChanges: false) }
    try context.save()
    #expect(try stored() == ["old 9"])
    #expect(book.title == "old" && book.pages == 9 && !context.hasChanges)
  }

  @Test("A policy that deletes the object of its conflict has it deleted")
  func deleted() throws {
    let book = try contested()
    policy.meddle = { $0.delete(book) }
    try context.save()
    #expect(try stored().isEmpty)
    #expect(book.managedObjectContext == nil && !context.hasChanges)
  }

  @Test("A policy that makes an object of the save refer to one that is newer than it is told")
  func insertsAndRefers() throws {
    let book = try contested()
    policy.meddle = { context in
      let author = try context.insert(Author.self)
      author.name = "late"
      book.author = author
    }
    #expect { try context.save() } throws: { ($0 as? ObjectError)?.code == .unstableSave }
    policy.meddle = { _ in }
    try context.save()
    let reader = library.container.newContext()
    #expect(try reader.fetch(Book.self).map { $0.author?.name } == ["late"])
  }

  @Test("A policy that fetches does not take over news in the midst of a save")
  func fetches() throws {
    context.automaticallyMergesChangesFromParent = true
    let book = try context.insert(Book.self)
    book.title = "old"
    let bystander = try context.insert(Book.self)
    bystander.title = "written"
    try context.save()
    context.processPendingChanges()
    let other = library.container.newContext()
    let same = try #require(try other.existingObject(with: book.objectID) as? Book)
    book.title = "mine"
    bystander.pages = 2
    // Their save comes in after this one began.
    let observer = observe(.managedObjectContextWillSave, of: context) {
      guard !same.hasChanges, same.title == "old" else { return }
      same.title = "theirs"
      try? other.save()
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    let keep = Meddler(merge: .mergeByPropertyStoreTrump)
    keep.meddle = { context in _ = try context.fetch(Book.self) }
    context.mergePolicy = keep
    try context.save()
    #expect(try stored() == ["theirs 1", "written 2"])
    #expect(book.title == "theirs")
  }

  @Test("A change of what was written is seen, also when the policy fetches after it")
  func fetchesAfterChange() throws {
    let book = try contested()
    let written = try context.insert(Tag.self)
    written.name = "written"
    policy.meddle = { context in
      written.name = "later"
      _ = try context.fetch(Book.self)
    }
    #expect { try context.save() } throws: { ($0 as? ObjectError)?.code == .unstableSave }
    policy.meddle = { _ in }
    try context.save()
    #expect(try library.container.newContext().fetch(Tag.self).map(\.name) == ["later"])
    #expect(!book.hasChanges)
  }

  @Test("So is one of an object that a merge brought into the event before it was written")
  func changesMerged() throws {
    let customers = try Customers()
    let context = customers.container.newContext()
    context.mergePolicy = policy
    let winner = try context.make("Customer", ["code": "a", "city": "Rome"])
    let contested = try context.make("Customer", ["code": "b", "city": "Bern"])
    try context.save()
    let other = try customers.another().newContext()
    try other.existingObject(with: contested.objectID).setValue(9, forKey: "points")
    try other.save()
    try contested.setValue("Oslo", forKey: "city")
    try context.make("Customer", ["code": "a", "city": "Kyiv"])
    var count = 0
    policy.meddle = { _ in
      count += 1
      try winner.setValue("later \(count)", forKey: "city")
    }
    #expect { try context.save() } throws: { ($0 as? ObjectError)?.code == .unstableSave }
    #expect(count == 2, "at the constraint, and at the row")
    policy.meddle = { _ in }
    try context.save()
    let request = FetchRequest<ManagedObject>(entityName: "Customer", sort: [FetchSort("code")])
    let stored = try customers.another().newContext().fetch(request)
    #expect(stored.map { $0["city"] as? String } == ["later 2", "Oslo"])
    #expect(winner["city"] as? String == "later 2" && !context.hasChanges)
  }

  @Test("So is one of an object whose conflict was settled, when the policy is asked of deletes")
  func changesSettled() throws {
    let desk = try Desk(.columns)
    let context = desk.context()
    let folders = try ["holder", "taker", "contested"].map { try context.insert("Folder", $0) }
    let letter = try context.insert("Letter", "x")
    folders[0][Desk.drafts].insert(letter)
    try context.save()
    let other = desk.context()
    other.mergePolicy = policy
    let contested = try other.here(folders[2])
    contested["name"] = "mine"
    other.delete(try other.here(folders[0]))
    // The letter, which was to go with its holder, moves, and the folder changes.
    folders[1][Desk.drafts].insert(letter)
    folders[2]["name"] = "theirs"
    try context.save()
    var count = 0
    policy.meddle = { _ in
      count += 1
      if count == 2 { contested["name"] = "later" }
    }
    #expect { try other.save() } throws: { ($0 as? ObjectError)?.code == .unstableSave }
    #expect(count == 2)
    policy.meddle = { _ in }
    try other.save()
    #expect(try desk.context().here(folders[2]).caption == "later")
  }

  @Test("So is one of an object that was written to another store before")
  func changesEarlierStore() throws {
    let coordinator = library.container.persistentStoreCoordinator
    let memory = try coordinator.addPersistentStore(at: nil)
    let written = try context.insert(Tag.self)
    let contested = try context.insert(Tag.self)
    try context.assign(contested, to: memory)
    (written.name, contested.name) = ("written", "contested")
    try context.save()
    let other = ManagedObjectContext(coordinator)
    (other.object(with: contested.objectID) as? Tag)?.name = "theirs"
    try other.save()
    (written.name, contested.name) = ("changed", "mine")
    policy.meddle = { _ in written.name = "later" }
    #expect { try context.save() } throws: { ($0 as? ObjectError)?.code == .unstableSave }
    policy.meddle = { _ in }
    try context.save()
    let names = try ManagedObjectContext(coordinator).fetch(Tag.self).map(\.name)
    #expect(Set(names) == ["later", "mine"])
  }

  @Test("willSave and checks that roll back or reset leave nothing to be saved")
  func atWillSave() throws {
    let book = try context.insert(Book.self)
    book.title = "kept"
    try context.save()
    for body in [{ $0.rollback() }, { $0.reset() }] as [(ManagedObjectContext) -> Void] {
      let held = try #require(try context.fetch(Book.self).first)
      held.title = "lost"
      try context.insert(Tag.self).name = "lost"
      let observer = observe(.managedObjectContextWillSave, of: context) { [context] in
        body(context)
      }
      try context.save()
      NotificationCenter.default.removeObserver(observer)
      #expect(try stored() == ["kept 1"] && !context.hasChanges)
      #expect(try context.count(Tag.self) == 0)
    }
  }

  @Test(
    "A child that is rolled back or reset while it saves is so after it, and the parent has all")
  func childSave() throws {
    for body in [{ $0.rollback() }, { $0.reset() }] as [(ManagedObjectContext) -> Void] {
      let child = ManagedObjectContext(parent: context)
      let book = try child.insert(Book.self)
      book.title = "child's"
      let observer = observe(.managedObjectContextObjectsDidChange, of: context) { body(child) }
      try child.save()
      NotificationCenter.default.removeObserver(observer)
      #expect(!child.hasChanges && context.insertedObjects.count == 1)
      #expect(try child.fetch(Book.self).map(\.title) == ["child's"])
      context.rollback()
    }
  }

  @Test("A child that is reset and then rolled back while it saves is reset")
  func childReset() throws {
    let child = ManagedObjectContext(parent: context)
    let book = try child.insert(Book.self)
    book.title = "child's"
    let observer = observe(.managedObjectContextObjectsDidChange, of: context) {
      child.reset()
      child.rollback()
    }
    try child.save()
    NotificationCenter.default.removeObserver(observer)
    #expect(book.managedObjectContext == nil && child.registeredObjects.isEmpty)
    #expect(try child.fetch(Book.self).map(\.title) == ["child's"])
  }
}
