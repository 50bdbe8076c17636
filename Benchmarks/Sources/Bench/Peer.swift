import Foundation
import GRDB

/// The same work with GRDB's records: the usual way to SQLite from Swift.
struct PeerItem: Codable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "item"
  var key: Int64
  var flag: Bool
  var size: Int64
  var score: Double
  var modified: Double
  var name: String
  var summary: String

  init(_ item: Items.Item) {
    key = item.key
    flag = item.flag
    size = item.size
    score = item.score
    modified = item.modified
    name = item.name
    summary = item.summary
  }

  static func open(_ path: String) throws -> DatabasePool {
    let pool = try DatabasePool(path: path)
    // GRDB lowers it to NORMAL; all three sides promise the same.
    try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
    return pool
  }

  static func create(_ pool: DatabasePool) throws {
    try pool.write { database in
      try database.execute(
        sql: """
          CREATE TABLE item (key INTEGER PRIMARY KEY, flag INTEGER, size INTEGER, score FLOAT,
          modified FLOAT, name TEXT, summary TEXT)
          """)
    }
  }
}
