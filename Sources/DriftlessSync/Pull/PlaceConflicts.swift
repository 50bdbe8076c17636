import Driftless
import DriftlessSQLite
import Foundation

/// Conflicts over places in ordered relationships, kept until everything is settled.
///
/// A place is a number that each replica draws for itself: that two differ says nothing. What a person has lost, if anything, is
/// an order, and that shows when all places of a list are settled: an object comes after another one than on the side whose place
/// gave way. Where it comes after the same one, nothing is journaled; where it does not, the journal tells after which.
struct PlaceConflicts {
  struct Conflict {
    let entity: SyncSchema.Entity
    let property: SyncSchema.Property
    let key: ObjectKey
    let sides: PropertyConflict
    let verdict: Verdict
    let sequence: UInt64
  }

  /// After whom each object of a list comes; the first is not in it.
  private typealias Neighbours = [ObjectKey: ObjectKey]

  private struct List: Hashable {
    let owner: ObjectKey
    let property: String
  }

  private var conflicts: [Conflict] = []

  mutating func add(_ conflict: Conflict) { conflicts.append(conflict) }

  /// Journals those that took an order from somebody.
  func journal(by applier: PageApplier) throws {
    var lists: [List: [Conflict]] = [:]
    var order: [List] = []
    for conflict in conflicts {
      // What is no longer in the list has no place in it.
      guard try applier.transaction.concreteKey(root: conflict.key) == conflict.key,
        case .reference(let owner) = try applier.currentValues(of: conflict.key)[
          conflict.property.slot]
      else { continue }
      let list = List(owner: owner, property: conflict.property.name)
      if lists[list] == nil { order.append(list) }
      lists[list, default: []].append(conflict)
    }
    for list in order { try journal(lists[list] ?? [], of: list.owner, by: applier) }
  }

  private func journal(
    _ conflicts: [Conflict], of owner: ObjectKey, by applier: PageApplier
  ) throws {
    guard case .place(let relationship)? = conflicts.first?.property.kind,
      let inverse = relationship.inverseRelationship
    else { return }
    let transaction = applier.transaction
    let members = try transaction.toManyKeys(of: owner, inverse)
    let known = try transaction.places(of: owner, in: inverse)
    let places = Dictionary(
      members.compactMap { member in known[member.key].map { (member, $0) } },
      uniquingKeysWith: { first, _ in first })
    /// After whom each comes where the objects of the conflicts have the places of one side.
    func neighbours(_ side: (PropertyConflict) -> PropertyValue) -> Neighbours {
      var places = places
      for conflict in conflicts { places[conflict.key] = side(conflict.sides).place }
      // As a list is read.
      return Self.neighbours(
        members.sorted {
          (places[$0] ?? .min, $0.key) < (places[$1] ?? .min, $1.key)
        })
    }
    let kept = Self.neighbours(members)
    let local = neighbours(\.local)
    let remote = neighbours(\.remote)
    for conflict in conflicts {
      let key = conflict.key
      let isLost =
        switch conflict.verdict.settlement {
        case .same, .sameButLater: false
        case .remote: local[key] != kept[key]
        case .local: remote[key] != kept[key]
        case .combined: local[key] != kept[key] || remote[key] != kept[key]
        }
      guard isLost else { continue }
      try applier.journal.addPlace(
        conflict, after: (local: local[key], remote: remote[key], kept: kept[key]))
      applier.report.conflicts += 1
    }
  }

  private static func neighbours(_ members: [ObjectKey]) -> Neighbours {
    Dictionary(zip(members.dropFirst(), members)) { first, _ in first }
  }
}

extension PropertyValue {
  /// A place in an ordered relationship; nil when there is none.
  var place: Int64? {
    if case .integer(let place) = self { return place }
    return nil
  }
}

extension SyncSchema.Property {
  /// What it is, for a person.
  var words: String {
    guard case .place(let relationship) = kind, let list = relationship.inverseRelationship
    else { return name }
    return "its place in \(list.entity?.name ?? "").\(list.name)"
  }
}

/// An object's place in a list as the journal tells it: the identity of the one that it comes after, null for the first.
enum PlaceText {
  static func text(after key: ObjectKey?, _ transaction: ReadTransaction) throws -> String {
    var json = JSONText()
    guard let key else { return "null" }
    json.uuid(try transaction.identity(of: key))
    return String(decoding: json.bytes, as: UTF8.self)
  }

  /// Nil for what is no such text: entries of before tell the number.
  static func after(_ text: String) -> UUID?? {
    if text == "null" { return .some(nil) }
    return (try? JSONDecoder().decode(UUID.self, from: Data(text.utf8))).map { .some($0) }
  }

  /// The list that an object is in, in its order.
  static func list(
    of key: ObjectKey, _ property: SyncSchema.Property, _ transaction: ReadTransaction
  ) throws -> (relationship: RelationshipDescription, owner: ObjectKey, members: [ObjectKey])? {
    guard case .place(let relationship) = property.kind,
      let list = relationship.inverseRelationship,
      case .reference(let owner)? = try transaction.knownRow(key)?.values[property.slot]
    else { return nil }
    return (list, owner, try transaction.toManyKeys(of: owner, list))
  }

  /// What the journal would tell of an object now.
  static func standing(
    of key: ObjectKey, _ property: SyncSchema.Property, _ transaction: ReadTransaction
  ) throws -> String? {
    guard let members = try list(of: key, property, transaction)?.members,
      let index = members.firstIndex(of: key)
    else { return nil }
    return try text(after: index > 0 ? members[index - 1] : nil, transaction)
  }
}
