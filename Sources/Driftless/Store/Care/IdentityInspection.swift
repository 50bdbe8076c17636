import DriftlessSQLite
import Foundation

/// Looks whether each key, zone object number and identity of `ZDL_IDENTITY` is one object's.
struct IdentityInspection {
  let connection: SQLiteConnection
  private(set) var messages: [String] = []

  init(_ connection: SQLiteConnection) throws {
    self.connection = connection
    try inspectKeys()
    try inspectNumbers()
    try inspectIdentities()
  }

  private mutating func inspectKeys() throws {
    var last: (root: Int64, end: Int64)?
    try forEach("root_entity, first_key, count", order: "root_entity, first_key") { row, found in
      let (root, first, count) = (row.int64(0), row.int64(1), row.int64(2))
      if count < 1 || first < 0 || first > ReadTransaction.greatestNumber - max(0, count) {
        found.append("A run of identities has \(count) keys from \(first) on.")
      } else if let end = last, end.root == root, first < end.end {
        found.append("The key \(first) of entity \(root) has two identities.")
      }
      last = (root, first &+ max(0, count))
    }
  }

  private mutating func inspectNumbers() throws {
    var end: Int64 = 0
    try forEach("number, count", where: "number IS NOT NULL", order: "number") { row, found in
      let (first, count) = (row.int64(0), row.int64(1))
      if first < end { found.append("The zone object number \(first) is two objects'.") }
      end = max(end, first.addingReportingOverflow(max(0, count)).partialValue)
    }
  }

  private mutating func inspectIdentities() throws {
    var last: (high: UInt64, end: UInt64)?
    try forEach("identity, count", order: "identity") { row, found in
      guard let (high, low) = UUID(networkBytes: row.data(0))?.halves else {
        return found.append("A run of identities begins with none.")
      }
      if let last, last.high == high, low < last.end {
        let identity = row.data(0).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        found.append("The identity \(identity) is two objects'.")
      }
      last = (high, low &+ UInt64(max(0, row.int64(1))))
    }
  }

  private mutating func forEach(
    _ columns: String, where condition: String = "1", order: String,
    _ body: (SQLiteStatement, inout [String]) -> Void
  ) throws {
    let statement = try connection.prepareUncached(
      "SELECT \(columns) FROM ZDL_IDENTITY WHERE \(condition) ORDER BY \(order)")
    while try statement.step() { body(statement, &messages) }
  }
}
