import Foundation

/// What two stores hold differently of one object.
struct StoreDifference: Encodable {
  /// Which of the two stores has the object alone.
  enum Side: String, Encodable { case first, second }

  /// A property's value in each of the stores; null where it has none.
  struct Values: Encodable {
    var first: JSONValue?
    var second: JSONValue?

    private enum Key: CodingKey { case first, second }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(first, forKey: .first)
      try container.encode(second, forKey: .second)
    }
  }

  var entity: String
  var id: String
  var only: Side?
  var properties: [String: Values] = [:]

  private enum Key: CodingKey { case entity, id, only, properties }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(entity, forKey: .entity)
    try container.encode(id, forKey: .id)
    try container.encode(only, forKey: .only)
    try container.encode(properties, forKey: .properties)
  }

  /// Lines for a person.
  func lines(first: String, second: String) -> [String] {
    let name = "\(entity)/\(id)"
    if let only { return ["\(name) is in \(only == .first ? first : second) alone"] }
    return properties.sorted { $0.key < $1.key }.map { property, values in
      let (one, other) = Self.cut(Self.text(values.first), Self.text(values.second))
      return "\(name).\(property): \(one) | \(other)"
    }
  }

  private static func text(_ value: JSONValue?) -> String {
    guard let value, let data = try? OutputOptions.encoder.encode(value) else { return "null" }
    return String(decoding: data, as: UTF8.self)
  }

  /// Characters of a value that a line shows.
  private static let shownMax = 80

  /// Long values, as far as a line shows them: what they begin with alike is left out where they differ only behind that.
  private static func cut(_ first: String, _ second: String) -> (String, String) {
    let alike = zip(first, second).prefix { $0 == $1 }.count
    // Some of it, by which the place is known.
    let start = alike < shownMax ? 0 : alike - shownMax / 4
    func shown(_ text: String) -> String {
      let rest = text.dropFirst(start)
      let part = rest.count > shownMax ? "\(rest.prefix(shownMax))…" : String(rest)
      return start > 0 ? "…\(part)" : part
    }
    return (shown(first), shown(second))
  }

  /// Hands over what differs, in the order of the exports.
  ///
  /// - Parameter left: what one of the exports leaves out: it is not compared.
  static func forEach(
    between first: ExportLines, and second: ExportLines, but left: Set<LeftOutValues.Place> = [],
    _ body: (StoreDifference) throws -> Void
  ) throws {
    var (first, second) = (first, second)
    var (one, other) = (try first.next(), try second.next())
    while one != nil || other != nil {
      if let here = one, other.map({ here.place < $0.place }) ?? true {
        try body(StoreDifference(entity: here.entity, id: here.id, only: .first))
        one = try first.next()
      } else if let there = other, one.map({ there.place < $0.place }) ?? true {
        try body(StoreDifference(entity: there.entity, id: there.id, only: .second))
        other = try second.next()
      } else if let here = one, let there = other {
        if here.bytes != there.bytes, let difference = try difference(here, there, but: left) {
          try body(difference)
        }
        (one, other) = (try first.next(), try second.next())
      }
    }
  }

  /// Nil where both hold the same: a null is spelled where the model has a default in its place, and left out where it has none, and
  /// what a model refuses of an object is named beside its values.
  private static func difference(
    _ here: ExportLines.Line, _ there: ExportLines.Line, but left: Set<LeftOutValues.Place>
  ) throws -> StoreDifference? {
    let (first, second) = (try here.values(), try there.values())
    var difference = StoreDifference(entity: here.entity, id: here.id)
    for name in Set(first.keys).union(second.keys)
    where first[name] ?? .null != second[name] ?? .null
      && !left.contains(LeftOutValues.Place(id: here.id, property: name))
    {
      difference.properties[name] = Values(first: first[name], second: second[name])
    }
    return difference.properties.isEmpty ? nil : difference
  }
}
