import DriftlessProtocol
import Foundation

/// What the rules of large values (`ValueIntake`) read and write of one zone: one answer to it a database.
protocol ValueTables {
  /// Names a row: one replica's upload of a value, or the whole. None is another's later.
  associatedtype Row: Sendable, Hashable

  var zone: ZoneRecord { get }

  /// Runs `body` in a transaction: all of it, or nothing.
  func transaction<Result>(_ body: () throws -> Result) throws -> Result

  /// From now on until the transaction ends nobody else begins, ends, names or lets go of a value of the zone.
  ///
  /// - Throws: `ServerError` (`.noZone`), also where another zone has its number by now.
  func hold() throws

  /// From now on until the transaction ends nobody else begins a value of any zone. Who calls holds its own zone.
  func holdAll() throws

  /// The zone's generation as it is now; nil where it is gone.
  func generation() throws -> UUID?

  // MARK: What comes

  /// What is here of a value; nobody else goes on with an upload that was asked for until the transaction ends.
  ///
  /// - Parameter replica: whose upload; nil for the whole.
  /// - Throws: `ProtocolError` (`.malformed`) for a value of another length.
  func row(of value: LargeValue, replica: UUID?) throws -> (row: Row, held: Int)?

  /// - Parameter token: the ID of the one that it takes room of; ``ValueLease/nobody`` for none.
  func begin(_ value: LargeValue, replica: UUID, token: String) throws -> Row
  func add(_ bytes: Data, at first: Int, of row: Row) throws

  /// - Returns: whether the row is still there.
  func renewLease(of row: Row, until milliseconds: Int64) throws -> Bool

  /// Whether replicas have sent some of a value that are no whole.
  func hasUploads(of digest: Data) throws -> Bool
  func dropUploads(of digest: Data) throws

  /// An upload becomes the zone's value.
  func makeWhole(_ row: Row) throws
  func remove(_ row: Row) throws

  /// Bytes that the zone's values have, with what is to come of those that are on their way.
  func declaredBytes() throws -> Int64

  /// Bytes that are waited for, or wait to be named: in the zone or in all, of a token or of any.
  func unnamedBytes(inAll: Bool, token: String?) throws -> Int

  /// Lets go of some values that nothing names and nobody waits for any more, and of uploads that nobody goes on with: of this
  /// zone first. It makes its own transactions.
  ///
  /// - Returns: whether some went.
  func collect(at milliseconds: Int64) throws -> Bool

  // MARK: What is named

  func isNamed(_ digest: Data) throws -> Bool

  /// What a log names stays, whatever its lease was, and takes nobody's room.
  func keepNamed(_ value: LargeValue) throws
  func isLost(_ value: LargeValue) throws -> Bool
  func noteLost(_ value: LargeValue) throws
  func forgetLost(_ digest: Data) throws

  /// Named values that the zone lacks, in the order of their digests, after one.
  func lost(after digest: Data, countMax: Int) throws -> [LargeValue]

  /// Digests of values that are named, and neither here nor noted as lost, in their order.
  ///
  /// - Parameters:
  ///   - first: none before it.
  ///   - last: none after it; nil for all.
  func gone(from first: Data, through last: Data?, countMax: Int) throws -> [Data]

  /// The first entry of the log behind a place that names a value; nil where none does any more.
  func entry(naming digest: Data, after sequence: UInt64) throws -> NamingEntry?

  /// What stands for the entries that a purge let go of.
  func kept() throws -> KeptLog?

  // MARK: What is there

  func missing(_ values: [LargeValue]) throws -> [LargeValue]

  /// Rows of those values that the zone has whole and nothing names.
  func unnamed(_ values: [LargeValue]) throws -> [Row]
  func whole(_ digest: Data) throws -> (row: Row, length: Int64)?

  /// Some bytes of a whole value, up to the end of a piece; nil when the zone does not have it.
  func piece(of digest: Data, first: Int, count: Int) throws -> Data?

  /// A piece of what is here, by its row; empty at its end.
  func piece(of row: Row, first: Int) throws -> Data
}

/// For how long a large value stays that nothing names, and whose room it takes.
enum ValueLease {
  /// In place of a token: a log named the value, so nobody's room bounds it.
  static let nobody = ""
  /// So long one stays that something named and nothing names any more.
  static var milliseconds: Int64 { Int64(ServerLimits().valueLeaseSeconds) * 1000 }
  /// So long those of a zone that began anew stay which its former log named, where replicas offer what they hold: one that is away
  /// offers them by their names alone when it is back. As long as a purge waits for it.
  static var offeredMilliseconds: Int64 { Int64(PurgeOptions().replicaDays) * 24 * 3600 * 1000 }
}
