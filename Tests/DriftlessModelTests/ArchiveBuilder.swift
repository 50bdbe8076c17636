import Foundation

/// Writes keyed archives, as Core Data's compiler does, from values in code.
///
/// The tests make archives with it that no real file here has: every default value, predicates,
/// fetched properties, and archives that are wrong.
struct ArchiveBuilder {
  /// A value in an archive.
  indirect enum Value {
    case null
    case bool(Bool)
    case integer(Int)
    case real(Double)
    case text(String)
    case data(Data)
    /// An object of a class, with what it holds.
    case object(String, [String: Value])
    /// An object that is named with `named`; `nothing` is no object.
    case reference(String)
    case named(String, String, [String: Value])
    case array([Value])
    case dictionary([String: Value])
  }

  private var objects: [[UInt8]] = []
  private var archived: [Int?] = []
  private var numbers: [String: Int] = [:]
  private let referenceSize = 4

  /// The bytes of an archive of the value.
  static func archive(_ root: Value) -> Data {
    var builder = ArchiveBuilder()
    return builder.build(root)
  }

  /// A model of entities, each a named object.
  static func model(
    _ entities: [String: Value], templates: [String: Value] = [:],
    configurations: [String: Value] = [:], identifiers: [String] = []
  ) -> Data {
    archive(
      .object(
        "NSManagedObjectModel",
        [
          "NSEntities": .dictionary(entities),
          "NSFetchRequestTemplates": templates.isEmpty ? .null : .dictionary(templates),
          "NSConfigurations": .dictionary(configurations),
          "NSVersionIdentifiers": .object(
            "NSSet", ["NS.objects": .array(identifiers.map { .text($0) })]),
        ]))
  }

  static func entity(
    _ name: String, _ properties: [String: Value], _ more: [String: Value] = [:]
  ) -> Value {
    .named(
      name, "NSEntityDescription",
      [
        "NSEntityName": .text(name), "NSClassNameForEntity": .text(name),
        "NSRenamingIdentifier": .text(name), "NSProperties": .dictionary(properties),
      ].merging(more) { $1 })
  }

  static func attribute(
    _ name: String, _ type: Int, _ more: [String: Value] = [:],
    class className: String = "NSAttributeDescription"
  ) -> Value {
    .object(
      className,
      ["NSPropertyName": .text(name), "NSAttributeType": .integer(type)].merging(more) { $1 })
  }

  // MARK: Bytes

  private mutating func build(_ root: Value) -> Data {
    // Object 0 of the list is the archive itself; object 0 of the archive is nil.
    let outer = reserve()
    archived.append(add(string: "$null"))
    let reference = refer(root)
    let table = add(marker: 0xA, archived.compactMap { $0 })
    let top = add(dictionary: [(add(string: "root"), reference)])
    set(
      outer,
      dictionary: [
        (add(string: "$archiver"), add(string: "NSKeyedArchiver")),
        (add(string: "$objects"), table), (add(string: "$top"), top),
        (add(string: "$version"), add(integer: 100_000)),
      ])
    return file()
  }

  private func file() -> Data {
    var bytes = Array("bplist00".utf8)
    var offsets: [Int] = []
    for object in objects {
      offsets.append(bytes.count)
      bytes += object
    }
    let start = bytes.count
    for offset in offsets { bytes += Self.big(offset, 4) }
    bytes += [0, 0, 0, 0, 0, 0, 4, UInt8(referenceSize)]
    bytes += Self.big(objects.count, 8) + Self.big(0, 8) + Self.big(start, 8)
    return Data(bytes)
  }

  /// The place of a UID, or of a plain value that needs none.
  private mutating func refer(_ value: Value) -> Int {
    switch value {
    case .null: return add(uid: 0)
    case .bool(let flag): return add([flag ? 0x09 : 0x08])
    case .integer(let number): return add(integer: number)
    case .real(let number):
      return add([0x23] + Self.big(Int(bitPattern: UInt(number.bitPattern)), 8))
    case .text(let text):
      archived.append(add(string: text))
      return add(uid: archived.count - 1)
    case .data(let data):
      archived.append(add(header(0x4, data.count) + Array(data)))
      return add(uid: archived.count - 1)
    case .reference("nothing"): return add(uid: 99_999)
    case .reference(let name): return add(uid: number(of: name))
    case .object(let name, let fields): return refer(nil, name, fields)
    case .named(let key, let name, let fields): return refer(key, name, fields)
    case .array(let values):
      // Inside a collection's record the elements stand as they are.
      return add(marker: 0xA, values.map { refer($0) })
    case .dictionary(let entries):
      let keys = entries.keys.sorted()
      return refer(
        nil, "NSMutableDictionary",
        [
          "NS.keys": .array(keys.map { .text($0) }),
          "NS.objects": .array(keys.map { entries[$0] ?? .null }),
        ])
    }
  }

  private mutating func refer(_ key: String?, _ className: String, _ fields: [String: Value]) -> Int
  {
    let number = key.map { self.number(of: $0) } ?? newNumber()
    guard archived[number] == nil else { return add(uid: number) }
    let place = reserve()
    archived[number] = place
    let classNumber = archived.count
    archived.append(
      add(dictionary: [(add(string: "$classname"), add(string: className))]))
    var entries = [(add(string: "$class"), add(uid: classNumber))]
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
      entries.append((add(string: name), refer(value)))
    }
    set(place, dictionary: entries)
    return add(uid: number)
  }

  /// The number of a named object, which may come later.
  private mutating func number(of name: String) -> Int {
    if let number = numbers[name] { return number }
    let number = newNumber()
    numbers[name] = number
    return number
  }

  private mutating func newNumber() -> Int {
    archived.append(nil)
    return archived.count - 1
  }

  private mutating func reserve() -> Int { add([]) }

  private mutating func add(_ bytes: [UInt8]) -> Int {
    objects.append(bytes)
    return objects.count - 1
  }

  private mutating func add(string: String) -> Int {
    guard string.utf8.allSatisfy({ $0 < 128 }) else {
      let units = Array(string.utf16)
      return add(header(0x6, units.count) + units.flatMap { Self.big(Int($0), 2) })
    }
    return add(header(0x5, string.utf8.count) + Array(string.utf8))
  }

  private mutating func add(integer: Int) -> Int { add([0x13] + Self.big(integer, 8)) }

  private mutating func add(uid: Int) -> Int { add([0x83] + Self.big(uid, 4)) }

  private mutating func add(marker: UInt8, _ places: [Int]) -> Int {
    add(header(marker, places.count) + places.flatMap { Self.big($0, referenceSize) })
  }

  private mutating func add(dictionary entries: [(Int, Int)]) -> Int {
    let place = reserve()
    set(place, dictionary: entries)
    return place
  }

  private mutating func set(_ place: Int, dictionary entries: [(Int, Int)]) {
    objects[place] =
      header(0xD, entries.count)
      + (entries.map(\.0) + entries.map(\.1))
      .flatMap { Self.big($0, referenceSize) }
  }

  private func header(_ marker: UInt8, _ count: Int) -> [UInt8] {
    count < 15 ? [marker << 4 | UInt8(count)] : [marker << 4 | 0xF, 0x12] + Self.big(count, 4)
  }

  private static func big(_ number: Int, _ width: Int) -> [UInt8] {
    (0..<width).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }
}
