import DriftlessSQLite
import Foundation

/// The objects of an ordered relationship, as a query gives them by their places.
///
/// What comes from a program that knows no places has none. Objects of one place, or of none, stand in the order of their
/// identities: that is one in every store, and the order of their rows is not.
struct PlaceOrder {
  private var keys: [ObjectKey] = []
  private var places: [Int64?] = []
  private var hasTies = false

  /// - Parameter column: where the row has the place; those without one come first.
  mutating func append(_ key: ObjectKey, placeIn statement: SQLiteStatement, _ column: Int32) {
    let place: Int64? = statement.isNull(column) ? nil : statement.int64(column)
    if let last = places.last, last == place { hasTies = true }
    keys.append(key)
    places.append(place)
  }

  func keys(_ transaction: ReadTransaction) throws -> [ObjectKey] {
    try members(transaction).map(\.key)
  }

  func members(_ transaction: ReadTransaction) throws -> [(key: ObjectKey, place: Int64?)] {
    let members = zip(keys, places).map { (key: $0, place: $1) }
    // A file that Core Data wrote, and that is read alone, has no identities.
    guard hasTies, try IdentityRuns.exist(in: "main", on: transaction.connection) else {
      return members
    }
    var ordered: [(key: ObjectKey, place: Int64?)] = []
    ordered.reserveCapacity(members.count)
    for tie in members.split(byPlaces: places) {
      guard tie.count > 1 else {
        ordered += tie
        continue
      }
      ordered += try tie.map { (try transaction.identity(of: $0.key), $0) }
        .sorted { $0.0 < $1.0 }.map(\.1)
    }
    return ordered
  }
}

extension Array {
  /// Runs of elements that have one place.
  fileprivate func split(byPlaces places: [Int64?]) -> [ArraySlice<Element>] {
    var runs: [ArraySlice<Element>] = []
    var first = 0
    for end in indices.dropFirst() where places[end] != places[first] {
      runs.append(self[first..<end])
      first = end
    }
    if first < count { runs.append(self[first...]) }
    return runs
  }
}
