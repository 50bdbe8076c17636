import DriftlessProtocol
import Foundation

/// Looks whether a snapshot alone tells all that its log told, as far as that can be known without a model.
enum PurgeCheck {
  private struct Property: Hashable {
    let entity: String
    let name: String
  }

  /// - Parameter isTried: a replica of each model has joined by it: what its sets name was no hindrance.
  /// - Throws: `ServerError`: `.notPurgeable` naming what only the log tells, `.damagedDatabase` for a snapshot that does not
  ///   have each object once.
  static func run(
    _ snapshot: Snapshot, _ bytes: @escaping (Snapshot.File) throws -> Data, zone: String,
    isTried: Bool
  ) throws {
    do {
      try snapshot.check()
      var reader = try SnapshotReader(snapshot, bytes: bytes)
      var kinds: [Property: String] = [:]
      var dead: [Range<UInt64>] = []
      // A set may name an object of any number, so the dead are known first.
      try reader.forEachPart { part in
        dead += part.dead.map { $0.first..<$0.first + UInt64($0.count) }
      }
      if isTried { dead = [] }
      dead.sort { $0.lowerBound < $1.lowerBound }
      try reader.forEachPart { part in
        for number in 0..<part.count {
          let own = number == 0 ? part.numbers : []
          try look(at: part.changeSet(number), own, &kinds, dead: dead, zone: zone)
        }
      }
      guard reader.isPlain else {
        throw refusal("an object was deleted, or brought back, under another entity's name", zone)
      }
    } catch let error as ProtocolError {
      throw ServerError(error)
    }
  }

  /// The large values that a snapshot names, ascending, each once.
  ///
  /// - Throws: `ServerError` (`.damagedDatabase`), and what `bytes` throws.
  static func values(
    of snapshot: Snapshot, _ bytes: @escaping (Snapshot.File) throws -> Data
  ) throws -> [LargeValue] {
    do {
      var reader = try SnapshotReader(snapshot, bytes: bytes)
      var values: Set<LargeValue> = []
      try reader.forEachPart { part in
        for number in 0..<part.count { try values.formUnion(part.index(number).values) }
      }
      return values.sorted()
    } catch let error as ProtocolError {
      throw ServerError(error)
    }
  }

  private static func look(
    at changeSet: ChangeSet, _ own: [UInt64], _ kinds: inout [Property: String],
    dead: [Range<UInt64>], zone: String
  ) throws {
    let index = changeSet.index
    let numbers = own + index.knownNumbers
    var born: [Int] = []
    for run in index.newObjects { born += Array(repeating: run.entity, count: run.count) }
    var columns = changeSet.columns[...]
    for group in index.groups {
      let entity = index.entities[group.entity]
      for object in group.objects where object < born.count {
        let name = index.entities[born[object]].name
        guard name == entity.name else {
          throw refusal("an object came as \(name) and has values as \(entity.name)", zone)
        }
      }
      for place in group.properties {
        guard let column = columns.popFirst() else { continue }
        let property = Property(entity: entity.name, name: entity.properties[place])
        // A value that is sealed is one of the property's own type.
        guard let kind = kind(of: column.values) else { continue }
        guard kinds[property, default: kind] == kind else {
          throw refusal(
            "\(property.entity).\(property.name) has values of two types, or is an attribute and a relationship",
            zone)
        }
        kinds[property] = kind
        guard case .elements(let rows) = column.values else { continue }
        for row in 0..<rows.count {
          for element in rows.added(at: row) {
            let number = numbers.indices.contains(Int(element)) ? numbers[Int(element)] : 0
            guard !isDead(number, dead) else {
              throw untold("\(property.entity).\(property.name)", zone)
            }
          }
        }
      }
    }
  }

  private static func kind(of values: Column.Values) -> String? {
    switch values {
    case .integers: "integers"
    case .doubles: "doubles"
    case .dates: "dates"
    case .booleans: "booleans"
    case .strings: "strings"
    case .bytes: "bytes"
    case .decimals: "decimals"
    case .uris: "uris"
    case .uuids: "uuids"
    case .references: "references"
    case .elements: "elements"
    case .unknown(let column): "\(column.kind)"
    case .sealed: nil
    }
  }

  private static func isDead(_ number: UInt64, _ dead: [Range<UInt64>]) -> Bool {
    var low = 0
    var high = dead.count
    while low < high {
      let middle = (low + high) / 2
      if dead[middle].lowerBound <= number { low = middle + 1 } else { high = middle }
    }
    return low > 0 && dead[low - 1].contains(number)
  }

  private static func refusal(_ what: String, _ zone: String) -> ServerError {
    ServerError(
      .notPurgeable,
      "the log of zone \(zone) cannot be purged: \(what), and its snapshot does not tell all of that",
      suggestion: "Keep the log. Or begin the zone anew (driftless-server zone renew \(zone)): "
        + "replicas offer what they hold, in a log without it.")
  }

  private static func untold(_ set: String, _ zone: String) -> ServerError {
    ServerError(
      .notPurgeable,
      "the log of zone \(zone) may not be purged: \(set) names objects that were deleted, and where it is ordered "
        + "only the log tells their places",
      suggestion:
        "Where a new replica of each model in use has joined by the zone's snapshot, say --tried.")
  }
}
