import Driftless
import Foundation
import Testing

@Suite("Merge policies of one's own")
struct MergePolicyTests {
  let library: Library
  let context: ManagedObjectContext
  let other: ManagedObjectContext

  init() throws {
    library = try Library()
    context = library.container.newContext()
    other = library.container.newContext()
  }

  /// The larger number of pages wins; what else there is goes by the policy's type.
  private final class MorePagesWin: MergePolicy {
    var seen: [MergeConflict] = []

    override func resolve(
      optimisticLockingConflicts conflicts: inout [MergeConflict],
      in context: ManagedObjectContext
    ) throws {
      seen += conflicts
      for index in conflicts.indices {
        guard let book = context.object(with: conflicts[index].objectID) as? Book,
          case .integer(let theirs)? = conflicts[index].persistedSnapshot?["pages"]
        else { continue }
        conflicts[index].resolution =
          book.pages > theirs ? .mergeByPropertyObjectTrump : .mergeByPropertyStoreTrump
      }
      try super.resolve(optimisticLockingConflicts: &conflicts, in: context)
    }
  }

  /// Books that both contexts have: of each, pages here and pages there.
  private func books(_ pages: [(Int, Int)]) throws -> [Book] {
    for (index, _) in pages.enumerated() { try context.insert(Book.self).title = "\(index)" }
    try context.save()
    let mine = try context.fetch(Book.self, order: Book.title.ascending)
    let theirs = try other.fetch(Book.self, order: Book.title.ascending)
    for (index, book) in theirs.enumerated() { book.pages = pages[index].1 }
    try other.save()
    for (index, book) in mine.enumerated() { book.pages = pages[index].0 }
    return mine
  }

  @Test("A policy decides each conflict by itself, and leaves the rest to its type")
  func perConflict() throws {
    let mine = try books([(10, 20), (40, 30), (5, 6)])
    let policy = MorePagesWin(merge: .error)
    context.mergePolicy = policy
    context.delete(mine[2])
    // The delete meets a change too: it is not decided, and the type is error.
    #expect(policy.mergeType == .error)
    let gone = try other.fetch(Book.self, order: Book.title.ascending)[1]
    other.delete(gone)
    try other.save()
    let error = #expect(throws: SaveConflictError.self) { try context.save() }
    #expect(error?.conflicts.map(\.objectID) == [mine[1].objectID])
    #expect(policy.seen.count == 3 && policy.seen.filter(\.isDeletion).count == 1)
    context.mergePolicy = MorePagesWin(merge: .overwrite)
    try context.save()
    let pages = try library.another().newContext().fetch(Book.self, order: Book.title.ascending)
    // The third was deleted here: 1 page is fewer than theirs, so theirs stays.
    #expect(pages.map(\.pages) == [20, 40, 6])
    #expect(mine.map(\.pages) == [20, 40, 6])
  }

  /// Adds up the pages of both.
  private final class PagesAddUp: MergePolicy {
    override func resolve(
      optimisticLockingConflicts conflicts: inout [MergeConflict],
      in context: ManagedObjectContext
    ) throws {
      for conflict in conflicts {
        guard let book = context.object(with: conflict.objectID) as? Book,
          case .integer(let theirs)? = conflict.persistedSnapshot?["pages"],
          case .integer(let base)? = conflict.objectSnapshot["pages"]
        else { continue }
        book.pages += Int(theirs - base)
      }
      try super.resolve(optimisticLockingConflicts: &conflicts, in: context)
    }
  }

  @Test("A policy may work a value out of all three, which is saved")
  func changesObjects() throws {
    let mine = try books([(11, 21)])
    context.mergePolicy = PagesAddUp(merge: .mergeByPropertyObjectTrump)
    try context.save()
    #expect(mine[0].pages == 31 && !context.hasChanges)
    #expect(try library.another().newContext().fetch(Book.self).map(\.pages) == [31])
  }

  private final class Forgets: MergePolicy {
    override func resolve(
      optimisticLockingConflicts conflicts: inout [MergeConflict],
      in context: ManagedObjectContext
    ) throws {
      conflicts = []
    }

    override func resolve(
      constraintConflicts conflicts: inout [ConstraintConflict], in context: ManagedObjectContext
    ) throws {
      conflicts = []
    }
  }

  @Test("Conflicts that a policy drops without a word fail the save")
  func forgotten() throws {
    _ = try books([(11, 21)])
    context.mergePolicy = Forgets(merge: .overwrite)
    #expect(throws: SaveConflictError.self) { try context.save() }
  }

  @Test("Objects that a policy leaves as they are under a constraint fail the save")
  func forgottenConstraint() throws {
    let library = try Customers()
    let customers = library.container.newContext()
    customers.mergePolicy = Forgets(merge: .overwrite)
    for _ in 0..<2 { try customers.make("Customer", ["code": "a"]) }
    #expect(throws: ConstraintConflictError.self) { try customers.save() }
  }

  /// Numbers the codes of new objects that meet others; what has no code is left to the type.
  private final class Renumbers: MergePolicy {
    override func resolve(
      constraintConflicts conflicts: inout [ConstraintConflict], in context: ManagedObjectContext
    ) throws {
      for conflict in conflicts where conflict.constraint == ["code"] {
        let objects = conflict.conflictingObjects.compactMap { context.object(with: $0) }
        for (index, object) in objects.enumerated() where object.isInserted {
          let code = object["code"] as? String ?? ""
          try object.setValue("\(code)\(index)", forKey: "code")
        }
      }
      conflicts.removeAll { $0.constraint == ["code"] }
      try super.resolve(constraintConflicts: &conflicts, in: context)
    }
  }

  @Test("A policy may correct objects that meet under a constraint, even into the next conflict")
  func corrects() throws {
    let library = try Customers()
    let customers = library.container.newContext()
    try customers.make("Customer", ["code": "a"])
    try customers.make("Customer", ["code": "a0"])
    try customers.save()
    customers.mergePolicy = Renumbers(merge: .error)
    try customers.make("Customer", ["code": "a"])
    try customers.make("Customer", ["code": "b"])
    try customers.save()
    var request = FetchRequest<ManagedObject>(entityName: "Customer")
    request.sort = [FetchSort("code")]
    #expect(
      try customers.fetch(request).map { $0["code"] as? String } == ["a", "a0", "a00", "b"])
  }

  @Test("An object that is only watched makes the save fail, or takes the store's values")
  func detectConflicts() throws {
    for title in ["watched", "changed"] { try context.insert(Book.self).title = title }
    try context.save()
    let mine = try context.fetch(Book.self, order: Book.title.descending)
    let theirs = try #require(try other.fetch(Book.self, where: Book.title == "watched").first)
    theirs.pages = 9
    try other.save()
    mine[1].pages = 2
    try context.detectConflicts(for: mine[0])
    let error = #expect(throws: SaveConflictError.self) { try context.save() }
    let conflict = try #require(error?.conflicts.first)
    #expect(conflict.objectID == mine[0].objectID && conflict.changedProperties.isEmpty)
    #expect(conflict.oldVersionNumber == 1 && conflict.newVersionNumber == 2)
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(mine[0].pages == 9 && mine[1].pages == 2)
    // Watched for one save.
    context.mergePolicy = .error
    theirs.pages = 10
    try other.save()
    mine[1].pages = 3
    try context.save()
  }

  @Test("The standard policies are of the types that they are named after")
  func standard() {
    #expect(MergePolicy.error.mergeType.rawValue == 0)
    #expect(MergePolicy.mergeByPropertyStoreTrump.mergeType.rawValue == 1)
    #expect(MergePolicy.mergeByPropertyObjectTrump.mergeType.rawValue == 2)
    #expect(MergePolicy.overwrite.mergeType.rawValue == 3)
    #expect(MergePolicy.rollback.mergeType.rawValue == 4)
    #expect(context.mergePolicy.mergeType == .error)
  }
}
