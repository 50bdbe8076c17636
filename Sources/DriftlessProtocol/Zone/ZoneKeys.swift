/// Which living object of a zone holds which unique key.
struct ZoneKeys: Sendable {
  private var holders: [KeyHash: UInt64] = [:]
  private var held: [UInt64: [ZoneConstraint: KeyHash]] = [:]

  /// Adds the holders of keys that a change claims and nobody lets go of.
  func check(_ change: ZoneKeyChange, _ stale: inout StaleObjects) {
    guard !holders.isEmpty else { return }
    for (hash, object, _) in change.claims {
      guard let holder = holders[hash], holder != object, !isLetGo(hash, of: holder, by: change)
      else { continue }
      stale.add(holder, "Object \(holder) holds a key that the push claims")
    }
  }

  /// All that is let go of goes before anything is taken.
  mutating func apply(_ change: ZoneKeyChange) {
    guard !held.isEmpty || !change.claims.isEmpty else { return }
    letGo(change)
    for (hash, object, constraint) in change.claims {
      holders[hash] = object
      held[object, default: [:]][constraint] = hash
    }
  }

  mutating func letGo(_ change: ZoneKeyChange) {
    for object in change.touched {
      for (constraint, hash) in held[object] ?? [:]
      where change.letsGo(of: constraint, object: object) {
        holders[hash] = nil
        held[object]?[constraint] = nil
      }
    }
  }

  private func isLetGo(_ hash: KeyHash, of holder: UInt64, by change: ZoneKeyChange) -> Bool {
    held[holder]?.contains { $0.value == hash && change.letsGo(of: $0.key, object: holder) } ?? true
  }
}

/// A unique key's constraint: the entity that declares it, and its properties.
public struct ZoneConstraint: Hashable, Sendable {
  /// The entity's name.
  public let entity: String
  /// The names of its properties, in their order.
  public let properties: [String]

  /// A constraint by its names.
  public init(entity: String, properties: [String]) {
    self.entity = entity
    self.properties = properties
  }
}

/// What a push does to the keys that objects of its zone hold.
package struct ZoneKeyChange {
  /// In the order of the index section.
  package private(set) var claims: [(hash: KeyHash, object: UInt64, constraint: ZoneConstraint)] =
    []
  /// Known objects whose keys may change.
  package private(set) var touched: Set<UInt64> = []
  /// Known objects that lose all that they hold: deleted ones, and revived ones.
  private var emptied: Set<UInt64> = []
  private var set: [UInt64: Set<String>] = [:]
  private var claimed: [UInt64: Set<ZoneConstraint>] = [:]

  /// - Parameter firstNumber: What the push's first new object is going to be.
  package init(_ contents: ChangeSetIndex, firstNumber: UInt64) {
    let newCount = contents.newObjectCount
    func number(_ object: Int) -> UInt64 {
      object < newCount
        ? firstNumber + UInt64(object) : contents.knownNumbers[object - newCount]
    }
    for group in contents.groups where group.kind != .insert {
      let names = contents.entities[group.entity].properties
      let properties = group.properties.map { names[$0] }
      for object in group.objects where object >= newCount {
        touched.insert(number(object))
        if group.kind == .update {
          set[number(object), default: []].formUnion(properties)
        } else {
          emptied.insert(number(object))
        }
      }
    }
    for claim in contents.claims {
      let entity = contents.entities[claim.entity]
      let constraint = ZoneConstraint(
        entity: entity.name, properties: claim.properties.map { entity.properties[$0] })
      for (object, hash) in zip(claim.objects, claim.hashes) {
        claims.append((hash, number(object), constraint))
        guard object >= newCount else { continue }
        touched.insert(number(object))
        claimed[number(object), default: []].insert(constraint)
      }
    }
  }

  /// Whether an object no longer holds the key of a constraint that it held before: it is deleted,
  /// claims another, or a property of the constraint is set.
  package func letsGo(of constraint: ZoneConstraint, object: UInt64) -> Bool {
    emptied.contains(object) || claimed[object]?.contains(constraint) == true
      || set[object].map { !$0.isDisjoint(with: constraint.properties) } == true
  }
}
