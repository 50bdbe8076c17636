import Foundation

/// How far a fold is: what a process that is killed finds when it goes on.
struct FoldCheckpoint: Codable, Equatable {
  struct Run: Codable, Equatable {
    var name: String
    var bytes: Int
    /// How often it was put together from others.
    var level: Int
  }

  /// A layer that is being written.
  struct Output: Codable, Equatable {
    var isBase: Bool
    var files: [Snapshot.File] = []
    /// What is written of the notes: up to this key.
    var part = FoldKey.Part.object
    var high: UInt64 = 0
    var low: UInt64 = 1
    /// The number that the next file begins with.
    var first: UInt64 = 1
    /// All files are there.
    var isWhole = false
    /// As `Snapshot.Layer.isPlain`, of what is written.
    var isPlain = true

    var key: FoldKey { FoldKey(part: part, high: high, low: low) }

    mutating func go(to key: FoldKey) { (part, high, low) = (key.part, key.high, key.low) }
  }

  static let fileName = "fold.json"
  static let tablesName = "tables.json"

  var generation: UUID
  /// The place of the snapshot that it goes on from.
  var start: LogMark
  /// The last entry that is in a run.
  var through: LogMark
  var nextObject: UInt64
  var newestTime: UInt64
  var runs: [Run] = []
  /// How many runs were ever written: each has a name of its own.
  var runCount = 0
  /// Bytes of the entries that are in the runs.
  var logBytes = 0
  /// As `Snapshot.Layer.isPlain`, of what is in the runs.
  var isPlain = true
  /// There when the log is taken in, and its layer is being written.
  var output: Output?

  static func read(in folder: URL) throws(ProtocolError) -> FoldCheckpoint? {
    guard let data = try FoldFile.contents(of: folder.appendingPathComponent(fileName)) else {
      return nil
    }
    do {
      return try JSONDecoder().decode(FoldCheckpoint.self, from: data)
    } catch { throw .damagedFold }
  }

  func write(in folder: URL) throws(ProtocolError) {
    try Self.write(self, to: folder.appendingPathComponent(Self.fileName))
  }

  static func tables(in folder: URL) throws(ProtocolError) -> FoldTables {
    guard let data = try FoldFile.contents(of: folder.appendingPathComponent(tablesName)) else {
      return FoldTables()
    }
    do {
      return FoldTables(try JSONDecoder().decode(FoldTables.Kept.self, from: data))
    } catch { throw .damagedFold }
  }

  static func write(_ tables: FoldTables, in folder: URL) throws(ProtocolError) {
    try write(tables.kept, to: folder.appendingPathComponent(tablesName))
  }

  private static func write(_ value: some Encodable, to file: URL) throws(ProtocolError) {
    let data: Data
    do { data = try JSONEncoder().encode(value) } catch {
      throw .malformed("\(file.lastPathComponent) cannot be written: \(error)")
    }
    try FoldFile.replace(file, with: data)
  }
}
