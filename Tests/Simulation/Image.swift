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
    for line in export.utf8.split(separator: UInt8(ascii: "\n")) {
      var scanner = Scanner(line)
      let fields = scanner.object()
      guard let id = fields["id"].flatMap({ UUID(uuidString: Self.unquoted($0)) }),
        let entity = fields["entity"], let set = fields["set"]
      else { continue }
      var values = Scanner(Substring(set).utf8)
      things[id] = Thing(entity: Self.unquoted(entity), values: values.object())
    }
  }

  func value(_ object: UUID, _ property: String) -> String {
    things[object]?.values[property] ?? Self.null
  }

  static let null = "null"

  static func unquoted(_ text: String) -> String { String(text.dropFirst().dropLast()) }

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

/// Cuts one level of a JSON object into the texts of its values.
private struct Scanner {
  private var rest: Substring.UTF8View

  init(_ text: Substring.UTF8View) { rest = text }

  mutating func object() -> [String: String] {
    var fields: [String: String] = [:]
    guard rest.popFirst() == UInt8(ascii: "{") else { return fields }
    while let first = rest.first, first != UInt8(ascii: "}") {
      if first == UInt8(ascii: ",") { rest.removeFirst() }
      let name = Image.unquoted(value())
      guard rest.popFirst() == UInt8(ascii: ":") else { return fields }
      fields[name] = value()
    }
    return fields
  }

  /// One value, as its text.
  private mutating func value() -> String {
    var depth = 0
    var isInString = false
    var isEscaped = false
    var end = rest.startIndex
    while end < rest.endIndex {
      let byte = rest[end]
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInString = false
        }
      } else {
        switch byte {
        case UInt8(ascii: "\""): isInString = true
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ","), UInt8(ascii: ":"):
          if depth == 0 { return take(end) }
          if byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") { depth -= 1 }
        default: break
        }
      }
      end = rest.index(after: end)
    }
    return take(end)
  }

  private mutating func take(_ end: Substring.UTF8View.Index) -> String {
    let text = String(Substring(rest[..<end]))
    rest = rest[end...]
    return text
  }
}
