import Driftless
import DriftlessSQLite
import Foundation

/// A remote change to a property that is pending here: both sides, with what a rule may look at.
struct PropertyConflict: Sendable {
  var policy: ConflictPolicy
  /// What the property holds, and its description, for its bounds; nil for a reference.
  var type: AttributeType?
  var attribute: AttributeDescription?
  /// The value before the first local change, when a policy needed it kept.
  var base: PropertyValue?
  var local: PropertyValue
  /// Whether it is known which transactions counted here: another copy of this replica may know one
  /// of them, and hears by its name that it is counted.
  var hasCounts = false
  var remote: PropertyValue
  var localTime: HybridTime
  var remoteTime: HybridTime
  var localReplica: UUID
  var remoteReplica: UUID
  /// Whether the zone had the local value, lost it, and is offered it.
  var isOffered = false
  /// Whether both replicas made the object, under one identity: an import of the same data twice.
  var isOfTwoCreations = false

  /// Whether the local edit comes after the remote one, by time, then by replica: a total order,
  /// the same everywhere.
  var isLocalLater: Bool {
    if localTime != remoteTime { return localTime > remoteTime }
    return remoteReplica.precedes(localReplica)
  }
}

/// What becomes of the two values of a conflict.
enum Settlement: Hashable, Sendable {
  /// Both sides want the same. Nothing is pending, nothing is lost, nothing is journaled.
  case same
  /// Both sides have one value, and the local edit is the later one: it stays pending on the zone's,
  /// so that its time reaches the zone. Nothing is lost, nothing is journaled.
  case sameButLater
  /// The zone's value stands; the local one goes to the journal and is pending no more.
  case remote
  /// The local value stands and stays pending on the zone's; the zone's goes to the journal.
  case local
  /// A value made of both stands. It stays pending, unless it is the zone's value.
  case combined(PropertyValue)
}

/// A settlement, with the rule that really made it and what a person is told of it.
struct Verdict: Hashable, Sendable {
  var settlement: Settlement
  /// The rule that settled, as the journal names it; nil is the property's own policy.
  var rule: String?
  /// Sentences for the journal beside the one that says which value stands.
  var note: String?
  /// What the next merge takes for the zone's value, where that is not the zone's value itself.
  var base: PropertyValue?

  init(
    _ settlement: Settlement, rule: String? = nil, note: String? = nil, base: PropertyValue? = nil
  ) {
    self.settlement = settlement
    self.rule = rule
    self.note = note
    self.base = base
  }

  /// Why the property has its value now, for a person.
  func explanation(of property: String, policy: ConflictPolicy) -> String {
    let rule = rule ?? policy.text
    let text =
      switch (settlement, policy) {
      case (.remote, .manual):
        "\(property) was changed on both sides; the other replica's value stands until a person "
          + "decides."
      case (.local, _), (.sameButLater, _):
        "\(property) was changed on both sides; by \(rule) this replica's value stands."
      case (.remote, _), (.same, _):
        "\(property) was changed on both sides; by \(rule) the other replica's value stands."
      case (.combined, _): "\(property) was changed on both sides; \(rule) made one value of both."
      }
    return note.map { "\(text) \($0)" } ?? text
  }
}
