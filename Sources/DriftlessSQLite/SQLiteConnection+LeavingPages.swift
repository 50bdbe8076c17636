extension SQLiteConnection {
  /// Deletes what is large without writing all of its pages once more: their bytes stay in the file until others have the room.
  ///
  /// Where SQLite was built to overwrite what is deleted, as on Debian, a gibibyte that goes would else be as much in the
  /// write-ahead log, and could not go where the disk is full. It is for what is elsewhere as well: pieces of values on their way, or
  /// what the zone has.
  package func leavingPages<Result>(_ body: () throws -> Result) throws -> Result {
    let usual = try scalar("PRAGMA secure_delete")
    guard usual == .integer(1) else { return try body() }
    try execute("PRAGMA secure_delete=FAST")
    defer { try? execute("PRAGMA secure_delete=ON") }
    return try body()
  }
}
