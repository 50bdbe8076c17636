import Driftless
import Foundation
import TestSupport
import Testing

/// A delete, and members that another save gave to the object after its rules were followed.
@Suite("Deletes and members that others added meanwhile")
struct LateMemberTests {
  /// The relationships of an owner by the name of the member's entity.
  private static let kinds = ["Note", "Guest", "Card", "Badge", "Stray"]
  private let directory: TemporaryDirectory
  private let store: PersistentStore
  private let coordinator: PersistentStoreCoordinator
  private let mine: ManagedObjectContext
  private let theirs: ManagedObjectContext
  private let owner: ManagedObject

  private static func model() -> ManagedObjectModel {
    let owner = EntityDescription("Owner")
    owner.properties = [
      AttributeDescription("name", .string, isOptional: false),
      RelationshipDescription("firm", to: "Firm", inverse: "owners"),
    ]
    let firm = EntityDescription("Firm")
    firm.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription(
        "owners", to: "Owner", inverse: "firm", toMany: true, deleteRule: .cascade),
    ]
    let rules: [DeleteRule] = [.cascade, .nullify, .deny, .nullify, .noAction]
    let members = zip(kinds, rules).map { name, rule in
      owner.properties.append(
        RelationshipDescription(
          name.lowercased() + "s", to: name, inverse: "owner", toMany: true, deleteRule: rule))
      let member = EntityDescription(name)
      member.properties = [
        AttributeDescription("text", .string),
        RelationshipDescription(
          "owner", to: "Owner", inverse: name.lowercased() + "s", isOptional: name != "Badge"),
      ]
      return member
    }
    return ManagedObjectModel(entities: [owner, firm] + members)
  }

  init() throws {
    directory = try TemporaryDirectory()
    store = try PersistentStore.open(url: directory.file("late.sqlite"), model: Self.model())
    coordinator = PersistentStoreCoordinator(store: store)
    mine = ManagedObjectContext(coordinator)
    theirs = ManagedObjectContext(coordinator)
    owner = try theirs.insert("Owner", "o")
    try theirs.save()
  }

  /// Deletes the owner here, while a member comes to it there; the member, there.
  private func deleteWhileAdding(_ kind: String) throws -> (ManagedObject, ManagedObject) {
    let doomed = try mine.here(owner)
    #expect(doomed["name"] as? String == "o")
    #expect(doomed.labels(kind.lowercased() + "s").isEmpty)
    mine.delete(doomed)
    mine.processPendingChanges()
    let member = try theirs.insert(kind, "m")
    member["owner"] = owner
    try theirs.save()
    return (doomed, member)
  }

  private func rows(_ entity: String) throws -> [ManagedObject] {
    try coordinatorContext.fetch(FetchRequest<ManagedObject>(entityName: entity))
  }

  private let reader: Reader = Reader()
  private final class Reader { var contexts: [ManagedObjectContext] = [] }
  private var coordinatorContext: ManagedObjectContext {
    reader.contexts.append(ManagedObjectContext(coordinator))
    return reader.contexts[reader.contexts.count - 1]
  }

  private func expectSound() throws { #expect(try store.check().findings == []) }

  /// A member that is edited here, while its owner is deleted there.
  private func editWhileOwnerGoes(_ kind: String) throws -> ManagedObject {
    let member = try theirs.insert(kind, "m")
    member["owner"] = owner
    try theirs.save()
    let edited = try mine.here(member)
    #expect(edited["owner"] != nil)
    edited["text"] = "mine"
    theirs.delete(owner)
    try theirs.save()
    return edited
  }

  @Test(
    "What a policy inserts again, or writes as it is here, refers to no owner that others deleted",
    arguments: ["Note", "Guest"],
    [MergePolicyType.mergeByPropertyObjectTrump, .overwrite])
  func editedMemberOfGone(_ kind: String, _ policy: MergePolicyType) throws {
    let edited = try editWhileOwnerGoes(kind)
    mine.mergePolicy = MergePolicy(merge: policy)
    try mine.save()
    let row = try #require(try rows(kind).first)
    #expect(row["text"] as? String == "mine" && row["owner"] == nil)
    #expect(edited["text"] as? String == "mine" && edited["owner"] == nil)
    #expect(try store.check().findings == [] && rows("Owner").isEmpty)
    edited["text"] = "again"
    try mine.save()
    #expect(try rows(kind).first?["text"] as? String == "again")
  }

  @Test("A member that must have its owner is not inserted again without it: the save says so")
  func requiredOwnerGone() throws {
    let owner = try theirs.insert("Owner", "other")
    let member = try theirs.insert("Badge", "m")
    member["owner"] = owner
    try theirs.save()
    let edited = try mine.here(member)
    edited["text"] = "mine"
    theirs.delete(member)
    theirs.delete(owner)
    try theirs.save()
    mine.mergePolicy = MergePolicy(merge: .mergeByPropertyObjectTrump)
    let failure = #expect(throws: ValidationFailure.self) { try mine.save() }
    let item = failure?.items.first
    #expect((item?.error as? ValidationError)?.propertyName == "owner")
    #expect(item?.objectID == edited.objectID)
    #expect(try rows("Badge").isEmpty && store.check().findings == [])
    mine.rollback()
    try mine.save()
  }

  @Test(
    "Without a policy the delete is a conflict, and goes when the object was refreshed",
    arguments: kinds.prefix(4))
  func conflict(_ kind: String) throws {
    let (doomed, member) = try deleteWhileAdding(kind)
    let error = #expect(throws: SaveConflictError.self) { try mine.save() }
    #expect(error?.conflicts.map(\.objectID) == [owner.objectID])
    #expect(error.map { ($0 as NSError).code } == 133020)
    #expect(try rows(kind).first?["owner"] != nil)
    mine.rollback()
    try mine.refresh(doomed, mergeChanges: false)
    // The member is known now, and its rule decides.
    mine.delete(doomed)
    switch kind {
    case "Note":
      try mine.save()
      #expect(try rows("Owner").isEmpty && rows(kind).isEmpty)
    case "Guest":
      try mine.save()
      #expect(try rows("Owner").isEmpty && rows(kind).count == 1)
      #expect(try rows(kind)[0]["owner"] == nil)
    default: #expect(throws: ValidationFailure.self) { try mine.save() }
    }
    _ = member
    try expectSound()
  }

  @Test(
    "Where what the store has wins, the owner stays with its members", arguments: kinds.prefix(4))
  func storeWins(_ kind: String) throws {
    for policy in [MergePolicy.mergeByPropertyStoreTrump, .rollback] {
      try LateMemberTests().storeWins(kind, policy)
    }
  }

  private func storeWins(_ kind: String, _ policy: MergePolicy) throws {
    mine.mergePolicy = policy
    let (doomed, _) = try deleteWhileAdding(kind)
    try mine.save()
    #expect(!doomed.isDeleted && !mine.hasChanges)
    let owners = try rows("Owner")
    #expect(owners.map(\.caption) == ["o"])
    #expect(owners[0].labels(kind.lowercased() + "s") == ["m"])
    #expect(doomed.labels(kind.lowercased() + "s") == ["m"])
    try expectSound()
  }

  @Test("Where the delete wins, its rules hold for the members")
  func deleteWins() throws {
    for policy in [MergePolicy.mergeByPropertyObjectTrump, .overwrite] {
      for kind in Self.kinds {
        let test = try LateMemberTests()
        try test.deleteWins(kind, policy)
      }
    }
  }

  private func deleteWins(_ kind: String, _ policy: MergePolicy) throws {
    mine.mergePolicy = policy
    let (doomed, member) = try deleteWhileAdding(kind)
    // The context has the member as it was before, when a note of it is there already.
    let here = try mine.here(member)
    #expect(here["text"] as? String == "m")
    switch kind {
    case "Card":
      let error = #expect(throws: ValidationFailure.self) { try mine.save() }
      #expect(error.map { ($0 as NSError).code } == ValidationError.relationshipDeniedDelete)
    case "Badge":
      let error = #expect(throws: ValidationFailure.self) { try mine.save() }
      #expect(error.map { ($0 as NSError).code } == ValidationError.missingMandatoryProperty)
    default:
      try mine.save()
      #expect(doomed.managedObjectContext == nil && !mine.hasChanges)
      #expect(try rows("Owner").isEmpty)
      #expect(try rows(kind).count == (kind == "Note" ? 0 : 1))
      if kind == "Note" { #expect(here.managedObjectContext == nil && here.isDeleted) }
      if kind == "Guest" {
        #expect(here["owner"] == nil && here["text"] as? String == "m")
        #expect(try rows(kind)[0]["owner"] == nil)
        // Its version here is that of the row.
        here["text"] = "n"
        try mine.save()
      }
    }
    if kind != "Stray" { try expectSound() }
    if ["Card", "Badge"].contains(kind) {
      #expect(try rows("Owner").count == 1 && rows(kind)[0]["owner"] != nil)
    }
  }

  @Test("What stays of a cascade by the policy lets go of the one that took it along")
  func survivor() throws {
    let firm = try theirs.insert("Firm", "f")
    owner["firm"] = firm
    try theirs.save()
    mine.mergePolicy = .mergeByPropertyStoreTrump
    let doomed = try mine.here(firm)
    #expect(try mine.here(owner)["name"] as? String == "o")
    mine.delete(doomed)
    mine.processPendingChanges()
    owner["name"] = "p"
    try theirs.save()
    try mine.save()
    #expect(try rows("Firm").isEmpty)
    #expect(try rows("Owner").map(\.caption) == ["p"])
    #expect(try rows("Owner")[0]["firm"] == nil)
    try expectSound()
  }

  @Test("A delete of many looks for members once a relationship, and cascades as before")
  func many() throws {
    for index in 0..<300 {
      let other = try theirs.insert("Owner", "\(index)")
      try theirs.insert("Note", "\(index)")["owner"] = other
    }
    try theirs.save()
    for owner in try mine.fetch(FetchRequest<ManagedObject>(entityName: "Owner")) {
      mine.delete(owner)
    }
    try mine.save()
    #expect(try rows("Owner").isEmpty && rows("Note").isEmpty)
    try expectSound()
  }

  @Test("What refers to an object that is gone can be deleted", arguments: [false, true])
  func dangling(isRead: Bool) throws {
    let (_, member) = try deleteWhileAdding("Stray")
    try mine.save()
    let context = coordinatorContext
    let here = try context.here(member)
    let gone = try #require(here["owner"] as? ManagedObject)
    if isRead { #expect(gone["name"] == nil) }
    context.delete(here)
    try context.save()
    #expect(!context.hasChanges)
    #expect(try rows("Stray").isEmpty)
    try expectSound()
  }

  @Test("A member that comes to an owner whom another save deleted has none")
  func goneOwner() throws {
    for policy in [MergePolicy.mergeByPropertyStoreTrump, .rollback] {
      for isNew in [true, false] { try LateMemberTests().goneOwner(policy, isNew: isNew) }
    }
    for policy in [MergePolicy.mergeByPropertyObjectTrump, .overwrite] {
      try LateMemberTests().goneOwner(policy, isNew: true, isRead: false)
    }
  }

  private func goneOwner(_ policy: MergePolicy, isNew: Bool, isRead: Bool = true) throws {
    let here = try mine.here(owner)
    if isRead { #expect(here["name"] as? String == "o") }
    let member = try mine.insert("Guest", "m")
    if !isNew { try mine.save() }
    member["owner"] = here
    theirs.delete(owner)
    try theirs.save()
    mine.mergePolicy = policy
    try mine.save()
    #expect(member["owner"] == nil && !mine.hasChanges, "\(policy) \(isNew) \(isRead)")
    #expect(try rows("Guest").map { $0["owner"] == nil } == [true])
    try expectSound()
  }

  @Test("A member that must have an owner is not saved with one that another save deleted")
  func goneOwnerOfRequired() throws {
    let here = try mine.here(owner)
    #expect(here["name"] as? String == "o")
    let member = try mine.insert("Badge", "m")
    member["owner"] = here
    theirs.delete(owner)
    try theirs.save()
    mine.mergePolicy = .mergeByPropertyStoreTrump
    #expect(throws: ValidationFailure.self) { try mine.save() }
    #expect(try rows("Badge").isEmpty)
    try expectSound()
  }
}
