import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Large values of one zone in a file, which has one writer at a time.
struct SQLiteValueTables: ValueTables {
  let connection: SQLiteConnection
  let zone: ZoneRecord

  func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    try connection.transaction(.immediate, body)
  }

  /// Who has begun a transaction holds all zones.
  func hold() throws {
    guard try connection.zone(id: zone.id)?.zoneID == zone.zoneID else {
      // It may have begun anew, under another number.
      _ = try connection.current(zone)
      throw ServerError.generationChanged(zone: zone.name)
    }
  }
  func holdAll() throws {}

  func generation() throws -> UUID? { try connection.zone(named: zone.name)?.generation }

  func row(of value: LargeValue, replica: UUID?) throws -> (row: Int64, held: Int)? {
    try LargeValues.row(
      of: value, zone: zone.id, replica: replica.map { .blob($0.bytes) } ?? LargeValues.whole,
      on: connection
    ).map { ($0.id, $0.held) }
  }

  func begin(_ value: LargeValue, replica: UUID, token: String) throws -> Int64 {
    try LargeValues.begin(value, zone: zone.id, replica: replica, token: token, on: connection)
  }

  func add(_ bytes: Data, at first: Int, of row: Int64) throws {
    try LargeValues.add(bytes, at: first, of: row, on: connection)
  }

  func renewLease(of row: Int64, until milliseconds: Int64) throws -> Bool {
    try LargeValues.renewLease(of: row, until: milliseconds, on: connection)
    return true
  }

  func hasUploads(of digest: Data) throws -> Bool {
    try !LargeValues.uploads(of: digest, zone: zone.id, on: connection).isEmpty
  }

  func dropUploads(of digest: Data) throws {
    for id in try LargeValues.uploads(of: digest, zone: zone.id, on: connection) {
      try LargeValues.giveUp(id, on: connection)
    }
  }

  func makeWhole(_ row: Int64) throws { try LargeValues.makeWhole(row, on: connection) }

  func remove(_ row: Int64) throws { try LargeValues.giveUp(row, on: connection) }

  func declaredBytes() throws -> Int64 {
    try LargeValues.declaredBytes(of: zone.id, on: connection)
  }

  func unnamedBytes(inAll: Bool, token: String?) throws -> Int {
    try LargeValues.unnamedBytes(of: inAll ? nil : zone.id, token: token, on: connection)
  }

  func collect(at milliseconds: Int64) throws -> Bool {
    try LargeValues.collect(at: milliseconds, first: zone.id, on: connection).isRoomMade
  }

  func isNamed(_ digest: Data) throws -> Bool {
    try LargeValues.isNamed(digest, zone: zone.id, on: connection)
  }

  func keepNamed(_ value: LargeValue) throws {
    try LargeValues.keepNamed(value, zone: zone.id, on: connection)
  }

  func isLost(_ value: LargeValue) throws -> Bool {
    try LargeValues.isLost(value, zone: zone.id, on: connection)
  }

  func noteLost(_ value: LargeValue) throws {
    try LargeValues.noteLost(value, zone: zone.id, on: connection)
  }

  func forgetLost(_ digest: Data) throws {
    try LargeValues.forgetLost(digest, zone: zone.id, on: connection)
  }

  func lost(after digest: Data, countMax: Int) throws -> [LargeValue] {
    try LargeValues.lost(of: zone.id, after: digest, countMax: countMax, on: connection)
  }

  func missing(_ values: [LargeValue]) throws -> [LargeValue] {
    try LargeValues.missing(values, zone: zone.id, on: connection)
  }

  func unnamed(_ values: [LargeValue]) throws -> [Int64] {
    try values.compactMap { value in
      guard let whole = try whole(value.digest), try !isNamed(value.digest) else { return nil }
      return whole.row
    }
  }

  func whole(_ digest: Data) throws -> (row: Int64, length: Int64)? {
    try LargeValues.whole(digest, zone: zone.id, on: connection).map { ($0.id, $0.length) }
  }

  func piece(of digest: Data, first: Int, count: Int) throws -> Data? {
    try LargeValues.piece(of: digest, zone: zone.id, first: first, count: count, on: connection)
  }

  func piece(of row: Int64, first: Int) throws -> Data {
    try LargeValues.piece(of: row, first: first, on: connection)
  }
}
