import Driftless
import DriftlessProtocol
import Foundation

/// What a store has of its zone's objects, in the bytes that digests are of.
struct ReplicaCells {
  /// A property of an entity, where its cells go.
  private struct Target {
    var property: SyncSchema.Property
    var shown: Int
    /// Where they go but for what may stand in for nothing; nil of a property of which nothing stands in.
    var said: Int?
    /// The sequence of an ordered relationship.
    var order: Int?
    var standIn: PropertyValue
  }

  private struct Targets {
    var entity: SyncSchema.Entity
    var life: Int
    var all: [Target]
  }

  let transaction: ReadTransaction
  let schema: SyncSchema
  var directory: ObjectDirectory
  private var numbers: ObjectDirectory
  private let dangling: DanglingReferences
  private var targets: [Int32: Targets] = [:]
  private var walks: [ObjectIdentifier: ElementWalk] = [:]
  private var cell = CellBytes()
  /// As the store shows it, and without what the log may not say: a default in place of what no entry names.
  private(set) var shown: DigestBuilder
  private(set) var said: DigestBuilder
  /// Objects that it met, by entity.
  private(set) var counts: [Int32: Int] = [:]

  init(_ transaction: ReadTransaction, schema: SyncSchema, from range: Int = 0) throws {
    try self.init(transaction, schema, DigestBuilder(from: range))
  }

  /// Of the single objects of a block.
  init(_ transaction: ReadTransaction, schema: SyncSchema, ofBlock block: Int) throws {
    try self.init(transaction, schema, DigestBuilder(ofBlock: block))
  }

  private init(
    _ transaction: ReadTransaction, _ schema: SyncSchema, _ builder: DigestBuilder
  ) throws {
    self.transaction = transaction
    self.schema = schema
    directory = ObjectDirectory(transaction.connection)
    numbers = ObjectDirectory(transaction.connection)
    dangling = try DanglingReferences(transaction.connection)
    shown = builder
    said = builder
  }

  /// Ends walks along the store's tables.
  mutating func finish() {
    for walk in walks.values { walk.finish() }
    walks = [:]
  }

  /// The two trees.
  mutating func trees(upTo next: UInt64) throws -> (shown: DigestTree, said: DigestTree) {
    (try shown.tree(upTo: next), try said.tree(upTo: next))
  }

  /// The digests of the blocks of the range, or of the objects of the block.
  mutating func blocks() -> (
    shown: [DigestColumn: [StateDigest]], said: [DigestColumn: [StateDigest]]
  ) { (shown.blocks(), said.blocks()) }

  /// Adds the object of a number, where there is one.
  mutating func append(_ number: UInt64) throws {
    guard let root = try directory.key(ofNumber: number), let row = try transaction.knownRow(root),
      let targets = places(of: row.key.entity)
    else { return }
    counts[row.key.entity, default: 0] += 1
    try shown.append(number, column: targets.life, kind: 0, [])
    for target in targets.all {
      guard try fill(target.property, row.key, row.values) else { continue }
      try shown.append(number, column: target.shown, kind: cell.kind, cell.bytes)
      if let said = target.said, row.values[target.property.slot] != target.standIn {
        try self.said.append(number, column: said, kind: cell.kind, cell.bytes)
      }
      if let order = target.order {
        cell.set(elements: try elements(target.property, row.key, inOrder: true))
        try shown.append(number, column: order, kind: cell.kind, cell.bytes)
      }
    }
  }

  private mutating func places(of number: Int32) -> Targets? {
    if let known = targets[number] { return known }
    guard let entity = schema.entity(numbered: number) else { return nil }
    var all: [Target] = []
    for property in entity.properties {
      let column = DigestColumn(entity: entity.name, property: property.name)
      var target = Target(
        property: property, shown: shown.place(of: column), said: nil, order: nil,
        standIn: property.defaultOfModel)
      if !target.standIn.isNull { target.said = said.place(of: column) }
      if case .elements(let relationship) = property.kind, relationship.isOrdered {
        target.order = shown.place(of: .order(of: property.name, entity.name))
      }
      all.append(target)
    }
    let made = Targets(entity: entity, life: shown.place(of: .life(of: entity.name)), all: all)
    targets[number] = made
    return made
  }

  /// - Returns: false where there is no value.
  private mutating func fill(
    _ property: SyncSchema.Property, _ key: ObjectKey, _ values: [PropertyValue]
  ) throws -> Bool {
    switch property.kind {
    case .attribute: return cell.set(values[property.slot])
    case .toOne:
      guard let number = try reference(property, key, values[property.slot]) else { return false }
      cell.set(reference: number)
      return true
    case .place(let relationship):
      guard let place = try transaction.place(of: key, in: relationship) else { return false }
      cell.set(integer: place)
      return true
    case .elements:
      let elements = try elements(property, key, inOrder: false)
      guard !elements.isEmpty else { return false }
      cell.set(elements: elements)
      return true
    }
  }

  /// The log goes on naming what was deleted.
  private mutating func reference(
    _ property: SyncSchema.Property, _ key: ObjectKey, _ value: PropertyValue
  ) throws -> UInt64? {
    if case .reference(let target) = value {
      return try numbers.number(root: schema.root(of: target), key: target.key)
    }
    let source = DanglingReferences.Source(key: key, property: property.name)
    guard let target = try dangling.targets(of: source).first else { return nil }
    return try numbers.number(root: schema.root(of: target), key: target.key)
  }

  private mutating func elements(
    _ property: SyncSchema.Property, _ key: ObjectKey, inOrder: Bool
  ) throws -> [UInt64] {
    guard case .elements(let relationship) = property.kind else { return [] }
    let identifier = ObjectIdentifier(relationship)
    if walks[identifier] == nil {
      walks[identifier] = try ElementWalk(transaction, relationship)
    }
    var elements: [UInt64] = []
    for element in try walks[identifier]?.elements(of: key) ?? [] {
      guard let number = try numbers.number(root: schema.root(of: element), key: element.key)
      else { continue }
      elements.append(number)
    }
    guard !inOrder else { return elements }
    let source = DanglingReferences.Source(key: key, property: property.name)
    for target in try dangling.targets(of: source) {
      guard let number = try numbers.number(root: schema.root(of: target), key: target.key),
        !elements.contains(number)
      else { continue }
      elements.append(number)
    }
    return elements.sorted()
  }
}

extension SyncSchema.Property {
  /// What the object may show where no digest says whether the log names the property: the model's default. A zero that stands in for
  /// what nobody named is compared object by object, since null, which has no cell either, is shown as null.
  fileprivate var defaultOfModel: PropertyValue {
    guard let standIn, standIn.hasDefault else { return .null }
    return standIn.value
  }
}

extension CellBytes {
  /// - Returns: false for none, and for what is no attribute's.
  mutating func set(_ value: PropertyValue) -> Bool {
    switch value {
    case .null, .reference: return false
    case .bool(let value): set(boolean: value)
    case .integer(let value): set(integer: value)
    case .double(let value): set(double: value)
    case .decimal(let value): set(decimal: value.wholeText)
    case .string(let value): set(string: value)
    case .date(let value): set(date: value.timeIntervalSinceReferenceDate)
    case .data(let value):
      if let named = LargeCell.value(in: .data(value)) {
        set(large: named)
      } else {
        set(data: value)
      }
    case .uuid(let value): set(uuid: value)
    case .uri(let value): set(uri: value.absoluteString)
    }
    return true
  }

  /// Whether two values are one to a digest: equal texts may have other bytes.
  static func areSame(_ one: PropertyValue, _ other: PropertyValue) -> Bool {
    var (left, right) = (CellBytes(), CellBytes())
    let areValues = (left.set(one), right.set(other))
    guard areValues.0, areValues.1 else { return !areValues.0 && !areValues.1 }
    return left.kind == right.kind && left.bytes == right.bytes
  }
}
