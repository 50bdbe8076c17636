#if PostgreSQL
  import DriftlessProtocol
  import Foundation

  /// What the zones' logs were added up to. All of it can be made anew of the logs.
  extension PostgresCheck {
    mutating func checkSnapshot(of zone: ZoneRecord) throws {
      let rows = try connection.run(
        "SELECT generation, sequence, bytes, manifest FROM snapshot WHERE zone = $1",
        .integer(zone.id))
      // Without one, the next fold makes it.
      guard rows.count > 0 else { return }
      guard let snapshot = Snapshot(note: rows.data(0, 3)) else {
        return found("its list of files cannot be read", zone)
      }
      guard rows.uuid(0, 0) == snapshot.generation,
        rows.uint64(0, 1) == snapshot.place.sequence,
        rows.int64(0, 2) == Int64(clamping: snapshot.bytes)
      else { return found("its row says another one than its list of files", zone) }
      // That of a former generation is nobody's: a program of before leaves it.
      guard snapshot.generation == zone.generation else { return }
      if try connection.place(at: snapshot.place.sequence, of: zone) != snapshot.place {
        found("its place \(snapshot.place.sequence) is none of the log", zone)
      }
      for file in snapshot.files { try check(file, of: zone) }
    }

    /// One file at a time: they are large.
    private mutating func check(_ file: Snapshot.File, of zone: ZoneRecord) throws {
      let rows = try connection.run(
        "SELECT content FROM segment WHERE zone = $1 AND name = $2", .integer(zone.id),
        .text(file.name))
      let isWhole = rows.count > 0 && Snapshot.name(of: rows.data(0, 0)) == file.name
      guard !isWhole else { return }
      note(
        "segment", zone.name, "file \(file.name)",
        rows.count > 0 ? "its bytes are not those that were written" : "it is gone",
        "Nothing is lost: the log has all of it. syncctl verify of one of the zone's replicas has "
          + "the server make the files anew.")
    }

    private mutating func found(_ message: String, _ zone: ZoneRecord) {
      note(
        "snapshot", zone.name, "row", message,
        "Nothing is lost: the log has all of it. driftless-server zone fold \(zone.name) makes "
          + "another.")
    }
  }
#endif
