import DriftlessSQLite
import Foundation

/// What the objects of a file of Core Data's are, in a few bytes: two files with the same digest hold the same objects under the
/// same keys, with the same values.
///
/// Core Data's files say no identities. One file that was copied to several hosts is the same there as long as nobody wrote to
/// it, and the digest says so: identities that follow from it are those of one object on each host. A copy that was written to has
/// another one, and its objects are its own. Versions of rows (`Z_OPT`), history and metadata are not in it.
///
/// It is no protection against somebody who looks for two contents with one digest: it tells apart what happened by itself.
struct ContentDigest {
  /// The setting with the digest of what the file held when it was first opened for writing, in hexadecimal.
  static let setting = "contentDigest"

  private var low: UInt64 = 0x9e37_79b9_7f4a_7c15
  private var high: UInt64 = 0xc2b2_ae3d_27d4_eb4f

  /// Gives the objects of a file that was never opened for writing the identities that follow from its content, and those that
  /// are made from now on others, which no copy has.
  ///
  /// - Parameter identifier: The store's: of two files that Core Data made apart nothing is the same.
  static func giveIdentities(
    _ schema: StoreSchema, _ identifier: String, _ connection: SQLiteConnection
  ) throws {
    let digest = try ContentDigest(schema, identifier, connection).bytes
    try StoreSettings.set(StoreSettings.mintPrefix, .blob(Data(digest.prefix(6))), on: connection)
    try StoreSettings.set(
      setting, .text(digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()),
      on: connection)
    try WriteTransaction(connection: connection, schema: schema, info: TransactionInfo())
      .renewMintPrefix()
  }

  private init(
    _ schema: StoreSchema, _ identifier: String, _ connection: SQLiteConnection
  ) throws {
    mix(text: identifier)
    for table in schema.tables {
      let columns = ["Z_PK", "Z_ENT"] + table.columns.map(\.name)
      try add(table.name, columns, by: ["Z_PK"], connection)
    }
    for join in schema.ownJoinTables {
      let columns = [join.sourceColumn, join.destinationColumn]
      let orders = [join.destinationOrderColumn, join.sourceOrderColumn].compactMap(\.self)
      try add(join.name, columns + orders, by: columns, connection)
    }
  }

  /// The first 16 of SHA-256 over what was mixed.
  private var bytes: [UInt8] {
    let message = [low, high].flatMap { word in
      (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
    }
    return Array(SHA256Digest.hash(message).prefix(16))
  }

  private mutating func add(
    _ table: String, _ columns: [String], by key: [String], _ connection: SQLiteConnection
  ) throws {
    func list(_ names: [String]) -> String {
      names.map { "\"\($0)\"" }.joined(separator: ", ")
    }
    for name in [table] + columns { mix(text: name) }
    let statement = try connection.prepareUncached(
      "SELECT \(list(columns)) FROM \"\(table)\" ORDER BY \(list(key))")
    while try statement.step() {
      for column in 0..<Int32(columns.count) {
        switch statement.storage(column) {
        case .null: mix(0)
        case .integer:
          mix(1)
          mix(UInt64(bitPattern: statement.int64(column)))
        case .real:
          mix(2)
          mix(statement.double(column).bitPattern)
        case .text:
          mix(3)
          statement.withBytes(column) { mix(bytes: $0) }
        case .blob:
          mix(4)
          statement.withBytes(column) { mix(bytes: $0) }
        }
      }
    }
  }

  private mutating func mix(text: String) {
    var text = text
    text.withUTF8 { mix(bytes: UnsafeRawBufferPointer($0)) }
  }

  private mutating func mix(bytes: UnsafeRawBufferPointer) {
    mix(UInt64(bytes.count))
    var offset = 0
    while offset + 8 <= bytes.count {
      mix(
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
      offset += 8
    }
    guard offset < bytes.count else { return }
    var rest: UInt64 = 0
    for byte in bytes[offset...] { rest = rest << 8 | UInt64(byte) }
    mix(rest)
  }

  private mutating func mix(_ word: UInt64) {
    let first = (low ^ word).multipliedFullWidth(by: 0xa076_1d64_78bd_642f)
    let second = (high &+ word).multipliedFullWidth(by: 0xe703_7ed1_a0b4_28db)
    low = first.low ^ first.high &+ high
    high = second.low ^ second.high &+ first.low.byteSwapped
  }
}

extension PersistentStore {
  /// The digest of what a file of Core Data's held when it was first opened for writing: copies with the same one have their
  /// objects in common. Nil for other stores.
  package func contentDigest() throws -> String? {
    try read { transaction in
      if case .text(let digest)? = try transaction.setting(ContentDigest.setting) {
        digest
      } else {
        nil
      }
    }
  }
}
