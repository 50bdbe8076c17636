import DriftlessSQLite

/// The name of a transaction: eight bytes by which every copy of the store, and the zone, know it again.
///
/// Numbers of transactions are given out again after a copy of a store was put back, and by both of two copies. Names are
/// not: they are drawn anew with each save. They are not drawn ahead of it: a process that forks, and a machine that is
/// resumed twice from one image, would then give a name twice.
///
/// A transaction of a store that had no names yet has one that follows from what it is, so that copies which were made
/// before agree on it. 0 stands for none.
enum TransactionName {
  static func draw() -> UInt64 { UInt64.random(in: 1 ... .max) }

  /// `(store identifier, number, hybrid time)`
  private static let function = "driftless_transaction_name"

  /// The name of a transaction that has none, in SQL.
  static func derivedSQL(_ number: String, _ time: String) -> String {
    "\(function)(\(MetadataTable.identifierSQL), \(number), \(time))"
  }

  static func register(on connection: SQLiteConnection) throws {
    try connection.createFunction(function, argc: 3, deterministic: true) { operands in
      guard case .text(let store) = operands[0], case .integer(let number) = operands[1],
        case .integer(let time) = operands[2]
      else { return .integer(0) }
      return .integer(Int64(bitPattern: derived(store, number, time)))
    }
  }

  private static func derived(_ store: String, _ number: Int64, _ time: Int64) -> UInt64 {
    var bytes = Array("transaction \(store) ".utf8)
    for word in [number, time] {
      bytes.append(littleEndian: word)
    }
    let name = SHA256Digest.hash(bytes)[..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return max(name, 1)
  }
}
