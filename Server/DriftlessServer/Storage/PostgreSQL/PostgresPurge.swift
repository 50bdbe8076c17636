#if PostgreSQL
  import DriftlessProtocol
  import Foundation

  /// A purge in a PostgreSQL database. What the log comes to lies on the disk of the command's host until it is in the database.
  final class PostgresPurge: PurgePlace {
    private let administration: PostgresAdministration
    private let logs: PostgresLogs
    /// The right to fold the zone, while it is had.
    private var fold: PostgresFold?

    init(_ administration: PostgresAdministration, _ logs: PostgresLogs) {
      self.administration = administration
      self.logs = logs
    }

    func tables(of zone: ZoneRecord) -> PostgresPurgeTables {
      PostgresPurgeTables(administration: administration, zone: zone)
    }

    func checkServers() throws {
      try administration.checkNodes(know: .floors)
    }

    func givenMilliseconds() throws -> Int64 { try PostgresTimes.last(administration.connection) }

    func isServed() throws -> Bool { try PostgresNodes.count(administration.connection) > 0 }

    /// What the database has room for it does not say.
    func requireRoom(for bytes: Int, of zone: ZoneRecord, _ options: PurgeOptions) throws {
      try DiskSpace.require(
        bytes, of: options.freeBytes?() ?? FoldScratch.freeBytes, at: FoldScratch.parent,
        for: "a purge of zone \(zone.name)",
        otherwise: "It is the most that it may take: --force begins all the same.")
    }

    func withLock<Result>(of zone: ZoneRecord, _ body: () throws -> Result) throws -> Result {
      try logs.withFold(of: zone) { fold in
        self.fold = fold
        defer { self.fold = nil }
        return try body()
      }
    }

    func withFoldAnew<Result>(
      of zone: ZoneRecord, _ kept: KeptLog?, through last: UInt64?,
      _ body: (Snapshot, @escaping (Snapshot.File) throws -> Data) throws -> Result
    ) throws -> Result {
      try withLock(of: zone) {
        let scratch = try FoldScratch()
        defer { scratch.remove() }
        do {
          try kept?.snapshot.place(in: scratch.folder, bytes: kept?.bytes ?? { _ in Data() })
          var options = FoldOptions()
          options.pause = { [fold] in try fold?.renewIfDue() }
          let folded = try SnapshotFold(
            zone: zone.zoneID, generation: zone.generation, in: scratch.folder, options: options)
          while let request = request(after: folded.through, through: last) {
            let entries = try logs.entries(of: zone, request)
            if entries.isEmpty { break }
            for entry in entries { try folded.append(PullPage.Entry(entry)) }
            try fold?.renewIfDue()
          }
          return try body(folded.finish()) { [self] file in
            try fold?.renewIfDue()
            return try Snapshot.bytes(of: file, in: scratch.folder)
          }
        } catch let refusal as ProtocolError {
          throw ServerError(refusal)
        }
      }
    }

    func discardFolded(of zone: ZoneRecord) throws {
      try fold?.forget()
      try fold?.removeFiles(butOf: nil)
    }

    func write<Result>(
      to zone: ZoneRecord, _ body: (PostgresPurgeTables) throws -> Result
    ) throws -> Result {
      try fold?.renewIfDue()
      return try administration.write {
        let row = try administration.connection.currentRow(of: zone, locks: true)
        guard row != nil else { throw ServerError.noZone(zone.name) }
        // Asked anew once the row is had: what it is by then.
        let current = try administration.connection.current(zone)
        guard current.generation == zone.generation else {
          throw ServerError.generationChanged(zone: zone.name)
        }
        return try body(tables(of: current))
      }
    }

    /// Who waits for a row gets it in turn.
    func giveWay() {}

    func makeRoom() {}
  }

  extension PostgresAdministration {
    package func floor(of zone: ZoneRecord) throws -> UInt64 {
      try told { try PostgresPurgedLog.floor(of: zone, on: connection) }
    }

    package func purgeZone(_ name: String, _ options: PurgeOptions) throws -> PurgeReport {
      try purgeZone(name, options, at: Administration.hostMilliseconds)
    }

    package func purgeZone(
      _ name: String, _ options: PurgeOptions, at host: Int64
    ) throws -> PurgeReport {
      let zone = try told { try existing(name) }
      let logs = PostgresLogs(text, limits: .init())
      defer { logs.close() }
      return try told {
        try connection.patiently {
          try ZonePurge(place: PostgresPurge(self, logs), zone: zone, options: options)
            .run(at: host)
        }
      }
    }
  }
#endif
