import Driftless
import DriftlessProtocol
import Foundation

/// A property of an object that has a large value which may wait in the zone.
struct HeldPlace {
  let key: ObjectKey
  let property: SyncSchema.Property
  let bytes: Int64

  /// Where it is.
  struct Cell: Hashable {
    let key: ObjectKey
    let property: String
  }

  var cell: Cell { Cell(key: key, property: property.name) }

  /// Those of all objects that are meant, the ones that were made first before the others.
  ///
  /// - Parameters:
  ///   - name: of one property; nil for all.
  ///   - bytesMax: so many bytes of the last ones are not among them.
  ///   - bytesMin: a value that has fewer is in its change set, and not by itself.
  static func all(
    _ name: String?, keeping bytesMax: Int64, bytesMin: Int, _ timing: ValueTiming,
    _ schema: SyncSchema, _ transaction: ReadTransaction, of isMeant: (ObjectKey) -> Bool
  ) throws -> [HeldPlace] {
    var places: [HeldPlace] = []
    for entity in schema.entities {
      let properties = entity.properties.filter {
        (name ?? $0.name) == $0.name && timing.waits($0)
      }
      guard !properties.isEmpty else { continue }
      var keys: [ObjectKey] = []
      try transaction.forEachKey(of: entity.description) { if isMeant($0) { keys.append($0) } }
      for key in keys {
        guard let values = try transaction.knownOwnRow(key)?.values else { continue }
        for property in properties {
          guard case .data(let data) = values[property.slot],
            data.count >= max(bytesMin, LargeValue.bytesMin),
            !values[property.slot].isInZone
          else { continue }
          places.append(HeldPlace(key: key, property: property, bytes: Int64(data.count)))
        }
      }
    }
    var left = max(0, bytesMax)
    while let last = places.last, last.bytes <= left {
      left -= last.bytes
      places.removeLast()
    }
    return places
  }

  /// The name of the value that is there, where it is the zone's own word on the property: it was not encrypted, it came or went by
  /// itself, nothing of it waits to be sent, and it stands in for no other. That the zone has the bytes for another object is no word on
  /// this one: they go with that.
  func value(_ pending: PendingSet, _ transaction: ReadTransaction) throws -> LargeValue? {
    guard try isOfZone(pending, transaction),
      let named = try NamedCells(transaction.connection).digest(of: key, property.name),
      let value = try transaction.knownOwnRow(key)?.values[property.slot], !value.isInZone,
      case .data(let data) = value, let large = LargeValue(of: data), large.digest == named
    else { return nil }
    return large
  }

  /// Whether what is there is what the zone's own word on the property comes to, in whatever way it says that.
  func isOfZone(_ pending: PendingSet, _ transaction: ReadTransaction) throws -> Bool {
    let object = pending[key]
    return try !property.isSealed && object.map { $0.whole == .none } ?? true
      && object?.transaction(of: property.slot) == nil
      && ParkedValues(transaction.connection).value(of: key, property.name) == nil
  }

  /// - Parameter sequence: up to where the log is applied, in which the value was set.
  func letGo(_ value: LargeValue, by applier: PageApplier, at sequence: UInt64) throws {
    guard var values = try applier.transaction.knownOwnRow(key)?.values else { return }
    let name = PropertyValue.data(Data(LargeCell.row(for: value, isSealed: false)))
    values[property.slot] = name
    try applier.transaction.update(
      key, PropertyMask([property.slot]), values: values, expectedVersion: nil)
    try applier.parkedValues.add(
      name, of: key, property.name, reason: LargeCell.reasonInZone(value), sequence: sequence,
      sender: ParkedValues.unknownSender, at: applier.now)
    try MissedValues.forget(value.digest, on: applier.transaction.connection)
  }
}
