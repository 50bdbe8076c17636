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
      "\(name).\(property): \(Self.text(values.first)) | \(Self.text(values.second))"
    }
  }

  private static func text(_ value: JSONValue?) -> String {
    guard let value, let data = try? OutputOptions.encoder.encode(value) else { return "null" }
    let text = String(decoding: data, as: UTF8.self)
    return text.count > 80 ? "\(text.prefix(80))…" : text
  }

  /// Hands over what differs, in the order of the exports.
  static func forEach(
    between first: ExportLines, and second: ExportLines, _ body: (StoreDifference) throws -> Void
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
        if here.bytes != there.bytes { try body(try difference(here, there)) }
        (one, other) = (try first.next(), try second.next())
      }
    }
  }

  private static func difference(
    _ here: ExportLines.Line, _ there: ExportLines.Line
  ) throws -> StoreDifference {
    let (first, second) = (try here.values(), try there.values())
    var difference = StoreDifference(entity: here.entity, id: here.id)
    for name in Set(first.keys).union(second.keys) where first[name] != second[name] {
      difference.properties[name] = Values(first: first[name], second: second[name])
    }
    return difference
  }
}
