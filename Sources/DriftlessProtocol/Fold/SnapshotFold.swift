public import Foundation

/// Adds up a zone's log without knowing its model: a snapshot, and the entries after it, to a newer snapshot.
///
/// ```swift
/// let fold = try SnapshotFold(zone: zoneID, generation: generation, in: folder)
/// for entry in log.entries(after: fold.through) { try fold.append(entry) }
/// let snapshot = try fold.finish()
/// ```
///
/// Memory is bounded by `FoldOptions`, the largest column of a change set and the largest object, whatever the log. What
/// is done is on disk: a fold that was killed is made anew on the same folder and goes on. One fold at a time has a folder;
/// nothing here looks after that.
public final class SnapshotFold {
  /// Where the runs of a fold lie while it is under way.
  private let work: URL
  private let files: any SnapshotFiles
  private let zone: UUID
  private let options: FoldOptions
  private let former: Snapshot?
  private let decoder = ChangeSetDecoder()
  private let tables: FoldTables
  private var keptTables: Int
  private var arena = FoldArena()
  private var checkpoint: FoldCheckpoint
  /// The last entry that was taken in, maybe not on disk so far.
  public private(set) var through: LogMark
  private var nextObject: UInt64
  private var newestTime: UInt64
  private var runs: [FoldCheckpoint.Run]
  private var runCount: Int
  /// Bytes of the entries that were taken in, as the log has them.
  private var logBytes: Int
  private var isPlain: Bool
  /// An entry was not taken in whole: what is in memory is of no use.
  private var isBroken = false

  /// Begins a fold, or goes on with one that was killed.
  ///
  /// - Parameters:
  ///   - zone: The zone's own identity.
  ///   - generation: The life of the log. A snapshot of another one is left behind.
  ///   - folder: The zone's folder, which is made when it is not there.
  ///   - options: What it may take, and what it keeps.
  /// - Throws: `ProtocolError`.
  public convenience init(
    zone: UUID, generation: UUID, in folder: URL, options: FoldOptions = FoldOptions()
  ) throws {
    let work = folder.appendingPathComponent("fold", isDirectory: true)
    try self.init(
      zone: zone, generation: generation, files: SnapshotFolder(folder), work: work,
      options: options)
  }

  /// As in a folder of the zone, for files that lie elsewhere.
  ///
  /// - Parameter work: A folder for what is under way, which is made when it is not there.
  /// - Throws: `ProtocolError`, and what `files` throws.
  package init(
    zone: UUID, generation: UUID, files: any SnapshotFiles, work: URL, options: FoldOptions
  ) throws {
    self.zone = zone
    self.files = files
    self.work = work
    self.options = options
    try FoldFile.makeFolder(work)
    let snapshot = try files.snapshot()
    former = snapshot?.generation == generation ? snapshot : nil
    let start = former?.place ?? Cursor.start(generation: generation).mark
    let fresh = FoldCheckpoint(
      generation: generation, start: start, through: start, nextObject: former?.nextObject ?? 1,
      newestTime: former?.newestTime ?? 0)
    let kept = try? FoldCheckpoint.read(in: work)
    checkpoint = kept?.generation == generation && kept?.start == start ? kept ?? fresh : fresh
    tables = checkpoint == fresh ? FoldTables() : try FoldCheckpoint.tables(in: work)
    keptTables = tables.count
    through = checkpoint.through
    nextObject = checkpoint.nextObject
    newestTime = checkpoint.newestTime
    runs = checkpoint.runs
    runCount = checkpoint.runCount
    logBytes = checkpoint.logBytes
    isPlain = checkpoint.isPlain
    try sweepRuns()
  }

  /// Its log is taken in, and the files are being written: `finish` comes before anything else.
  package var isWriting: Bool { checkpoint.output != nil }

  // MARK: - The log

  /// Takes in the next entry of the log.
  ///
  /// - Throws: `ProtocolError` when the entry does not follow, or cannot be read. In the second case this fold is at its
  ///   end; another one on the folder goes on from what is on disk.
  public func append(_ entry: PullPage.Entry) throws {
    guard !isBroken, checkpoint.output == nil, entry.follows(through), !entry.isOwnHeaderOnly,
      entry.firstObjectNumber == nextObject
    else {
      throw ProtocolError.malformed(
        "Entry \(entry.sequence) does not follow entry \(through.sequence) in the log")
    }
    isBroken = true
    let first = entry.firstObjectNumber
    let header = try decoder.decodeHeader(entry.frame)
    let atoms = try FrameAtoms(
      entry.frame, tables: tables, decoder: decoder
    ) { header, index throws(ProtocolError) in
      let newCount = index.newObjectCount
      var index = index
      index.number(from: first)
      guard
        index.knownNumbers.first ?? 1 > 0, index.knownNumbers.last ?? 0 < first + UInt64(newCount)
      else { throw .malformed("The entry names an object number that was never given out") }
      return .init(
        number: { $0 < newCount ? first + UInt64($0) : index.knownNumbers[$0 - newCount] },
        pushed: { _ in (header.replica, entry.sequence) })
    }
    try atoms.forEachChange { try add($0, $1) }
    try atoms.forEachClaim { try add($0, $1) }
    newestTime = max(newestTime, atoms.newestTime)
    try note(atoms.index, header, entry)
    through = entry.mark
    nextObject = first + UInt64(atoms.index.newObjectCount)
    logBytes += entry.frame.count
    isBroken = false
    guard runs != checkpoint.runs else { return }
    // Where an entry ends, the fold can go on: with all of the entry on the disk.
    try writeRun()
    try keep()
  }

  /// What an entry says of its replica, of transactions and of identities without a number.
  private func note(
    _ index: ChangeSetIndex, _ header: ChangeSetHeader, _ entry: PullPage.Entry
  ) throws {
    try add(.replica(header.replica), .pushed(number: header.pushNumber, entry.mark))
    for transaction in index.transactions where transaction.name != 0 {
      try add(
        .name(transaction.name),
        .told(hybridTime: transaction.hybridTime, isPartial: index.isPartial))
    }
    for covered in index.covered {
      try add(
        .name(covered.name), .told(hybridTime: newestTime, isPartial: covered.isPartial))
    }
    for tombstone in index.tombstones {
      let entity = tables.text(index.entities[tombstone.entity].name)
      try add(
        .tombstone(tombstone.identity),
        .buried(entity: entity, hybridTime: tombstone.hybridTime))
    }
  }

  private func add(_ key: FoldKey, _ atom: FoldAtom) throws {
    arena.append(key, atom)
    if arena.size >= options.runBytes { try writeRun() }
  }

  // MARK: - Runs

  private func writeRun() throws {
    guard !arena.isEmpty else { return }
    arena.sort()
    try write(FoldMerge([ArenaCursor(arena)], pause: options.pause), level: 0)
    arena.removeAll()
    // So many of one level become one of the next.
    while let level = runs.last?.level, runs.count(where: { $0.level == level }) >= options.runsMax
    {
      let parts = runs.filter { $0.level == level }
      let merge = FoldMerge(
        try parts.map { try RunCursor(url(of: $0), checksum: $0.checksum) }, pause: options.pause)
      runs.removeAll { $0.level == level }
      try write(merge, level: level + 1)
    }
  }

  private func write(_ merge: FoldMerge, level: Int) throws {
    runCount += 1
    let name = "run-\(runCount)"
    let (bytes, checksum) = try RunCursor.write(merge, to: work.appendingPathComponent(name))
    isPlain = isPlain && merge.isPlain
    runs.append(.init(name: name, bytes: bytes, checksum: checksum, level: level))
  }

  private func url(of run: FoldCheckpoint.Run) -> URL { work.appendingPathComponent(run.name) }

  /// Writes down how far the fold is, then removes runs that are in others by now.
  private func keep() throws {
    if tables.count != keptTables {
      try FoldCheckpoint.write(tables, in: work)
      keptTables = tables.count
    }
    checkpoint.through = through
    checkpoint.nextObject = nextObject
    checkpoint.newestTime = newestTime
    checkpoint.runs = runs
    checkpoint.runCount = runCount
    checkpoint.logBytes = logBytes
    checkpoint.isPlain = isPlain
    try checkpoint.write(in: work)
    try sweepRuns()
  }

  private func sweepRuns() throws {
    let named = Set(checkpoint.runs.map(\.name))
    for name in try FoldFile.names(in: work) where name.hasPrefix("run-") && !named.contains(name) {
      try FoldFile.remove(work.appendingPathComponent(name))
    }
  }

  // MARK: - The snapshot

  /// Writes the snapshot of all that was taken in. Where nothing was, it is the one that is there.
  ///
  /// - Throws: `ProtocolError`: `.damaged` naming an object number that the log or the snapshot says nothing of.
  public func finish() throws -> Snapshot {
    guard !isBroken else {
      throw ProtocolError.malformed("The entry after \(through.sequence) cannot be added up")
    }
    if let former, checkpoint.output == nil, through == former.place {
      try? FileManager.default.removeItem(at: work)
      return former
    }
    if checkpoint.output == nil {
      try writeRun()
      // The files are written from the runs, one of them in memory at a time.
      arena = FoldArena()
      let isBase = needsBase
      checkpoint.output = .init(
        isBase: isBase,
        isPlain: isPlain && (former?.delta?.isPlain ?? true)
          && (!isBase || former?.base.isPlain ?? true))
      try keep()
    }
    if let output = checkpoint.output, !output.isWhole { try writeFiles(output) }
    let snapshot = try named()
    try files.publish(snapshot)
    try? FileManager.default.removeItem(at: work)
    return snapshot
  }

  /// A delta is put together anew with each fold; the base, once the delta outweighs half of it.
  private var needsBase: Bool {
    guard let former else { return true }
    return checkpoint.logBytes + (former.delta?.bytes ?? 0) > former.base.bytes / 2
  }

  private func merge(isBase: Bool, from start: FoldKey) throws -> FoldMerge {
    var cursors: [any FoldCursor] = []
    if let former {
      for layer in isBase ? [former.base, former.delta] : [former.delta] {
        guard let layer else { continue }
        cursors.append(
          try LayerCursor(layer, of: former, tables: tables, from: start) { [files] in
            try files.bytes(of: $0)
          })
      }
    }
    for run in runs { cursors.append(try RunCursor(url(of: run), checksum: run.checksum)) }
    return FoldMerge(cursors, pause: options.pause)
  }

  /// Writes the files of the layer from where it stands.
  private func writeFiles(_ output: FoldCheckpoint.Output) throws {
    let merge = try merge(isBase: output.isBase, from: output.key)
    let writer = LayerWriter(
      zone: zone, place: through, generation: checkpoint.generation, isBase: output.isBase,
      firstBorn: output.isBase ? 1 : former?.base.nextObject ?? 1, nextObject: nextObject,
      namesFrom: options.namesForgotten(newest: newestTime), tables: tables, options: options,
      files: files)
    try writer.write(merge, from: output.key, output) { output in
      checkpoint.output = output
      try checkpoint.write(in: work)
    }
  }

  private func named() throws -> Snapshot {
    let layer = Snapshot.Layer(
      place: through, nextObject: nextObject, files: checkpoint.output?.files ?? [],
      isPlain: checkpoint.output?.isPlain ?? true)
    let isBase = checkpoint.output?.isBase ?? true
    return Snapshot(
      zoneID: zone, generation: checkpoint.generation, newestTime: newestTime,
      base: isBase ? layer : former?.base ?? layer, delta: isBase ? nil : layer,
      former: former?.files.map(\.name) ?? [])
  }
}
