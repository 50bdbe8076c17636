import DriftlessProtocol
import DriftlessSQLite
import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// What was taken of a zone's large values from a file, or would be.
package struct TakenValues: Sendable, Hashable {
  /// The zone, as it is called now.
  package let zone: String
  /// Those that the zone lacked and the file has.
  package var values = NamedValues(count: 0, bytes: 0)
  /// Those that cannot be read, or whose bytes are not what their digests say, or that are of another length than the zone's: they
  /// were left. A dry run reads no bytes.
  package var damaged = 0
}

/// A database that no server has, of which large values are read: a backup, or what `restore` put aside.
struct ValueFile {
  private let path: String
  private let connection: SQLiteConnection
  /// By their UUIDs, their numbers in the file.
  let zones: [UUID: Int64]
  private let hasValues: Bool

  private static let pageRows: Int64 = 256

  /// - Parameter served: the database of a data folder, which the file is not to be, by whatever name.
  /// - Throws: `ServerError`: `.noData`, `.damagedDatabase`.
  init(_ file: URL, butNot served: URL? = nil) throws {
    // What lies beside the file lies beside what a link leads to.
    let file =
      realpath(file.path, nil).map { name in
        defer { free(name) }
        return URL(fileURLWithPath: String(cString: name))
      } ?? file
    if let served, Self.areSame(file, served) {
      throw ServerError(
        .noData, "\(file.path) is the database of the data folder itself",
        suggestion:
          "Name what restore put aside, or a file that a backup made (driftless-server backup FILE)."
      )
    }
    try Backup(file).checkIsOneFile()
    path = file.path
    (connection, zones, hasValues) = try ServerError.opening(file.path, isBackup: true) {
      let connection = try SQLiteConnection(path: file.path, mode: .immutable)
      do {
        var zones: [UUID: Int64] = [:]
        for row in try connection.rows("SELECT uuid, id FROM zone") {
          guard case .blob(let bytes) = row[0], case .integer(let id) = row[1] else { continue }
          if let uuid = UUID(bytes: bytes) { zones[uuid] = id }
        }
        let table = try connection.scalar("SELECT 1 FROM sqlite_master WHERE name = 'value_use'")
        return (connection, zones, table != nil)
      } catch {
        connection.close()
        throw error
      }
    }
  }

  func close() { connection.close() }

  private static func areSame(_ one: URL, _ other: URL) -> Bool {
    var (first, second) = (stat(), stat())
    return stat(one.path, &first) == 0 && stat(other.path, &second) == 0
      && first.st_dev == second.st_dev && first.st_ino == second.st_ino
  }

  /// Values that are whole in the file and that its log names, in pages, each with what reads it, and how many of its rows name none.
  private func eachPage(
    of zone: ZoneRecord, _ body: ([(value: LargeValue, row: Int64)], _ damaged: Int) throws -> Void
  ) throws {
    guard hasValues, let id = zones[zone.zoneID] else { return }
    var last = Data()
    while true {
      let rows = try reading {
        try LargeValues.namedPage(of: id, after: last, countMax: Self.pageRows, on: connection)
      }
      guard let end = rows.last else { return }
      last = end.digest
      let page = rows.compactMap { row in
        LargeValue(digest: row.digest, length: UInt64(clamping: row.length)).map {
          (value: $0, row: row.row)
        }
      }
      try body(page, rows.count - page.count)
    }
  }

  /// What a copy lacks of the named values of a database, zone by zone.
  static func lacked(by copy: URL, of file: URL) throws -> NamedValues {
    let source = try ValueFile(file)
    defer { source.close() }
    let connection = try SQLiteConnection(path: copy.path, mode: .immutable)
    defer { connection.close() }
    var lacked = NamedValues(count: 0, bytes: 0)
    for zone in try connection.zones() {
      let values = try source.lacked(by: SQLiteValueTables(connection: connection, zone: zone))
      lacked.count += values.values.count
      lacked.bytes += values.values.bytes
    }
    return lacked
  }

  /// What a zone lacks, and the file has.
  func lacked<Tables: ValueTables>(by tables: Tables) throws -> TakenValues {
    var lacked = TakenValues(zone: tables.zone.name)
    try eachPage(of: tables.zone) { page, damaged in
      let missing = try Self.missing(page.map(\.value), tables)
      lacked.damaged += damaged + missing.others
      for (value, _) in page where missing.digests.contains(value.digest) {
        lacked.values.count += 1
        lacked.values.bytes += Int64(clamping: value.length)
      }
    }
    return lacked
  }

  /// Values of a page that a zone lacks, and how many it has in another length.
  private static func missing<Tables: ValueTables>(
    _ values: [LargeValue], _ tables: Tables
  ) throws -> (digests: Set<Data>, others: Int) {
    do {
      return (Set(try tables.missing(values).map(\.digest)), 0)
    } catch is ProtocolError {
      var found: (digests: Set<Data>, others: Int) = ([], 0)
      for value in values {
        do {
          found.digests.formUnion(try tables.missing([value]).map(\.digest))
        } catch is ProtocolError {
          found.others += 1
        }
      }
      return found
    }
  }

  /// Empty where it cannot be read: other values may well be.
  private func piece(of row: Int64, first: Int) throws -> Data {
    try reading {
      do {
        return try LargeValues.piece(of: row, first: first, on: connection)
      } catch let error as SQLiteError where error.isCorrupt {
        return Data()
      }
    }
  }

  /// Says what cannot be read by the file's name.
  private func reading<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch var error as SQLiteError {
      guard !error.isCorrupt, !error.isNotADatabase else {
        throw ServerError(
          .damagedDatabase, "\(path) is damaged: its pages do not fit together",
          suggestion: "What was taken by then stays. Name another file that has the values.")
      }
      error.file = path
      throw ServerError(command: error) ?? error
    }
  }

  /// Takes into a zone what it lacks and the file has.
  ///
  /// - Throws: `ServerError`: `.damagedDatabase`, `.noZone`.
  func take<Tables: ValueTables>(into rescue: ValueRescue<Tables>) throws -> TakenValues {
    let zone = rescue.tables.zone
    var taken = TakenValues(zone: zone.name)
    try eachPage(of: zone) { page, damaged in
      let missing = try Self.missing(page.map(\.value), rescue.tables)
      taken.damaged += damaged + missing.others
      try rescue.keep(page.map(\.value).filter { !missing.digests.contains($0.digest) })
      for (value, row) in page where missing.digests.contains(value.digest) {
        if try Self.isTaken(value, into: rescue, piece: { try piece(of: row, first: $0) }) {
          taken.values.count += 1
          taken.values.bytes += Int64(clamping: value.length)
        } else {
          taken.damaged += 1
        }
      }
    }
    return taken
  }

  private static func isTaken<Tables: ValueTables>(
    _ value: LargeValue, into rescue: ValueRescue<Tables>, piece: (Int) throws -> Data
  ) throws -> Bool {
    do {
      return try rescue.take(value, piece: piece)
    } catch is ProtocolError {
      // Something of it is here that has another length.
      return false
    }
  }
}
