#if PostgreSQL
  import DriftlessProtocol
  import Foundation

  /// The logs of a PostgreSQL database, for who adds them up: the folding of a node, and an operator's command.
  ///
  /// It has a connection of its own, for one statement at a time: what a replica compares itself with is read between those of
  /// a fold.
  struct PostgresLogs: FoldedLogs {
    private let slot: PostgresSlot

    /// - Parameter text: a connection string of libpq.
    init(_ text: String, limits: ServerLimits) {
      slot = PostgresSlot(text, label: "folding", limits: limits)
    }

    func zones() throws -> [ZoneRecord] { try slot.run { try $0.zones() } }

    func zone(named name: String) throws -> ZoneRecord? {
      try slot.run { try $0.zoneRow(named: name)?.zone }
    }

    /// Entries whose sizes are added up by one statement.
    private static let entriesAtOnce = 50_000

    func logBytes(
      of zone: ZoneRecord, after sequence: UInt64, pause: () throws -> Void
    ) throws -> Int {
      var (bytes, last) = (0, sequence)
      while true {
        try pause()
        let (sum, end) = try slot.patiently { connection in
          let rows = try connection.run(
            """
            SELECT coalesce(sum(size), 0)::bigint, max(sequence) FROM (
              SELECT sequence, size FROM log WHERE zone = $1 AND sequence > $2
              ORDER BY sequence LIMIT \(Self.entriesAtOnce)) AS few
            """, .integer(zone.id), .integer(Int64(clamping: last)))
          return (rows.int64(0, 0), rows.isNull(0, 1) ? nil : rows.uint64(0, 1))
        }
        guard let end else { return bytes }
        bytes += Int(clamping: sum)
        last = end
      }
    }

    func entries(of zone: ZoneRecord, _ request: PageRequest) throws -> [LogEntry] {
      try slot.patiently { connection in
        try connection.transaction(.read) { try connection.page(of: zone, request).entries }
      }
    }

    func isOwn(_ place: LogMark, _ zone: ZoneRecord) throws -> Bool {
      try slot.patiently { connection in
        try connection.transaction(.read) {
          let rows = try connection.run(
            PostgresZoneRow.select + " AND id = $1 AND generation = $2", .integer(zone.id),
            .uuid(zone.generation))
          guard rows.count > 0 else { return false }
          return try connection.place(
            at: place.sequence, of: PostgresZoneRow(rows, 0).zone) == place
        }
      }
    }

    func snapshot(of zone: ZoneRecord) throws -> Snapshot? {
      try slot.patiently { try PostgresSnapshots.snapshot(of: zone, on: $0) }
    }

    func bytes(of file: Snapshot.File, of zone: ZoneRecord) throws -> Data {
      try slot.run { try PostgresSnapshots.bytes(of: file, of: zone, on: $0) }
    }

    /// A fold that was stopped begins anew at the last snapshot: what it had done lies on the disk of its host.
    func fold(
      _ zone: ZoneRecord, options: FoldOptions, page: (LogMark) throws -> [LogEntry]
    ) throws -> Snapshot {
      do {
        let fold = try PostgresFold(zone, slot)
        defer { fold.release() }
        // What a fold left that was killed, or lost its lease.
        try fold.removeFiles(butOf: fold.snapshot())
        do {
          return try run(fold, zone, options, page)
        } catch let error as ProtocolError where error.code == .damaged {
          // A file is not as it was written. The log has all of it.
          try fold.forget()
          return try run(fold, zone, options, page)
        } catch let error as PostgresError where error.isFull {
          // The log needs the room more.
          try? fold.removeFiles(butOf: fold.snapshot())
          throw ServerError(
            .diskFull, "the disk of the database has no room for a snapshot",
            suggestion: "Make room there; the next fold begins anew.")
        }
      } catch let refusal as ProtocolError {
        throw ServerError(refusal)
      }
    }

    private func run(
      _ fold: PostgresFold, _ zone: ZoneRecord, _ given: FoldOptions,
      _ page: (LogMark) throws -> [LogEntry]
    ) throws -> Snapshot {
      if let former = try fold.snapshot(), try !isOwn(former.place, zone) {
        // The database was put back to an older copy and has gone on from there.
        try fold.forget()
      }
      try begin(fold, zone)
      let scratch = try FoldScratch()
      defer { scratch.remove() }
      var options = given
      options.pause = {
        try given.pause?()
        try fold.renewIfDue()
      }
      let folded = try SnapshotFold(
        zone: zone.zoneID, generation: zone.generation, files: fold, work: scratch.work,
        options: options)
      while true {
        try options.pause?()
        let entries = try page(folded.through)
        guard !entries.isEmpty else { return try folded.finish() }
        for entry in entries { try folded.append(PullPage.Entry(entry)) }
      }
    }

    /// A fold goes on from what stands for the entries that were purged, where it has less.
    private func begin(_ fold: PostgresFold, _ zone: ZoneRecord) throws {
      guard
        let row = try slot.patiently({ try PostgresPurgedLog.row(of: zone, on: $0) }),
        try fold.snapshot()?.place.sequence ?? 0 < row.snapshot.place.sequence
      else { return }
      let kept = KeptLog(row, of: zone) { name in
        try slot.patiently { try PostgresPurgedLog.bytes(of: name, of: zone, on: $0) }
      }
      for file in row.snapshot.files { try fold.keep(kept.bytes(file), as: file.name) }
      try fold.publish(row.snapshot)
    }

    /// - Parameter body: runs while nobody else folds or purges the zone.
    /// - Throws: `ServerError` (`.locked`), and what `body` throws.
    func withFold<Result>(
      of zone: ZoneRecord, _ body: (PostgresFold) throws -> Result
    ) throws -> Result {
      let fold = try PostgresFold(zone, slot)
      defer { fold.release() }
      return try body(fold)
    }

    func forget(_ zone: ZoneRecord) throws {
      try slot.run { try PostgresSnapshots.forget(zone, on: $0) }
    }

    /// What cannot be removed now is another time's: it stands in nobody's way.
    func sweep() throws { try? slot.run { try PostgresSnapshots.sweep($0) } }

    /// Of the host: what is under way lies there. What the database has room for it does not say.
    var freeBytes: Int? { FoldScratch.freeBytes }

    func close() { slot.close() }
  }
#endif
