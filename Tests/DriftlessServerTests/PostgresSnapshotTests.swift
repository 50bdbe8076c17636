#if PostgreSQL
  import DriftlessProtocol
  import DriftlessStorageConformance
  import Foundation
  import Logging
  import TestSupport
  import Testing

  @testable import DriftlessServer

  /// What befalls a fold whose files lie in a database that others use.
  @Suite("Snapshots in PostgreSQL")
  struct PostgresSnapshotTests {
    private let world: PostgresWorld

    init() throws { world = try PostgresWorld(nodes: 0) }

    private func storage() throws -> PostgresZoneStorage {
      try PostgresZoneStorage(database: world.database)
    }

    private var zone: ZoneRecord { get throws { try world.zone } }

    /// Pushes of one replica, each of some boxes.
    private func push(_ counts: Int..., to storage: PostgresZoneStorage) async throws {
      var boxes = BoxReplica(try world.zone)
      for count in counts { _ = try await storage.append(boxes.insert(count), to: zone) }
    }

    /// Folds, and does something before it reads its last page.
    private func fold(before last: @escaping () throws -> Void) throws -> Snapshot {
      let logs = PostgresLogs(world.database, limits: .init())
      defer { logs.close() }
      let zone = try world.zone
      var isDone = false
      return try logs.fold(zone, options: FoldOptions()) { place in
        let entries = try logs.entries(
          of: zone, PageRequest(after: place, bytesMax: 1 << 20, entriesMax: 100))
        if entries.isEmpty, !isDone {
          isDone = true
          try last()
        }
        return entries
      }
    }

    /// As if whoever folds had been away for long.
    private func endLease() throws {
      try world.cluster.execute(
        "UPDATE folding SET ends = clock_timestamp() - interval '1 second'", on: world.database)
    }

    @Test("One folds a zone at a time; another takes over from one that is dead")
    func lease() async throws {
      let storage = try storage()
      defer { storage.close() }
      try await push(10, 20, to: storage)
      var taken: Snapshot?
      let first = Result {
        try fold {
          #expect(throws: ServerError.self) { try world.administration.foldZone("shop") }
          try endLease()
          taken = try world.administration.foldZone("shop")
        }
      }
      let taken2 = try #require(taken)
      #expect(taken2.place.sequence == 2)
      #expect { try first.get() } throws: { ($0 as? ServerError)?.code == .locked }
      #expect(try await storage.snapshot(of: zone) == taken2)
      // Let go of, it is free at once.
      #expect(try world.administration.foldZone("shop") == taken2)
    }

    @Test(
      "A zone that is deleted or renewed while it is folded has nothing of it afterwards",
      arguments: [true, false])
    func goneMeanwhile(isDeleted: Bool) async throws {
      let storage = try storage()
      defer { storage.close() }
      try await push(10, to: storage)
      _ = try world.administration.foldZone("shop")
      try await push(10, to: storage)
      let folded = Result {
        try fold {
          if isDeleted {
            try world.administration.deleteZone("shop")
          } else {
            _ = try world.administration.renewZone("shop", intent: .replace)
          }
        }
      }
      #expect(throws: ServerError.self) { try folded.get() }
      for table in PostgresSchema.tablesOfSnapshot {
        #expect(try world.count(table) == 0, "\(table)")
      }
    }

    @Test("A file that is not as it was written is made anew by who reads it")
    func damage() async throws {
      let storage = try storage()
      defer { storage.close() }
      try await push(100, to: storage)
      let whole = try world.administration.foldZone("shop")
      try world.cluster.execute("UPDATE segment SET content = 'other'::bytea", on: world.database)
      storage.beginFolding(logger: Logger(label: "folding"), trimsMemory: {})
      _ = try await storage.madeDigests(of: zone, at: whole.place)
      #expect(try await storage.snapshot(of: zone)?.files == whole.files)
      let piece = try await storage.segment(
        whole.files[0].name, of: zone, first: 0, count: 1 << 20)
      #expect(piece.map { Snapshot.name(of: $0) } == whole.files[0].name)
      // A list that cannot be read is none.
      try world.cluster.execute("UPDATE snapshot SET manifest = 'other'::bytea", on: world.database)
      #expect(try await storage.snapshot(of: zone) == nil)
      #expect(try world.administration.foldZone("shop").files == whole.files)
    }

    @Test("A snapshot of a log that the database has no more is nobody's")
    func putBack() async throws {
      let storage = try storage()
      defer { storage.close() }
      try await push(10, 10, to: storage)
      let before = try await storage.place(at: 1, of: zone)
      try await push(10, to: storage)
      _ = try world.administration.foldZone("shop")
      try world.cluster.execute(
        """
        UPDATE zone SET head = 1, next_object = 11,
          chain = (SELECT chain FROM log WHERE log.zone = zone.id AND sequence = 1);
        DELETE FROM log WHERE sequence > 1; DELETE FROM identity WHERE number > 10;
        """, on: world.database)
      #expect(try await storage.snapshot(of: zone) == nil)
      try await push(5, 5, 5, to: storage)
      #expect(try await storage.snapshot(of: zone) == nil, "another log has those numbers now")
      let folded = try world.administration.foldZone("shop")
      #expect(folded.place.sequence == 4 && folded.nextObject == 26)
      #expect(try await storage.snapshot(of: zone) == folded)
      #expect(before.sequence == 1)
    }

    @Test("Another node answers a part of digests that it has not made itself")
    func nodes() async throws {
      let nodes = [try storage(), try storage()]
      defer { for node in nodes { node.close() } }
      for node in nodes { node.beginFolding(logger: Logger(label: "folding"), trimsMemory: {}) }
      try await push(10, to: nodes[0])
      let zone = try world.zone
      let place = LogMark(sequence: zone.head, chain: zone.chain)
      _ = try await nodes[0].madeDigests(of: zone, at: place)
      let part = DigestPart.ranges(0..<1, columns: [0, 1])
      let own = try await nodes[0].digests(part, of: zone, at: place)
      #expect(try await nodes[1].digests(part, of: zone, at: place) == own)
    }

    @Test("A fold whose connection is cut goes on with another")
    func cut() async throws {
      let storage = try storage()
      defer { storage.close() }
      try await push(10, to: storage)
      let folded = try fold {
        try world.cluster.execute(
          """
          SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE query LIKE '%log.first_object%' AND pid <> pg_backend_pid()
          """, on: world.database)
      }
      #expect(folded.place.sequence == 1)
      #expect(try await storage.snapshot(of: zone) == folded)
    }

    @Test("A database whose disk is full keeps the snapshot that it has, and gives the room back")
    func full() async throws {
      let storage = try storage()
      defer { storage.close() }
      try await push(10, to: storage)
      let before = try world.administration.foldZone("shop")
      let there = try world.count("segment")
      try await push(10, to: storage)
      try world.cluster.execute(
        """
        CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF (SELECT count(*) FROM segment WHERE zone = NEW.zone) > \(there) THEN
            RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END IF;
          RETURN NEW; END $$;
        CREATE TRIGGER full_disk BEFORE INSERT ON segment
          FOR EACH ROW EXECUTE FUNCTION full_disk();
        """, on: world.database)
      #expect {
        try world.administration.foldZone("shop")
      } throws: {
        ($0 as? ServerError)?.code == .diskFull
      }
      #expect(try world.count("segment") == there)
      #expect(try await storage.snapshot(of: zone) == before)
      try world.cluster.execute("DROP TRIGGER full_disk ON segment", on: world.database)
      #expect(try world.administration.foldZone("shop").place.sequence == 2)
    }

    @Test("What a fold had done goes with it, also when its process was killed")
    func scratch() throws {
      let killed: URL
      do {
        let scratch = try FoldScratch()
        killed = scratch.work.deletingLastPathComponent()
        try FileManager.default.createDirectory(at: scratch.work, withIntermediateDirectories: true)
        let other = try FoldScratch()
        #expect(FileManager.default.fileExists(atPath: scratch.work.path), "it is in use")
        other.remove()
        #expect(!FileManager.default.fileExists(atPath: other.work.path))
      }
      #expect(FileManager.default.fileExists(atPath: killed.path))
      try FoldScratch().remove()
      #expect(!FileManager.default.fileExists(atPath: killed.path))
    }
  }
#endif
