import Foundation

/// How far a fold is: what a process that is killed finds when it goes on.
struct FoldCheckpoint: Codable, Equatable {
  struct Run: Codable, Equatable {
    var name: String
    var bytes: Int
    /// CRC-32 of its bytes.
    var checksum: UInt32
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
    try FoldFile.note(FoldCheckpoint.self, in: folder.appendingPathComponent(fileName))
  }

  func write(in folder: URL) throws(ProtocolError) {
    try FoldFile.replace(folder.appendingPathComponent(Self.fileName), withNote: self)
  }

  static func tables(in folder: URL) throws(ProtocolError) -> FoldTables {
    let file = folder.appendingPathComponent(tablesName)
    return try FoldFile.note(FoldTables.Kept.self, in: file).map(FoldTables.init) ?? FoldTables()
  }

  static func write(_ tables: FoldTables, in folder: URL) throws(ProtocolError) {
    try FoldFile.replace(folder.appendingPathComponent(tablesName), withNote: tables.kept)
  }
}
