import Foundation

/// The objects of an archive that Foundation's keyed archiver wrote, looked at without making them:
/// their classes are Core Data's.
final class KeyedArchive {
  typealias Damage = BinaryPropertyList.Damage

  /// An archived object: the name of its class, and what it holds by key.
  struct Record {
    /// The object's number in the archive.
    let number: Int
    let className: String
    fileprivate let fields: [String: Int]
  }

  /// A value in an archive.
  enum Value {
    case null
    case plain(BinaryPropertyList.Object)
    case record(Record)
  }

  /// How many values may still be looked at, so that objects that name each other over and over
  /// end. An honest archive has fewer values than bytes, and each is looked at once or twice.
  private var stepsLeft: Int

  private let list: BinaryPropertyList
  /// For each object of the archive its place in the list.
  private let objects: [Int]
  private var top: Int?
  private var records: [Int: Record] = [:]

  init(_ data: Data) throws(Damage) {
    list = try BinaryPropertyList(data)
    stepsLeft = 2 * data.count + 10_000
    guard case .dictionary(let entries) = try list.object(at: list.root) else {
      throw Damage("it is no keyed archive")
    }
    var table: [Int]?
    for entry in entries {
      guard case .string(let key) = try list.object(at: entry.key) else { continue }
      switch (key, try list.object(at: entry.value)) {
      case ("$objects", .array(let places)): table = places
      case ("$top", .dictionary(let roots)):
        for root in roots {
          if case .string("root") = try list.object(at: root.key) { top = root.value }
        }
      default: continue
      }
    }
    guard let table else { throw Damage("it is no keyed archive: it has no $objects") }
    objects = table
  }

  /// The outermost object.
  func root() throws(Damage) -> Record {
    guard let top, case .record(let record) = try value(at: top) else {
      throw Damage("it is no keyed archive: it has no root")
    }
    return record
  }

  func value(of record: Record, _ key: String) throws(Damage) -> Value {
    guard let place = record.fields[key] else { return .null }
    return try value(at: place)
  }

  /// The value at a place of the list: itself, or the object that it refers to.
  func value(at place: Int) throws(Damage) -> Value {
    stepsLeft -= 1
    guard stepsLeft >= 0 else { throw Damage("its objects name each other without end") }
    let object = try list.object(at: place)
    guard case .uid(let number) = object else { return .plain(object) }
    guard number < objects.count else { throw Damage("it has no object \(number)") }
    if let record = records[number] { return .record(record) }
    let target = try list.object(at: objects[number])
    switch target {
    case .string("$null"), .null: return .null
    case .dictionary(let entries):
      let record = try record(number, entries)
      records[number] = record
      return .record(record)
    case .uid: throw Damage("an object of the archive is a reference")
    default: return .plain(target)
    }
  }

  private func record(
    _ number: Int, _ entries: [(key: Int, value: Int)]
  ) throws(Damage) -> Record {
    var fields: [String: Int] = [:]
    var className = ""
    for entry in entries {
      guard case .string(let key) = try list.object(at: entry.key) else { continue }
      fields[key] = entry.value
      guard key == "$class", case .uid(let number) = try list.object(at: entry.value),
        number < objects.count, case .dictionary(let parts) = try list.object(at: objects[number])
      else { continue }
      for part in parts {
        if case .string("$classname") = try list.object(at: part.key),
          case .string(let name) = try list.object(at: part.value)
        {
          className = name
        }
      }
    }
    return Record(number: number, className: className, fields: fields)
  }

  // MARK: What a record holds, as it is needed

  func record(_ record: Record, _ key: String) throws(Damage) -> Record? {
    guard case .record(let found) = try value(of: record, key) else { return nil }
    return found
  }

  func text(_ record: Record, _ key: String) throws(Damage) -> String? {
    try text(try value(of: record, key))
  }

  func text(_ value: Value) throws(Damage) -> String? {
    switch value {
    case .plain(.string(let text)): return text
    case .record(let string):
      // One step only: a text that names itself would have no end.
      guard case .plain(.string(let text)) = try self.value(of: string, "NS.string") else {
        return nil
      }
      return text
    default: return nil
    }
  }

  func integer(_ record: Record, _ key: String) throws(Damage) -> Int? {
    switch try value(of: record, key) {
    case .plain(.integer(let number)): return Int(clamping: number)
    case .plain(.real(let number)): return Int(exactly: number.rounded())
    case .plain(.bool(let flag)): return flag ? 1 : 0
    default: return nil
    }
  }

  func flag(_ record: Record, _ key: String) throws(Damage) -> Bool {
    try integer(record, key) ?? 0 != 0
  }

  /// The elements of an array or a set.
  func elements(_ record: Record, _ key: String) throws(Damage) -> [Value] {
    guard let collection = try self.record(record, key) else { return [] }
    return try elements(of: collection)
  }

  func elements(of collection: Record) throws(Damage) -> [Value] {
    guard let place = collection.fields["NS.objects"],
      case .array(let places) = try list.object(at: place)
    else { return [] }
    var values: [Value] = []
    for place in places { values.append(try value(at: place)) }
    return values
  }

  /// The entries of Core Data's own dictionary, which the model that it keeps in a store has: the
  /// keys lie apart, and a mark stands where a key has no value.
  private func knownKeys(
    _ dictionary: Record, _ mapping: Record
  ) throws(Damage) -> [(key: String, value: Value)] {
    let keys = try elements(mapping, "keys")
    let values = try elements(dictionary, "values")
    let mark = try text(dictionary, "emptyToken")
    guard keys.count == values.count else {
      throw Damage("a dictionary has more keys than values, or fewer")
    }
    var entries: [(key: String, value: Value)] = []
    for (key, value) in zip(keys, values) {
      if let mark, try text(value) == mark { continue }
      if let key = try text(key) { entries.append((key, value)) }
    }
    return entries.sorted { $0.key < $1.key }
  }

  /// The entries of a dictionary with texts as keys, in the order of the keys.
  func entries(_ record: Record, _ key: String) throws(Damage) -> [(key: String, value: Value)] {
    guard let dictionary = try self.record(record, key) else { return [] }
    if let mapping = try self.record(dictionary, "searchMapping") {
      return try knownKeys(dictionary, mapping)
    }
    guard let place = dictionary.fields["NS.keys"],
      case .array(let places) = try list.object(at: place)
    else { return [] }
    let values = try elements(of: dictionary)
    guard places.count == values.count else {
      throw Damage("a dictionary has more keys than values, or fewer")
    }
    var entries: [(key: String, value: Value)] = []
    for (place, value) in zip(places, values) {
      guard let name = try text(try self.value(at: place)) else { continue }
      entries.append((key: name, value: value))
    }
    return entries.sorted { $0.key < $1.key }
  }
}
