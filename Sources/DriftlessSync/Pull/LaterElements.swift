import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// What the kept entries after one that comes late say of sets, by zone object number and property: an element that one of
/// them names is theirs, and the others are the late entry's.
struct LaterElements {
  private enum Said { case elements(Set<UInt64>), whole }

  let sequence: UInt64
  private let schema: SyncSchema
  private var said: [UInt64: [String: Said]] = [:]

  init(after sequence: UInt64, on connection: SQLiteConnection, schema: SyncSchema) throws {
    self.sequence = sequence
    self.schema = schema
    try KeptFrames.forEach(after: sequence, on: connection) { entry in
      guard let changeSet = try? ChangeSetDecoder().decode(entry) else { return }
      note(changeSet, entry.firstObjectNumber)
    }
  }

  private mutating func note(_ changeSet: ChangeSet, _ firstNumber: UInt64) {
    let index = changeSet.index
    let newCount = index.newObjectCount
    func number(_ object: Int) -> UInt64 {
      object < newCount
        ? firstNumber &+ UInt64(object) : index.knownNumbers[object - newCount]
    }
    var columns = changeSet.columns[...]
    for group in index.groups {
      let own = columns.prefix(group.properties.count)
      columns = columns.dropFirst(group.properties.count)
      for (place, column) in zip(group.properties, own) {
        let names = index.entities[group.entity]
        let name = names.properties[place]
        guard saysElements(column, names.name, name) else { continue }
        for (row, object) in group.objects.enumerated() {
          // So does one of before the relationship became to-many.
          guard group.kind == .update, case .elements(let rows) = column.values else {
            said[number(object), default: [:]][name] = .whole
            continue
          }
          let named = rows.added(at: row) + rows.removed(at: row)
          note(Set(named.map { number(Int($0)) }), of: number(object), name)
        }
      }
    }
  }

  private func saysElements(_ column: Column, _ entity: String, _ property: String) -> Bool {
    switch column.values {
    case .elements: return true
    case .references:
      let known = schema.entity(namedNowOrBefore: entity)?.property(namedNowOrBefore: property)
      guard case .elements? = known?.kind else { return false }
      return true
    default: return false
    }
  }

  private mutating func note(_ named: Set<UInt64>, of object: UInt64, _ property: String) {
    switch said[object]?[property] {
    case .whole: break
    case .elements(let former):
      said[object]?[property] = .elements(former.union(named))
    case nil: said[object, default: [:]][property] = .elements(named)
    }
  }

  /// The elements of a set that are named; nil where it was said whole.
  func elements(of object: UInt64, _ names: [String]) -> Set<UInt64>? {
    var all: Set<UInt64> = []
    for name in names {
      switch said[object]?[name] {
      case .whole: return nil
      case .elements(let named): all.formUnion(named)
      case nil: break
      }
    }
    return all
  }
}

extension PageApplier {
  /// The elements of a set that entries after one that comes late name; nil where nobody can tell: it was said whole, or
  /// those entries are kept no more.
  ///
  /// - Parameter names: what entries call the set.
  func elementsSet(
    after frame: FrameContext, of object: UInt64, _ names: [String]
  ) throws -> Set<UInt64>? {
    if laterElements?.sequence != frame.sequence {
      guard try isFollowed(frame.sequence) else { return nil }
      laterElements = try LaterElements(
        after: frame.sequence, on: transaction.connection, schema: schema)
    }
    return laterElements?.elements(of: object, names)
  }

  /// Whether an element of a set that a row says whole is that of later entries.
  func isNamedLater(_ element: ObjectKey, _ reader: PropertyReader) throws -> Bool {
    guard !reader.laterElements.isEmpty,
      let number = try directory.number(root: schema.root(of: element), key: element.key)
    else { return false }
    return reader.laterElements.contains(number)
  }

  /// Whether every entry after one is kept, but for those that are set aside.
  private func isFollowed(_ sequence: UInt64) throws -> Bool {
    let oldest = try KeptFrames.oldest(on: transaction.connection)
    guard let oldest else { return false }
    guard oldest > sequence &+ 1 else { return true }
    let aside = Set(parked.map(\.sequence))
    return (sequence &+ 1..<oldest).allSatisfy(aside.contains)
  }
}
