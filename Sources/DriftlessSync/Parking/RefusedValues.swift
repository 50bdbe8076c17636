import Driftless
import DriftlessSQLite
import Foundation

/// Values that a store has from before its model was made narrower: a migration leaves them, and who joins later with that
/// model cannot hold them. They are parked here as they are there, so that all replicas of a model show one thing.
struct RefusedValues {
  static let setting = "sync.limits"

  private let schema: SyncSchema
  private let limits: UInt64

  init(_ schema: SyncSchema) {
    self.schema = schema
    limits = Self.digest(of: schema)
  }

  /// Whether the model has other limits than the one that the store's rows were looked through for, or was made with.
  func areDue(_ transaction: ReadTransaction) throws -> Bool {
    try transaction.setting(Self.setting) != .integer(Int64(bitPattern: limits))
  }

  /// Parks what the model refuses. An edit that waits to be sent says what it says: that is parked when it was sent. A store of
  /// which it is not known what its rows were made with is taken as it is.
  func park(_ applier: PageApplier, by state: ReplicaState) throws {
    let transaction = applier.transaction
    let isKnown = try transaction.setting(Self.setting) != nil
    var isDone = true
    let side = RemoteSide(
      value: .null, time: HybridTime(rawValue: 0), origin: state.replica, sequence: state.cursor)
    for entity in isKnown ? schema.entities : [] {
      let limited = entity.properties.filter { $0.standIn?.limitsValues == true }
      guard !limited.isEmpty else { continue }
      var keys: [ObjectKey] = []
      try transaction.forEachKey(of: entity.description) { keys.append($0) }
      for key in keys where try !park(limited, of: key, side, applier) { isDone = false }
    }
    guard isDone else { return }
    try transaction.setSetting(Self.setting, .integer(Int64(bitPattern: limits)))
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
    where !row.lost.contains(property.slot)
      && property.standIn?.refusal(of: values[property.slot]) != nil
    {
      // What waits for a unique key is null here until it is free.
      guard applier.pending[key]?.transaction(of: property.slot) == nil else {
        isDone = false
        continue
      }
      guard applier.keptKeys.values[key]?[property.slot] == nil else { continue }
      values[property.slot] = try applier.held(values[property.slot], property, of: key, side)
      mask.insert(property.slot)
    }
    guard !mask.isEmpty else { return isDone }
    try applier.transaction.update(key, mask, values: values, expectedVersion: nil)
    return isDone
  }

  /// What the attributes hold: a change of it makes no other version of a model.
  private static func digest(of schema: SyncSchema) -> UInt64 {
    var digest: UInt64 = 0xcbf2_9ce4_8422_2325
    for entity in schema.entities {
      for property in entity.properties {
        guard
          case .attribute(let attribute, let type) = entity.description.layout
            .slots[property.slot].kind
        else { continue }
        let limits = [
          entity.name, property.name, "\(type)", "\(attribute.isOptional)",
          attribute.minimum.map { "\($0)" } ?? "", attribute.maximum.map { "\($0)" } ?? "",
          attribute.regularExpression ?? "",
          attribute.validationPredicates.map { "\($0)" }.joined(separator: "\n"),
        ]
        for byte in limits.joined(separator: "\t").utf8 {
          digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3
        }
      }
    }
    return digest
  }
}
