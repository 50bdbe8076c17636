import Driftless
import DriftlessProtocol
import Foundation

/// Seals the values of encrypted properties that are sent.
struct CellSealer {
  let keys: KeyRing?
  let entity: String

  /// The bytes of a cell. One that could not be opened here goes as it is.
  ///
  /// - Throws: `SyncError` (`noKey`): nothing leaves in the clear for want of a key.
  func seal(_ value: PropertyValue, _ property: String, of object: UUID) throws -> [UInt8] {
    if let cell = SealedValue.cell(in: value) { return cell }
    if case .data(let row) = value, LargeCell.value(in: value) != nil { return Array(row) }
    guard let keys, let plain = PlainValue.bytes(of: value) else {
      throw SyncError(
        .noKey, "\(entity).\(property) is encrypted, and there is no key to seal it with.",
        suggestion: "Give the key file: syncctl sync --key-file FILE, keyFile in syncd's file.")
    }
    return try keys.seal(
      plain, at: SealedPlace(entity: entity, object: object, property: property)
    ).bytes
  }
}

/// What waits for a key: edits of encrypted properties, and of unique keys that have one, on a replica without any.
struct KeylessEdits {
  /// How many objects wait.
  static let setting = "sync.withoutKey"

  private let transaction: ReadTransaction
  private let schema: SyncSchema
  private let parkedValues: ParkedValues
  private var keyed: [Int32: PropertyMask] = [:]

  init(_ transaction: ReadTransaction, schema: SyncSchema) throws {
    self.transaction = transaction
    self.schema = schema
    parkedValues = try ParkedValues(transaction.connection)
  }

  /// Whether a value may not leave the host.
  static func waits(
    _ value: PropertyValue, _ property: SyncSchema.Property, _ schema: SyncSchema
  ) -> Bool {
    property.isSealed && schema.keys == nil && !value.isNull && SealedValue.cell(in: value) == nil
      && LargeCell.value(in: value) == nil
  }

  /// What waits of what is pending: of objects that the zone knows these properties, of others all that is not their values.
  mutating func waiting(_ pending: PendingSet) throws -> [ObjectKey: PropertyMask] {
    var waiting: [ObjectKey: PropertyMask] = [:]
    guard schema.keys == nil, schema.entities.contains(where: \.hasSealed) else { return waiting }
    for (key, object) in pending.objects where object.whole == .none {
      guard let entity = schema.entity(numbered: key.entity), entity.hasSealed else { continue }
      let keyed = keyed(entity)
      var values: [PropertyValue]?
      for property in entity.properties {
        guard let edit = object.transaction(of: property.slot) else { continue }
        if keyed.contains(property.slot) {
          waiting[key, default: PropertyMask()].insert(property.slot)
          continue
        }
        guard property.isSealed else { continue }
        if values == nil { values = try transaction.knownRow(key)?.values }
        guard var value = values?[property.slot] else { continue }
        // What is offered of a parked value is the cell.
        if EditStamp.time(edit) != nil {
          value = try parkedValues.value(of: key, property.name) ?? value
        }
        guard Self.waits(value, property, schema) else { continue }
        waiting[key, default: PropertyMask()].insert(property.slot)
      }
    }
    return waiting
  }

  /// What is brought back with values that may not leave the host: a revival says all that an object is, and without them would
  /// say that there is none.
  func revivals(of pending: PendingSet) throws -> Set<ObjectKey> {
    var waiting: Set<ObjectKey> = []
    guard schema.keys == nil, schema.entities.contains(where: \.hasSealed) else { return waiting }
    var directory = ObjectDirectory(transaction.connection)
    for (key, object) in pending.objects
    where object.whole == .revive || object.whole == .insert {
      guard let entity = schema.entity(numbered: key.entity), entity.hasSealed,
        try directory.number(root: entity.rootNumber, key: key.key) != nil,
        let values = try transaction.knownRow(key)?.values,
        try entity.properties.contains(where: { property in
          try Self.waits(values[property.slot], property, schema)
            && parkedValues.value(of: key, property.name) == nil
        })
      else { continue }
      waiting.insert(key)
    }
    return waiting
  }

  /// The properties of unique keys one of whose values is sealed: without a key nobody can claim one.
  private mutating func keyed(_ entity: SyncSchema.Entity) -> PropertyMask {
    if let known = keyed[entity.number] { return known }
    var mask = PropertyMask()
    for key in WireKey.all(
      of: entity.description, number: entity.number, transaction.schema)
    where key.slots.contains(where: { entity.property(at: $0)?.isSealed == true }) {
      mask.formUnion(PropertyMask(key.slots))
    }
    keyed[entity.number] = mask
    return mask
  }
}
