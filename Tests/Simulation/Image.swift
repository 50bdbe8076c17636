import Foundation

/// What a replica shows, read from its export and from nothing else: for each object its entity and
/// the text of each value.
struct Image: Equatable {
  struct Thing: Equatable {
    var entity: String
    /// By property, the JSON text; what has no value is missing.
    var values: [String: String]
  }

  var things: [UUID: Thing] = [:]

  init() {}

  init(export: String) {
    var export = export
    export.withUTF8 { bytes in
      guard let start = bytes.baseAddress else { return }
      var scanner = Scanner(start, count: bytes.count)
      while let fields = scanner.line() {
        guard let id = fields["id"].flatMap({ UUID(uuidString: Self.unquoted($0)) }),
          let entity = fields["entity"], var set = fields["set"]
        else { continue }
        let values = set.withUTF8 { bytes -> [String: String]? in
          guard let start = bytes.baseAddress else { return nil }
          var scanner = Scanner(start, count: bytes.count)
          return scanner.line()
        }
        things[id] = Thing(entity: Self.unquoted(entity), values: values ?? [:])
        if let named = fields["inZone"] { things[id]?.values.merge(Self.known(named)) { $1 } }
      }
    }
  }

  /// Values that are named, as what they are: a host whose objects have a value by its name knows which one it has.
  private static func known(_ named: String) -> [String: String] {
    let names = try? JSONDecoder().decode([String: Named].self, from: Data(named.utf8))
    return (names ?? [:]).compactMapValues { LargeTexts.byName[$0.sha256] }
  }

  private struct Named: Decodable { let sha256: String }

  func value(_ object: UUID, _ property: String) -> String {
    things[object]?.values[property] ?? Self.null
  }

  static let null = "null"

  static func unquoted(_ text: String) -> String { String(text.utf8.dropFirst().dropLast()) ?? "" }

  /// The identities in the text of a to-one or to-many relationship.
  static func identities(in text: String) -> [UUID] {
    text.split { "[],\"".contains($0) }.compactMap { UUID(uuidString: String($0)) }
  }

  static func text(of identity: UUID) -> String { "\"\(identity.uuidString.lowercased())\"" }

  /// The words `w1`, `w2` … in a text.
  static func words(in text: String) -> Set<String> {
    Set(
      text.split { !($0.isLetter || $0.isNumber) }.map(String.init).filter { word in
        word.first == "w" && word.count > 1 && word.dropFirst().allSatisfy(\.isNumber)
      })
  }

  /// The part that a model of these entities and properties shows.
  func restricted(to properties: [String: Set<String>]) -> Image {
    var image = Image()
    for (id, thing) in things {
      guard let known = properties[thing.entity] else { continue }
      image.things[id] = Thing(
        entity: thing.entity, values: thing.values.filter { known.contains($0.key) })
    }
    return image
  }

  /// Where two images differ, in a few lines.
  func difference(from other: Image, names: (UUID) -> String) -> String {
    var lines: [String] = []
    for id in Set(things.keys).union(other.things.keys).sorted(by: { names($0) < names($1) }) {
      let mine = things[id]
      let theirs = other.things[id]
      if mine == theirs { continue }
      guard let mine, let theirs else {
        lines.append("\(names(id)): \(mine == nil ? "missing" : "only") here")
        continue
      }
      for name in Set(mine.values.keys).union(theirs.values.keys).sorted()
      where mine.values[name] != theirs.values[name] {
        lines.append(
          "\(names(id)).\(name): \(mine.values[name] ?? Self.null), there "
            + "\(theirs.values[name] ?? Self.null)")
      }
    }
    return lines.prefix(12).joined(separator: "\n")
  }
}

/// Cuts one level of a JSON object a line into the texts of its values.
///
/// All exports of all hosts go through it, byte by byte: it reads them where they lie.
private struct Scanner {
  private let bytes: UnsafePointer<UInt8>
  private let count: Int
  private var place = 0

  init(_ bytes: UnsafePointer<UInt8>, count: Int) {
    self.bytes = bytes
    self.count = count
  }

  /// The fields of the next line; nil when there is none.
  mutating func line() -> [String: String]? {
    while place < count, bytes[place] == UInt8(ascii: "\n") { place += 1 }
    guard place < count else { return nil }
    let fields = object()
    while place < count, bytes[place] != UInt8(ascii: "\n") { place += 1 }
    return fields
  }

  private mutating func object() -> [String: String] {
    var fields: [String: String] = [:]
    guard bytes[place] == UInt8(ascii: "{") else { return fields }
    place += 1
    while place < count, bytes[place] != UInt8(ascii: "}") {
      if bytes[place] == UInt8(ascii: ",") { place += 1 }
      let name = Image.unquoted(value())
      guard place < count, bytes[place] == UInt8(ascii: ":") else { return fields }
      place += 1
      fields[name] = value()
    }
    return fields
  }

  /// One value, as its text.
  private mutating func value() -> String {
    let start = place
    var depth = 0
    while place < count {
      switch bytes[place] {
      case UInt8(ascii: "\""): skipString()
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if depth == 0 { return text(from: start) }
        depth -= 1
      case UInt8(ascii: ","), UInt8(ascii: ":"):
        if depth == 0 { return text(from: start) }
      default: break
      }
      place += 1
    }
    return text(from: start)
  }

  /// From the quote that begins a string to the one that ends it.
  private mutating func skipString() {
    place += 1
    while place < count, bytes[place] != UInt8(ascii: "\"") {
      place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1
    }
  }

  private func text(from start: Int) -> String {
    String(
      decoding: UnsafeBufferPointer(start: bytes + start, count: min(place, count) - start),
      as: UTF8.self)
  }
}
