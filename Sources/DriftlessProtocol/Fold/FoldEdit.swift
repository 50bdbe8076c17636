/// What some entries of a log, in their order, come to for one object: later over earlier.
///
/// It is a change, not a state: over what earlier entries came to it comes to what all of them do. So a run of the log, a
/// delta and a base are one kind of thing, and it does not matter where a log is cut.
struct ObjectEdit {
  enum Life { case unchanged, alive, dead }

  /// There when the object came into the zone with one of these entries.
  private(set) var birth: FoldBirth?
  /// Alive or dead: an entry says all of the object, and earlier ones nothing of it any more.
  private(set) var life = Life.unchanged
  /// Of its insert, revival or delete.
  private(set) var transaction: FoldTransaction?
  /// Of its revival or delete.
  private(set) var entity: UInt32 = 0
  private(set) var values: [(property: UInt32, value: FoldValue)] = []
  private var gathered: [(property: UInt32, elements: GatheredElements)] = []
  var sets: [(property: UInt32, elements: FoldElements)] {
    gathered.map { ($0.property, $0.elements.elements) }
  }
  private(set) var claims: [(constraint: FoldConstraint, claim: FoldClaim)] = []

  /// Whether it was deleted or brought back under the name of the entity that it came under, as far as that is known here.
  var isPlain: Bool { birth.map { $0.entity == entity } ?? true }

  mutating func apply(_ atom: FoldAtom) {
    switch atom {
    case .born, .grave, .deleted, .revived: applyLife(atom)
    // An edit of what is dead is none: it has no row on any replica.
    case .value, .elements, .claim: if life != .dead { applyCell(atom) }
    case .pushed, .told, .buried: return
    }
  }

  private mutating func applyLife(_ atom: FoldAtom) {
    switch atom {
    case .born(let birth, let transaction):
      begin(.alive, birth.entity, transaction)
      self.birth = birth
    case .grave(let birth, let transaction):
      begin(.dead, birth.entity, transaction)
      self.birth = birth
    case .deleted(let entity, let transaction):
      begin(.dead, entity, transaction)
    case .revived(let entity, let transaction):
      begin(.alive, entity, transaction)
    default: return
    }
  }

  private mutating func applyCell(_ atom: FoldAtom) {
    switch atom {
    case .value(let property, let value):
      letGo(of: property)
      if let place = values.firstIndex(where: { $0.property == property }) {
        values[place].value = value
      } else {
        values.append((property, value))
      }
    case .elements(let property, let elements):
      letGo(of: property)
      change(property, elements)
    case .claim(let constraint, let claim):
      claims.removeAll { $0.constraint == constraint }
      claims.append((constraint, claim))
    default: return
    }
  }

  private mutating func begin(_ life: Life, _ entity: UInt32, _ transaction: FoldTransaction) {
    self.life = life
    self.entity = entity
    self.transaction = transaction
    values = []
    gathered = []
    claims = []
  }

  /// A key goes with the values that it was made of: who sets one of them claims it anew.
  private mutating func letGo(of property: UInt32) {
    claims.removeAll { $0.constraint.properties.contains(property) }
  }

  private mutating func change(_ property: UInt32, _ later: FoldElements) {
    let keepsRemoved = life != .alive
    if let place = gathered.firstIndex(where: { $0.property == property }) {
      gathered[place].elements.take(later, keepsRemoved: keepsRemoved)
    } else {
      var elements = GatheredElements(later)
      elements.take(later, keepsRemoved: keepsRemoved)
      gathered.append((property, elements))
    }
  }

  /// The pieces that come to the same, in the order in which they are applied.
  func forEachAtom(_ body: (FoldAtom) throws -> Void) rethrows {
    if let transaction {
      switch (birth, life) {
      case (let birth?, .alive): try body(.born(birth, transaction))
      case (let birth?, .dead): try body(.grave(birth, transaction))
      case (nil, .alive): try body(.revived(entity: entity, transaction))
      case (nil, .dead): try body(.deleted(entity: entity, transaction))
      case (_, .unchanged): break
      }
    }
    for (property, value) in values { try body(.value(property: property, value)) }
    for (property, elements) in sets { try body(.elements(property: property, elements)) }
    for (constraint, claim) in claims { try body(.claim(constraint, claim)) }
  }
}

extension ObjectEdit {
  /// The same pieces, in an order that does not hang on how they came about.
  func forEachAtom(in tables: FoldTables, _ body: (FoldAtom) throws -> Void) rethrows {
    var ordered = self
    ordered.values.sort { tables.isOrdered($0.property, $1.property) }
    ordered.gathered.sort { tables.isOrdered($0.property, $1.property) }
    ordered.claims.sort { tables.isOrdered($0.constraint, $1.constraint) }
    try ordered.forEachAtom(body)
  }
}

/// What some entries come to for anything that a fold keeps.
struct FoldEdit {
  private(set) var object = ObjectEdit()
  /// What is kept of a replica, a name or an identity: the last word, but a name that was once told as a whole stays so.
  private(set) var note: FoldAtom?

  mutating func apply(_ atom: FoldAtom) {
    switch (atom, note) {
    case (.told(let time, let isPartial), .told(let earlier, let wasPartial)?):
      note = .told(hybridTime: max(time, earlier), isPartial: isPartial && wasPartial)
    case (.pushed, _), (.told, _), (.buried, _): note = atom
    default: object.apply(atom)
    }
  }

  func write(to out: inout FoldBytes) {
    var last: FoldTransaction?
    note?.write(to: &out, last: &last)
    object.forEachAtom { $0.write(to: &out, last: &last) }
  }
}
