import Driftless
import Foundation

/// An object for predicates to look at, without a store.
final class Sample: PropertySource {
  let key: ObjectKey
  /// Whose properties it has.
  var entity: EntityDescription?
  var values: [String: PredicateValue]
  /// What FETCH finds.
  var fetch: ((SubFetch) throws -> [Sample])?

  init(_ key: ObjectKey, _ values: [String: PropertyValue]) {
    self.key = key
    self.values = values.mapValues(PredicateValue.scalar)
  }

  convenience init(_ key: Int64 = 1, _ values: [String: PropertyValue] = [:]) {
    self.init(ObjectKey(entity: 1, key: key), values)
  }

  var predicateObjectKey: ObjectKey? { key }

  func predicateValue(forKey key: String) -> PredicateValue? { values[key] }

  func predicateLeadsToMany(_ name: String, _ rest: ArraySlice<String>) -> Bool {
    entity?.leadsToMany(name, rest) ?? false
  }

  func predicateFetch(_ fetch: SubFetch) throws(FetchError) -> [any PropertySource] {
    do {
      return try self.fetch?(fetch) ?? []
    } catch let error as FetchError {
      throw error
    } catch {
      throw FetchError(.unsupported, "\(error)", suggestion: "Mend the test.")
    }
  }

  /// A book with an author and three reviews, one of them without stars.
  static func book() -> Sample {
    let author = Sample(7, ["name": .string("Umberto Éco"), "born": .integer(1932)])
    let stars: [Int64?] = [5, 3, nil]
    let reviews = stars.enumerated().map { index, stars in
      Sample(
        Int64(20 + index),
        [
          "stars": stars.map { .integer($0) } ?? .null,
          "text": .string(["Great", "Fine", "?"][index]),
        ])
    }
    let book = Sample(
      1,
      [
        "title": .string("Il nome della rosa"), "pages": .integer(503), "subtitle": .null,
        "price": .decimal(Decimal(string: "12.30") ?? 0), "weight": .double(0.75),
        "isRead": .bool(true),
        "published": .date(Date(timeIntervalSinceReferenceDate: -600_000_000)),
        "location.shelf": .string("B"), "select": .integer(1),
      ])
    author.values["books"] = .objects([book])
    book.values["author"] = .object(author)
    book.values["translator"] = .scalar(.null)
    book.values["reviews"] = .objects(reviews)
    book.values["tags"] = .objects([])
    return book
  }
}
