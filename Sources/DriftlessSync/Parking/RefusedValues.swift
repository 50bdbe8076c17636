import Driftless
import DriftlessSQLite
import Foundation

/// Values that a store has from before its model was made narrower: a migration leaves them, and who joins later with that
/// model cannot hold them. They are parked here as they are there, so that all replicas of a model show one thing.
struct RefusedValues {
  static let setting = "sync.limits"
  /// The objects that are left, while there are some.
  static let leftSetting = EngineRows.leftNote

  private let schema: SyncSchema
  private let limits: UInt64

  init(_ schema: SyncSchema, _ stored: StoreSchema) {
    self.schema = schema
    limits = stored.derived { Limits(digest: Self.digest(of: schema)) }.digest
  }

  private struct Limits: Sendable {
    let digest: UInt64
  }

  /// What is to be looked through.
  enum Due {
    /// All rows: the model has other limits than the one that they were looked through for, or made with.
    case all
    /// Objects of which an edit waited to be sent when all rows were looked through.
    case left([ObjectKey])
  }

  /// What is to be looked through by now.
  func due(_ transaction: ReadTransaction) throws -> Due? {
    guard try transaction.setting(Self.setting) == .integer(Int64(bitPattern: limits)) else {
      return .all
    }
    guard case .text(let text)? = try transaction.setting(Self.leftSetting) else { return nil }
    let numbers = Dictionary(
      schema.entities.map { ($0.name, $0.number) }, uniquingKeysWith: { first, _ in first })
    return .left(
      Self.decode(text)?.compactMap { left in
        numbers[left.entity].map { ObjectKey(entity: $0, key: left.key) }
      } ?? [])
  }

  /// Whether an edit of what the model limits waits to be sent.
  func waits(_ key: ObjectKey, _ pending: PendingSet) -> Bool {
    guard let object = pending[key], let entity = schema.entity(numbered: key.entity) else {
      return false
    }
    return Self.limited(entity).contains { object.transaction(of: $0.slot) != nil }
  }

  /// Parks what the model refuses. An edit that waits to be sent says what it says: that is parked when it was sent. A store of
  /// which it is not known what its rows were made with is taken as it is.
  ///
  /// - Returns: how many objects were looked at.
  func park(_ due: Due, _ applier: PageApplier, by state: ReplicaState) throws -> Int {
    let transaction = applier.transaction
    let side = RemoteSide(
      value: .null, time: HybridTime(rawValue: 0), origin: state.replica, sequence: state.cursor)
    var left: [ObjectKey] = []
    var count = 0
    func look(at keys: [ObjectKey], _ entity: SyncSchema.Entity) throws {
      let limited = Self.limited(entity)
      guard !limited.isEmpty else { return }
      count += keys.count
      for key in keys where try !park(limited, of: key, side, applier) { left.append(key) }
    }
    switch due {
    case .all:
      let isKnown = try transaction.setting(Self.setting) != nil
      for entity in isKnown ? schema.entities : [] where !Self.limited(entity).isEmpty {
        var keys: [ObjectKey] = []
        try transaction.forEachKey(of: entity.description) { keys.append($0) }
        try look(at: keys, entity)
      }
      if isKnown { try showAnew(applier) }
      for entity in isKnown ? schema.entities : [] { try noteEmpty(entity, applier, side) }
    case .left(let keys):
      for key in keys {
        guard let entity = schema.entity(numbered: key.entity) else { continue }
        try look(at: [key], entity)
      }
    }
    try transaction.setSetting(Self.setting, .integer(Int64(bitPattern: limits)))
    try transaction.setSetting(Self.leftSetting, encoded(left))
    return count
  }

  /// What stands in for a parked value is another one once a constraint comes or goes.
  private func showAnew(_ applier: PageApplier) throws {
    let transaction = applier.transaction
    for parked in try ParkedValues.rows(on: transaction.connection) {
      let key = parked.key
      guard let property = schema.entity(numbered: key.entity)?.property(named: parked.property),
        let standIn = property.standIn, standIn.refusal(of: parked.value) != nil,
        applier.pending[key]?.transaction(of: property.slot) == nil,
        applier.keptKeys.values[key]?[property.slot] == nil,
        let row = try transaction.knownOwnRow(key), !row.lost.contains(property.slot),
        row.values[property.slot] != standIn.shown(for: parked.value)
      else { continue }
      var values = row.values
      values[property.slot] = standIn.shown(for: parked.value)
      try transaction.update(
        key, PropertyMask([property.slot]), values: values, expectedVersion: nil)
    }
  }

  /// Notes what rows lack that the model requires: a version of before left it empty, or the model requires it since.
  private func noteEmpty(
    _ entity: SyncSchema.Entity, _ applier: PageApplier, _ side: RemoteSide
  ) throws {
    let transaction = applier.transaction
    let required = transaction.schema.requiredMask(numbered: entity.number).indexes
    guard !required.isEmpty else { return }
    var keys: [ObjectKey] = []
    try transaction.forEachKey(of: entity.description) { keys.append($0) }
    for key in keys {
      guard let row = try transaction.knownOwnRow(key) else { continue }
      for slot in required where row.values[slot].isNull && !row.lost.contains(slot) {
        applier.lacks.note(key, slot, had: .null, side)
      }
    }
  }

  private static func limited(_ entity: SyncSchema.Entity) -> [SyncSchema.Property] {
    entity.properties.filter { $0.standIn?.limitsValues == true }
  }

  /// An object a line: its entity and its key.
  private func encoded(_ keys: [ObjectKey]) -> SQLiteValue? {
    guard !keys.isEmpty else { return nil }
    return .text(
      keys.compactMap { key in
        schema.entity(numbered: key.entity).map { "\($0.name) \(key.key)" }
      }.joined(separator: "\n"))
  }

  /// - Returns: nil for a text that is none of `leftSetting`.
  static func decode(_ text: String) -> [(entity: String, key: Int64)]? {
    var left: [(entity: String, key: Int64)] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let words = line.split(separator: " ")
      guard words.count == 2, let key = Int64(words[1]), key > 0 else { return nil }
      left.append((String(words[0]), key))
    }
    return left
  }

  /// - Returns: whether nothing that the model refuses is left.
  private func park(
    _ limited: [SyncSchema.Property], of key: ObjectKey, _ side: RemoteSide, _ applier: PageApplier
  ) throws -> Bool {
    guard let row = try applier.transaction.knownOwnRow(key) else { return true }
    var values = row.values
    var mask = PropertyMask()
    var isDone = true
    for property in limited
    where !row.lost.contains(property.slot) && !values[property.slot].isInZone
      && property.standIn?.refusal(of: values[property.slot]) != nil
    {
      // What waits for a unique key is null here until it is free.
      guard applier.pending[key]?.transaction(of: property.slot) == nil else {
        isDone = false
        continue
      }
      guard applier.keptKeys.values[key]?[property.slot] == nil else { continue }
      let held = try applier.held(values[property.slot], property, of: key, side)
      guard held != values[property.slot] else { continue }
      values[property.slot] = held
      mask.insert(property.slot)
    }
    guard !mask.isEmpty else { return isDone }
    try applier.transaction.update(key, mask, values: values, expectedVersion: nil)
    return isDone
  }

  /// What the attributes hold, and whether what stands in for other values may be shown twice: a change of it makes no other version of a model.
  private static func digest(of schema: SyncSchema) -> UInt64 {
    var digest: UInt64 = 0xcbf2_9ce4_8422_2325
    func add(_ words: String) {
      for byte in words.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }
    for entity in schema.entities {
      for slot in entity.description.layout.slots where !slot.isOptional && !slot.isToMany {
        guard let relationship = slot.relationship else { continue }
        add("\(entity.name)\t\(relationship.name)\trequired")
      }
      for property in entity.properties {
        guard
          case .attribute(let attribute, let type) = entity.description.layout
            .slots[property.slot].kind
        else { continue }
        var limits = [
          entity.name, property.name, "\(type)", "\(attribute.isOptional)",
          attribute.minimum.map { "\($0)" } ?? "", attribute.maximum.map { "\($0)" } ?? "",
          attribute.regularExpression ?? "",
          attribute.validationPredicates.map { "\($0)" }.joined(separator: "\n"),
          "\(property.isKeyed)",
        ]
        // Null is what these show of null, and versions of before did not name it.
        if !attribute.isOptional, property.standIn?.hasDefault == false { limits.append("null") }
        add(limits.joined(separator: "\t"))
      }
    }
    return digest
  }
}
