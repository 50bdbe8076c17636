import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// What the entries up to a place of the log said last of some properties: what a zone that was put back to the place has.
enum PlaceValues {
  typealias Names = [ObjectKey: Set<String>]

  enum Said {
    case value(PropertyValue)
    /// The whole of a set.
    case elements([ObjectKey])
    /// What was put into a set and taken out of it, where no entry that is kept says the whole.
    case change(adds: [ObjectKey], removes: [ObjectKey])

    /// What it comes to where something was said before.
    fileprivate func after(_ earlier: Said?) -> Said {
      guard case .change(let adds, let removes) = self else { return self }
      let told = Set(adds + removes)
      switch earlier {
      case .elements(let elements): return .elements(elements.filter { !told.contains($0) } + adds)
      case .change(let formerAdds, let formerRemoves):
        return .change(
          adds: formerAdds.filter { !told.contains($0) } + adds,
          removes: formerRemoves.filter { !told.contains($0) } + removes)
      case .value, nil: return self
      }
    }
  }

  /// Looks for values, references and the places beside them, and sets, from the place downwards until all are found or the
  /// kept entries end.
  ///
  /// A name may be that of an end that does not say its relationship: what entries said from there, and from the other end, is
  /// a set.
  ///
  /// - Returns: what was found. A property that the insert of its object does not name is the model's default; references and
  ///   elements name the roots of their targets.
  static func find(
    _ names: Names, upTo place: UInt64, _ transaction: ReadTransaction, schema: SyncSchema
  ) throws -> [ObjectKey: [String: Said]] {
    var wanted = names
    var values: [ObjectKey: [String: Said]] = [:]
    guard !wanted.isEmpty else { return values }
    let followers = Followers(wanted, schema)
    var directory = ObjectDirectory(transaction.connection)
    try KeptFrames.forEach(downFrom: place, on: transaction.connection) { entry in
      guard var changeSet = try? ChangeSetDecoder().decode(entry) else { return true }
      changeSet = try CellOpener(transaction, schema: schema).opened(changeSet)
      var found: [ObjectKey: [String: Said]] = [:]
      try forEachValue(changeSet, entry.firstObjectNumber, wanted, followers, schema, &directory) {
        key, name, value, isFirst in
        let other = found[key]?[name]
        found[key, default: [:]][name] = isFirst ? other?.after(value) ?? value : value.after(other)
      }
      for (key, said) in found {
        for (name, earlier) in said {
          let value = values[key]?[name]?.after(earlier) ?? earlier
          values[key, default: [:]][name] = value
          if case .change = value { continue }
          wanted[key]?.remove(name)
        }
        if wanted[key]?.isEmpty == true { wanted[key] = nil }
      }
      return !wanted.isEmpty
    }
    return values
  }

  /// Hands over each wanted value that a change set says, in order, or as what was before all else that it says.
  private static func forEachValue(
    _ changeSet: ChangeSet, _ firstNumber: UInt64, _ wanted: Names, _ followers: Followers,
    _ schema: SyncSchema, _ directory: inout ObjectDirectory,
    _ body: (ObjectKey, String, Said, _ isFirst: Bool) throws -> Void
  ) throws {
    let index = changeSet.index
    let newCount = index.newObjectCount
    let entities = Set(wanted.keys.map(\.entity))
    func number(_ object: Int) -> UInt64 {
      object < newCount
        ? firstNumber &+ UInt64(object) : index.knownNumbers[object - newCount]
    }
    var column = 0
    for group in index.groups {
      let columns = changeSet.columns[column..<column + group.properties.count]
      column += group.properties.count
      let names = index.entities[group.entity]
      guard group.kind != .delete, let entity = schema.entity(namedNowOrBefore: names.name),
        entities.contains(entity.number) || followers.follow(entity)
      else { continue }
      var readers: [String: PropertyReader] = [:]
      var ends: [String: Column] = [:]
      for (place, column) in zip(group.properties, columns) {
        if let property = entity.property(namedNowOrBefore: names.properties[place]) {
          readers[property.name] = PropertyReader(property: property, column: column)
        } else if let end = entity.otherEnds[names.properties[place]] {
          ends[end.name] = column
        }
      }
      let followed = readers.values.filter { !followers.of($0.property).isEmpty }
      let isWhole = group.kind != .update
      for (row, object) in group.objects.enumerated() {
        guard let root = try directory.key(ofNumber: number(object)) else { continue }
        let key = ObjectKey(entity: entity.number, key: root.key)
        for name in wanted[key] ?? [] {
          if let reader = readers[name] {
            let said = try said(reader, row, isWhole: isWhole) {
              try directory.key(ofNumber: number($0))
            }
            try body(key, name, said, false)
          } else if let column = ends[name] {
            let said = try said(column, row, isWhole: isWhole) {
              try directory.key(ofNumber: number($0))
            }
            try body(key, name, said, false)
          } else if isWhole {
            // Other groups may say more of an end that does not say its relationship.
            let property = entity.property(named: name)
            try body(
              key, name, property == nil ? .elements([]) : nothing(of: property), property == nil)
          }
        }
        for reader in followed {
          for (object, isIn) in partners(reader, row) {
            guard let target = try directory.key(ofNumber: number(object)) else { continue }
            for follower in followers.of(reader.property) where follower.root == target.entity {
              let partner = ObjectKey(entity: follower.entity, key: target.key)
              guard wanted[partner]?.contains(follower.name) == true else { continue }
              let said: Said =
                isIn && !follower.isToMany
                ? .elements([root]) : .change(adds: isIn ? [root] : [], removes: isIn ? [] : [root])
              try body(partner, follower.name, said, false)
            }
          }
        }
      }
    }
  }
}

extension PlaceValues {
  /// Wanted ends that do not say their relationships, by those that do.
  fileprivate struct Followers {
    struct Follower {
      let entity: Int32
      let root: Int32
      let name: String
      let isToMany: Bool
    }

    private var byOwner: [ObjectIdentifier: [Follower]] = [:]

    init(_ wanted: Names, _ schema: SyncSchema) {
      var names: [Int32: Set<String>] = [:]
      for (key, wanted) in wanted { names[key.entity, default: []].formUnion(wanted) }
      for (number, names) in names {
        guard let entity = schema.entity(numbered: number) else { continue }
        for name in names where entity.property(named: name) == nil {
          guard let end = entity.otherEnds[name] else { continue }
          byOwner[ObjectIdentifier(end.owner), default: []].append(
            Follower(
              entity: number, root: entity.rootNumber, name: name,
              isToMany: end.relationship.isToMany))
        }
      }
    }

    func of(_ property: SyncSchema.Property) -> [Follower] {
      switch property.kind {
      case .attribute, .place: []
      case .toOne(let relationship), .elements(let relationship):
        byOwner[ObjectIdentifier(relationship)] ?? []
      }
    }

    func follow(_ entity: SyncSchema.Entity) -> Bool {
      !byOwner.isEmpty && entity.properties.contains { !of($0).isEmpty }
    }
  }

  /// The objects that a row puts in and takes out.
  private static func partners(_ reader: PropertyReader, _ row: Int) -> [(Int, isIn: Bool)] {
    if case .toOne = reader.property.kind {
      return reader.reference(row).map { [($0, true)] } ?? []
    }
    let (adds, removes) = reader.elements(row)
    return removes.map { ($0, false) } + adds.map { ($0, true) }
  }

  /// What a column says from an end that does not say its relationship here.
  private static func said(
    _ column: Column, _ row: Int, isWhole: Bool, _ target: (Int) throws -> ObjectKey?
  ) throws -> Said {
    switch column.values {
    case .references(let values):
      let isNone = column.isNull(at: row) || values[row] == Column.noReference
      return .elements(isNone ? [] : try target(Int(values[row])).map { [$0] } ?? [])
    case .elements(let rows):
      let adds = try rows.added(at: row).compactMap { try target(Int($0)) }
      let removes = try rows.removed(at: row).compactMap { try target(Int($0)) }
      return isWhole ? .elements(adds) : .change(adds: adds, removes: removes)
    default: return .change(adds: [], removes: [])
    }
  }

  private static func said(
    _ reader: PropertyReader, _ row: Int, isWhole: Bool, _ target: (Int) throws -> ObjectKey?
  ) throws -> Said {
    switch reader.property.kind {
    case .attribute, .place: return .value(reader.value(row))
    case .toOne:
      return .value(try reader.reference(row).flatMap(target).map { .reference($0) } ?? .null)
    case .elements(let relationship):
      let (adds, removes) = reader.elements(row)
      let elements = try adds.compactMap(target)
      // An ordered one says its whole sequence, and a reference of before is all that a set had.
      guard !isWhole, !relationship.isOrdered, !reader.saysWhole else { return .elements(elements) }
      return .change(adds: elements, removes: try removes.compactMap(target))
    }
  }

  private static func nothing(of property: SyncSchema.Property?) -> Said {
    if case .elements? = property?.kind { return .elements([]) }
    return .value(property?.standIn?.value ?? .null)
  }
}

/// What is pending of a key or of a tree's reference may have to go back to what the zone has. Where that was below the
/// entries that are kept here, nobody knows it.
enum UnknownBases {
  static let setting = "sync.unknownBases"

  static func note(_ transaction: WriteTransaction) throws {
    try transaction.setSetting(setting, .integer(1))
  }

  static func forget(_ transaction: WriteTransaction) throws {
    try transaction.setSetting(setting, nil)
  }

  static func exist(_ transaction: ReadTransaction) throws -> Bool {
    try transaction.setting(setting) != nil
  }
}

/// What was to be taken back to the zone's value, which is not known here: the replica reads the zone's log from its start.
struct UnknownZoneValue: Error, CustomStringConvertible {
  let entity: String
  /// Nil for a whole object.
  let property: String?

  var description: String {
    let what = property.map { "\(entity).\($0)" } ?? "an object of \(entity)"
    return "What the zone has of \(what) is not known here: its log has to be read again."
  }
}

extension PageApplier {
  /// What the zone has of a property that is pending here.
  ///
  /// - Throws: `UnknownZoneValue`.
  func zoneValue(of key: ObjectKey, _ property: SyncSchema.Property) throws -> PropertyValue {
    if let base = try BaseValues.value(of: key, property.name, on: transaction.connection) {
      return base
    }
    guard pending[key]?.whole == PendingObject.Whole.none, try UnknownBases.exist(transaction)
    else { return .null }
    throw UnknownZoneValue(
      entity: schema.entity(numbered: key.entity)?.name ?? "", property: property.name)
  }

  /// A value of the zone as it can stand here: null in place of a reference to what is deleted, which is remembered.
  func living(
    _ value: PropertyValue, _ property: SyncSchema.Property, of key: ObjectKey
  ) throws -> PropertyValue {
    guard case .reference(let target) = value else { return value }
    if let living = try transaction.concreteKey(root: target) { return .reference(living) }
    try dangling.add(
      DanglingReferences.Source(key: key, property: property.name),
      root: schema.root(of: target), target: target.key)
    return .null
  }
}

extension SyncSchema.Property {
  /// Whether it may have to go back to what the zone has: one object at a time holds a value of it, or a ring is broken
  /// there. Of what adds up the base is that of the sum.
  var mayGoBack: Bool {
    switch kind {
    case .attribute: isKeyed && !keepsDeltas
    case .toOne(let relationship), .place(let relationship):
      isKeyed || relationship.isTree || relationship.isOwnOneToOne
    case .elements: false
    }
  }
}
