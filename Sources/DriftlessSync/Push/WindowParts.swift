import Driftless

/// How much one change set holds.
struct PartBounds: Sendable {
  /// A window is more than that.
  struct Passed: Error {}

  var objects: Int
  /// Of values, not compressed.
  var bytes: Int

  /// Nothing is too much: the zone takes no push in several parts.
  static let none = PartBounds(objects: .max, bytes: .max)

  /// Whether one more object goes in; one always does.
  func admit(objects: Int, bytes: Int) -> Bool {
    objects < self.objects && bytes < self.bytes || objects == 0
  }
}

/// A window of pending objects in the order in which the parts of a push tell it: as the groups of one change set stand, what is
/// new or back, then what is edited, then what is deleted. A reference of what is new to what a later part makes comes when that
/// is made.
struct WindowParts {
  enum Next {
    case object(ObjectKey)
    /// References to what parts after the object's own make.
    case later(ObjectKey, PropertyMask)
  }

  private let keys: [ObjectKey]
  /// How many of the keys are new or back.
  private let madeCount: Int
  private var place = 0
  private var later: [ObjectKey: PropertyMask] = [:]
  private var laterKeys: [ObjectKey]?

  init(
    _ window: PendingObjects, _ transaction: ReadTransaction, schema: SyncSchema
  ) throws {
    var directory = ObjectDirectory(transaction.connection, readsAhead: true)
    var made: [ObjectKey] = []
    var edited: [ObjectKey] = []
    var deleted: [ObjectKey] = []
    made.reserveCapacity(window.count)
    try window.forEachInOrder { key, object in
      switch object.whole {
      case .insert, .revive: made.append(key)
      case .delete: deleted.append(key)
      case .none:
        let isKnown = try directory.number(root: schema.root(of: key), key: key.key) != nil
        if isKnown { edited.append(key) } else { made.append(key) }
      }
    }
    let ranks = Self.ranks(schema)
    if zip(made, made.dropFirst()).contains(where: {
      ranks[$0.entity] ?? 0 > ranks[$1.entity] ?? 0
    }) {
      made.sort {
        (ranks[$0.entity] ?? 0, $0.entity, $0.key) < (ranks[$1.entity] ?? 0, $1.entity, $1.key)
      }
    }
    madeCount = made.count
    keys = made + edited + deleted
  }

  /// Entities behind those that their objects refer to, as far as there is such an order.
  private static func ranks(_ schema: SyncSchema) -> [Int32: Int] {
    var ranks: [Int32: Int] = [:]
    var seen: Set<Int32> = []
    func visit(_ entity: SyncSchema.Entity) {
      guard seen.insert(entity.number).inserted else { return }
      for property in entity.properties {
        guard let relationship = property.relationship else { continue }
        for other in schema.entities {
          guard let target = relationship.destinationEntity,
            other.description.isKindOf(entity: target)
          else { continue }
          visit(other)
        }
      }
      ranks[entity.number] = ranks.count
    }
    for entity in schema.entities { visit(entity) }
    return ranks
  }

  /// Whether all of the window was told.
  var isAtEnd: Bool {
    place >= keys.count && (laterKeys?.isEmpty ?? later.isEmpty)
  }

  /// What was told refers to objects that no part has made so far.
  mutating func add(_ references: [ObjectKey: PropertyMask]) {
    for (key, properties) in references {
      later[key, default: PropertyMask()].formUnion(properties)
    }
  }

  mutating func next() -> Next? {
    if place < madeCount {
      place += 1
      return .object(keys[place - 1])
    }
    if laterKeys == nil {
      laterKeys = later.keys.sorted { ($0.entity, $0.key) > ($1.entity, $1.key) }
    }
    if let key = laterKeys?.popLast() { return .later(key, later[key] ?? PropertyMask()) }
    guard place < keys.count else { return nil }
    place += 1
    return .object(keys[place - 1])
  }
}
