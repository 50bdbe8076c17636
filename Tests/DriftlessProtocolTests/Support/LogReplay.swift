import DriftlessProtocol
import Foundation

/// What a log says after its last entry, entry by entry, in the plainest way: the measure of a fold. As text, so that two
/// can be compared and a difference can be read.
struct LogReplay {
  private struct Thing {
    var birth: String
    var maker: UInt64
    var isAlive: Bool
    var row: String
    /// By name, with its entity and transaction.
    var values: [String: String] = [:]
    var sets: [String: (text: String, elements: [UInt64])] = [:]
    var claims: [String: (properties: [String], text: String)] = [:]
  }

  private var things: [Thing] = []
  private var notes: [String: String] = [:]
  private var told: [UInt64: (time: UInt64, isPartial: Bool)] = [:]
  private var newest: UInt64 = 0

  init(_ entries: [PullPage.Entry]) throws {
    for entry in entries { try apply(entry) }
  }

  private mutating func apply(_ entry: PullPage.Entry) throws {
    let set = try ChangeSetDecoder().decode(entry.frame)
    let index = set.index
    let newCount = index.newObjectCount
    func number(_ object: Int) -> UInt64 {
      object < newCount
        ? entry.firstObjectNumber + UInt64(object) : index.knownNumbers[object - newCount]
    }
    let saves = index.transactions.map {
      Self.text($0, of: set.header.replica, in: entry.sequence)
    }
    var births: [(String, UInt64)] = []
    for objects in index.newObjects {
      for place in 0..<objects.count {
        births.append(
          (
            "\(index.entities[objects.entity].name) \(objects.identities[place]) \(objects.isGiven)",
            objects.makers.isEmpty ? 0 : objects.makers[place]
          ))
      }
    }
    things += births.map {
      Thing(birth: $0.0, maker: $0.1, isAlive: true, row: "")
    }
    for group in index.groups {
      for (row, object) in group.objects.enumerated() where group.kind != .update {
        let save = Self.save(group, row)
        let place = Int(number(object)) - 1
        var thing = things[place]
        if group.kind == .insert, thing.maker == 0 { thing.maker = index.transactions[save].name }
        thing.isAlive = group.kind != .delete
        thing.row = saves[save]
        (thing.values, thing.sets, thing.claims) = ([:], [:], [:])
        things[place] = thing
      }
    }
    var columns = set.columns[...]
    for group in index.groups {
      let entity = index.entities[group.entity]
      for property in group.properties {
        guard let column = columns.popFirst() else { continue }
        let name = entity.properties[property]
        for (row, object) in group.objects.enumerated() {
          let place = Int(number(object)) - 1
          guard things[place].isAlive else { continue }
          things[place].claims = things[place].claims.filter {
            !$0.value.properties.contains(name)
          }
          let by = "\(entity.name) \(saves[Self.save(group, row)])"
          if case .elements(let rows) = column.values {
            let added = rows.added(at: row).map { number(Int($0)) }
            let gone = Set(added).union(rows.removed(at: row).map { number(Int($0)) })
            var elements = (things[place].sets[name]?.elements ?? []).filter { !gone.contains($0) }
            for (at, one) in added.enumerated() where !added[(at + 1)...].contains(one) {
              elements.append(one)
            }
            things[place].sets[name] = (by, elements)
          } else {
            things[place].values[name] = "\(Self.text(column, row, number)) by \(by)"
          }
        }
      }
    }
    for claims in index.claims {
      let entity = index.entities[claims.entity]
      let properties = claims.properties.map { entity.properties[$0] }
      for (object, hash) in zip(claims.objects, claims.hashes) {
        things[Int(number(object)) - 1].claims["\(entity.name) \(properties)"] = (
          properties, "\(claims.keyID) \(hash.bytes.base64EncodedString())"
        )
      }
    }
    note(set, entry)
  }

  private mutating func note(_ set: ChangeSet, _ entry: PullPage.Entry) {
    let index = set.index
    newest = max(newest, index.transactions.map(\.hybridTime).max() ?? 0)
    notes["replica \(set.header.replica)"] = "\(set.header.pushNumber) \(entry.mark)"
    for tombstone in index.tombstones {
      notes["tombstone \(tombstone.identity)"] =
        "\(index.entities[tombstone.entity].name) \(tombstone.hybridTime)"
    }
    let names =
      index.transactions.filter { $0.name != 0 }.map { ($0.name, $0.hybridTime, index.isPartial) }
      + index.covered.map { ($0.name, newest, $0.isPartial) }
    for (name, time, isPartial) in names {
      let former = told[name]
      told[name] = (max(time, former?.time ?? 0), isPartial && former?.isPartial ?? true)
    }
  }

  private static func save(_ group: ChangeSetIndex.Group, _ row: Int) -> Int {
    var end = 0
    return group.transactionRuns.first {
      end += $0.count
      return row < end
    }?.transaction ?? -1
  }

  static func text(
    _ save: ChangeSetIndex.Transaction, of replica: UUID, in sequence: UInt64
  ) -> String {
    "\(save.name)@\(save.hybridTime) \(save.author ?? "-") \(save.contextName ?? "-")"
      + " \(save.origin?.uuidString ?? "-") of \(replica) in \(sequence)"
  }

  private static func text(_ column: Column, _ row: Int, _ number: (Int) -> UInt64) -> String {
    if case .references(let places) = column.values {
      let isEmpty = column.isNull(at: row) || places[row] == Column.noReference
      return "to \(isEmpty ? 0 : number(Int(places[row])))"
    }
    let kind: String
    var value: String
    switch column.values {
    case .integers(let values): (kind, value) = ("1", "\(values[row])")
    case .doubles(let values): (kind, value) = ("2", "\(values[row].bitPattern)")
    case .dates(let values): (kind, value) = ("3", "\(values[row].bitPattern)")
    case .booleans(let values): (kind, value) = ("4", values[row] ? "1" : "0")
    case .strings(let rows): (kind, value) = ("5", rows.data(at: row).base64EncodedString())
    case .bytes(let rows): (kind, value) = ("6", rows.data(at: row).base64EncodedString())
    case .decimals(let rows): (kind, value) = ("7", rows.data(at: row).base64EncodedString())
    case .sealed(let rows): (kind, value) = ("12", rows.data(at: row).base64EncodedString())
    case .uris(let rows): (kind, value) = ("8", rows.data(at: row).base64EncodedString())
    case .uuids(let values): (kind, value) = ("9", "\(values[row])")
    case .unknown(let column): (kind, value) = ("\(column.kind)", text(column, row))
    case .references, .elements: (kind, value) = ("", "")
    }
    if column.isNull(at: row) { value = "null" }
    return "\(kind):\(value)"
  }

  /// The bytes of a row of a column of kind 99, as `RandomLog` makes them.
  private static func text(_ column: UnknownColumn, _ row: Int) -> String {
    var position = 0
    let message = Array(column.message)
    func varint() -> Int {
      var number = 0
      var shift = 0
      while position < message.count {
        let byte = message[position]
        position += 1
        number |= Int(byte & 127) << shift
        if byte < 128 { break }
        shift += 7
      }
      return number
    }
    var lengths: [Int] = []
    var content: [UInt8] = []
    while position < message.count {
      let tag = varint()
      guard tag & 7 == 2 else {
        _ = varint()
        continue
      }
      let end = varint() + position
      if tag >> 3 == 4 { lengths = message[position..<end].map(Int.init) }
      if tag >> 3 == 5 { content = Array(message[position..<end]) }
      position = end
    }
    let start = lengths[..<row].reduce(0, +)
    return Data(content[start..<start + lengths[row]]).base64EncodedString()
  }

  /// A line for each thing that is known, in a fixed order.
  var lines: [String] {
    var lines: [String] = []
    for (place, thing) in things.enumerated() {
      var parts = [
        "\(place + 1) \(thing.birth) made by \(thing.maker)",
        "\(thing.isAlive ? "alive" : "dead") since \(thing.row)",
      ]
      parts += thing.values.map { "\($0.key)=\($0.value)" }.sorted()
      parts += thing.sets.map { "\($0.key) has \($0.value.elements) by \($0.value.text)" }.sorted()
      parts += thing.claims.map { "\($0.key) claims \($0.value.text)" }.sorted()
      lines.append(parts.joined(separator: "\n  "))
    }
    lines += notes.map { "\($0.key) \($0.value)" }.sorted()
    lines += told.map { "name \($0.key) \($0.value)" }.sorted()
    return lines
  }
}
