import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Sealed values that the zone lacks: what was sealed is kept nowhere, but who has the value can seal it anew. Where they belong the
/// kept entries of the log say.
struct LostCells {
  private struct Place: Hashable {
    let object: UInt64
    let property: String
  }

  private let lost: Set<LargeValue>
  private var places: Set<Place> = []

  /// The properties, by objects that are here, that the log left with one of these values.
  static func properties(
    with lost: Set<LargeValue>, _ transaction: ReadTransaction, schema: SyncSchema
  ) throws -> [ObjectKey: PropertyMask] {
    var cells = LostCells(lost: lost)
    try KeptFrames.forEach(after: 0, on: transaction.connection) { cells.read($0) }
    guard !cells.places.isEmpty else { return [:] }
    var found: [ObjectKey: PropertyMask] = [:]
    var directory = ObjectDirectory(transaction.connection)
    for place in cells.places {
      guard let root = try directory.key(ofNumber: place.object),
        let key = try transaction.concreteKey(root: root),
        let property = schema.entity(numbered: key.entity)?.properties.first(where: {
          $0.isSealed && $0.names.contains(place.property)
        })
      else { continue }
      found[key, default: PropertyMask()].insert(property.slot)
    }
    return found
  }

  private init(lost: Set<LargeValue>) { self.lost = lost }

  /// What an entry sets has its value from there, and no longer from one before.
  private mutating func read(_ entry: PullPage.Entry) {
    guard let decoded = try? ChangeSetDecoder().decodeIndex(entry.frame) else { return }
    var index = decoded.index
    let namesLost = index.values.contains(where: lost.contains)
    guard namesLost || !places.isEmpty else { return }
    index.number(from: entry.firstObjectNumber)
    var columns = namesLost ? (try? ChangeSetDecoder().decode(entry.frame))?.columns[...] : nil
    let count = index.newObjects.reduce(0) { $0 + $1.count }
    for group in index.groups {
      let names = index.entities[group.entity].properties
      let own = columns?.prefix(group.properties.count)
      columns = columns?.dropFirst(group.properties.count)
      for (row, object) in group.objects.enumerated() {
        let known = object - count
        let number =
          object < count
          ? entry.firstObjectNumber &+ UInt64(object)
          : index.knownNumbers.indices.contains(known) ? index.knownNumbers[known] : 0
        for (offset, property) in group.properties.enumerated() {
          let place = Place(object: number, property: names[property])
          places.remove(place)
          guard let own, own.indices.contains(own.startIndex + offset) else { continue }
          let column = own[own.startIndex + offset]
          guard case .sealed = column.values, let value = column.largeValue(at: row),
            lost.contains(value)
          else { continue }
          places.insert(place)
        }
      }
    }
  }
}

extension SyncEngine {
  /// Offers sealed values that the zone lacks, with the times of their edits, sealed anew. Who may only read offers none: what it
  /// cannot send would wait for ever.
  func offerLostCells() async throws {
    let lacking = valueMemory.lacking
    guard !lacking.isEmpty, schema.keys != nil, schema.entities.contains(where: \.hasSealed)
    else { return }
    let found = try store.read {
      try LostCells.properties(with: lacking, $0, schema: schema)
    }
    guard !found.isEmpty, try await transport.zoneInfo().mayWrite else { return }
    try offerSealedAnew { found[$0] ?? PropertyMask() }
  }
}
