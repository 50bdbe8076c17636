import Driftless
import DriftlessProtocol

/// A relationship that does not cross the wire, since its inverse says the fact.
///
/// Which end that is follows from names, orders and kinds. So a model of before, or a newer one, may say the same fact from
/// this end.
struct OtherEnd: Sendable {
  /// The relationships that an entry said from their other ends: these, as `Entity.property`, a line each.
  static let setting = "sync.otherEnds"

  static func heard(_ transaction: ReadTransaction) throws -> Set<String> {
    try ModelMeaning.Notes.names(setting, transaction)
  }

  let slot: Int
  let name: String
  let formerNames: [String]
  let relationship: RelationshipDescription
  /// The end that says the fact.
  let owner: RelationshipDescription

  /// What entries may call it.
  var names: [String] { [name] + formerNames }

  static func all(
    of layout: EntityLayout, but properties: [SyncSchema.Property]
  ) -> [String: OtherEnd] {
    let crossing = Set(properties.map(\.slot))
    var present = Set(properties.map(\.name))
    var ends: [String: OtherEnd] = [:]
    for slot in layout.slots where !slot.isTransient && !crossing.contains(slot.index) {
      guard let relationship = slot.relationship, let owner = relationship.inverseRelationship
      else { continue }
      ends[slot.name] = OtherEnd(
        slot: slot.index, name: slot.name, formerNames: slot.formerNames,
        relationship: relationship, owner: owner)
    }
    present.formUnion(ends.keys)
    for end in ends.values {
      for former in end.formerNames where !present.contains(former) { ends[former] = end }
    }
    return ends
  }
}

extension SyncSchema.Entity {
  /// Each once, under its name of now.
  var eachOtherEnd: [OtherEnd] { otherEnds.compactMap { $0 == $1.name ? $1 : nil } }

  func otherEnd(at slot: Int) -> OtherEnd? { otherEnds.values.first { $0.slot == slot } }

  /// Whether a property is a set of objects that crosses.
  func isSet(namedNowOrBefore name: String) -> Bool {
    guard case .elements? = property(namedNowOrBefore: name)?.kind else { return false }
    return true
  }
}

/// What a group of a change set says of a relationship from its other end.
struct SaidFromOtherEnd {
  let end: OtherEnd
  let column: Column
  let group: ChangeSetIndex.Group
  let entity: SyncSchema.Entity
  /// The elements that count, as indexes in the object table; nil for all.
  let elements: Set<Int>?
}

extension FrameContext {
  /// Keeps what the group says whose readers were asked for last.
  mutating func keepOtherEnds(
    of group: ChangeSetIndex.Group, _ entity: SyncSchema.Entity, elements: Set<Int>? = nil,
    where isMeant: (String) -> Bool = { _ in true }
  ) {
    for said in otherEnds where isMeant(said.name) {
      saidFromOtherEnds.append(
        SaidFromOtherEnd(
          end: said.end, column: said.column, group: group, entity: entity, elements: elements))
    }
  }
}
