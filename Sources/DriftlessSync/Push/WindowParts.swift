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

  /// What is new or back, and what comes behind references to that.
  private var made = KeyLine<Nothing>()
  private var rest = KeyLine<Nothing>()
  /// Objects that refer to what later parts make, and by which properties.
  private var later = KeyLine<PropertyMask>()

  init(
    _ window: PendingObjects, _ transaction: ReadTransaction, schema: SyncSchema
  ) throws {
    var directory = ObjectDirectory(transaction.connection, readsAhead: true)
    var deleted = KeyLine<Nothing>()
    try window.forEachInOrder { key, object in
      switch object.whole {
      case .insert, .revive: made.append(key)
      case .delete: deleted.append(key)
      case .none:
        let isKnown = try directory.number(root: schema.root(of: key), key: key.key) != nil
        if isKnown { rest.append(key) } else { made.append(key) }
      }
    }
    made.sort(by: Self.ranks(schema))
    rest.append(deleted)
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
    made.isAtEnd && rest.isAtEnd && later.isAtEnd
  }

  /// What was told refers to objects that no part has made so far.
  ///
  /// - Parameter references: of objects that no call before named: each is told once.
  mutating func add(_ references: [ObjectKey: PropertyMask]) {
    // All is made by the time that the first is handed over: what has no place then is in no part.
    guard !later.hasBegun else { return }
    for (key, properties) in references.sorted(by: {
      ($0.key.entity, $0.key.key) < ($1.key.entity, $1.key.key)
    }) {
      later.append(key, properties)
    }
  }

  mutating func next() -> Next? {
    if let (key, _) = made.next() { return .object(key) }
    if !later.hasBegun { later.sort() }
    if let (key, properties) = later.next() { return .later(key, properties) }
    return rest.next().map { .object($0.key) }
  }
}

/// Keys in an order, handed over one by one, each with what is to be said of it. Those of one entity that follow each other, and of
/// which the same is said, are one run: what an import makes is a few, whatever its size.
private struct KeyLine<Note: Equatable> {
  private struct Run {
    var entity: Int32
    var keys: ClosedRange<Int64>
    var note: Note
  }

  private var runs: [Run] = []
  /// The run that is handed over, and how many of its keys were.
  private var index = 0
  private var offset: Int64 = 0

  var isAtEnd: Bool { index == runs.count }
  /// Whether the first was handed over.
  var hasBegun: Bool { index > 0 || offset > 0 }

  mutating func append(_ key: ObjectKey, _ note: Note) {
    if let last = runs.last, last.entity == key.entity, last.note == note,
      last.keys.upperBound < key.key, last.keys.upperBound + 1 == key.key
    {
      runs[runs.count - 1].keys = last.keys.lowerBound...key.key
    } else {
      runs.append(Run(entity: key.entity, keys: key.key...key.key, note: note))
    }
  }

  mutating func append(_ other: KeyLine) { runs += other.runs }

  /// - Parameter ranks: of entities, by their numbers. Keys of one entity ascend.
  mutating func sort(by ranks: [Int32: Int] = [:]) {
    func order(_ run: Run) -> (Int, Int32, Int64) {
      (ranks[run.entity] ?? 0, run.entity, run.keys.lowerBound)
    }
    runs.sort { order($0) < order($1) }
  }

  mutating func next() -> (key: ObjectKey, note: Note)? {
    guard index < runs.count else { return nil }
    let run = runs[index]
    let key = ObjectKey(entity: run.entity, key: run.keys.lowerBound + offset)
    offset += 1
    if key.key == run.keys.upperBound { (index, offset) = (index + 1, 0) }
    return (key, run.note)
  }
}

extension KeyLine where Note == Nothing {
  fileprivate mutating func append(_ key: ObjectKey) { append(key, Nothing()) }
}

/// Nothing is to be said of a key.
private struct Nothing: Equatable {}
