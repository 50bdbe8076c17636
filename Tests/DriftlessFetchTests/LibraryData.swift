import Driftless
import Foundation

/// The rows of a small library, with gaps, odd texts and numbers at their limits: what both the
/// store and the evaluation in memory have to agree on.
enum LibraryData {
  static let authors: [[String: PropertyValue]] = [
    ["name": .string("Umberto Éco"), "born": .integer(1932)],
    ["name": .string("eco"), "born": .null],
    ["name": .null, "born": .integer(1890)],
    ["name": .string("Ωmega"), "born": .integer(-5)],
    ["name": .string(""), "born": .integer(1932)],
  ]

  static let tags: [String?] = ["novel", "NOVEL", "été", "ete\u{301}", nil]

  private static func decimal(_ text: String) -> PropertyValue {
    Decimal(string: text).map(PropertyValue.decimal) ?? .null
  }

  /// `author` and `editor` are places in `authors`; `tags` in `tags`.
  static let books: [(author: Int?, editor: Int?, tags: [Int], values: [String: PropertyValue])] = [
    (0, 1, [0, 2], book("Il nome della rosa", 503, "12.3", 0.75, true, -600_000_000)),
    (0, 0, [], book("Il pendolo", 680, "12345678901234567890.123", 1.5, false, -300_000_000.5)),
    (1, nil, [1], book("ROSA", 1, "12.30", -0.25, nil, nil)),
    (2, 3, [2, 3, 4], book("a*b?c\\d", .max, nil, nil, true, 0)),
    (nil, nil, [4], book(nil, nil, "-1.5", 0, false, 1e9)),
    (nil, 2, [], book("straße", .min, "0", 1e300, true, 700_000_000.125)),
    (3, 3, [0, 1, 2, 3], book("Éa\u{0}b'; DROP TABLE", 0, "-12345678901234567890.5", -3, nil, 1)),
    (4, nil, [0], book("e\u{301}a", -7, "0.1", 2.5, false, nil)),
    (4, 4, [4, 4].dropLast(), book("", 7, "100", 3, true, -1)),
    (1, 0, [], book("il nome", 503, "99.99", 0.1, false, 2)),
  ]

  private static func book(
    _ title: String?, _ pages: Int64?, _ price: String?, _ weight: Double?, _ isRead: Bool?,
    _ published: Double?
  ) -> [String: PropertyValue] {
    let digit = UInt8(truncatingIfNeeded: pages ?? 9)
    return [
      "title": title.map { .string($0) } ?? .null,
      "pages": pages.map { .integer($0) } ?? .null,
      "price": price.map(decimal) ?? .null,
      "weight": weight.map { .double($0) } ?? .null,
      "isRead": isRead.map { .bool($0) } ?? .null,
      "published": published.map { .date(Date(timeIntervalSinceReferenceDate: $0)) } ?? .null,
      "cover": pages == nil ? .null : .data(Data([digit, 0, 255])),
      "isbn": title == nil
        ? .null : .uuid(UUID(uuid: (digit, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0, 0, 1))),
      "link": URL(string: "https://example.com/\(digit)").map { .uri($0) } ?? .null,
    ]
  }
}
