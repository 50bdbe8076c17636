import Foundation
import TestSupport
import Testing

@testable import DriftlessProtocol

/// A log added up without its model.
struct FoldTests {
  /// Limits that make a few entries many runs and many files.
  private static var small: FoldOptions {
    var options = FoldOptions()
    options.runBytes = 4_000
    options.runsMax = 3
    options.segmentBytes = 3_000
    options.compressionLevel = 1
    return options
  }

  private func fold(
    _ entries: some Sequence<PullPage.Entry>, in folder: URL, _ options: FoldOptions = Self.small
  ) throws -> Snapshot {
    let fold = try SnapshotFold(
      zone: Samples.imported, generation: Samples.generation, in: folder, options: options)
    for entry in entries where entry.sequence > fold.through.sequence { try fold.append(entry) }
    return try fold.finish()
  }

  private func expectEqual(
    _ snapshot: Snapshot, _ entries: [PullPage.Entry], in folder: URL, _ seed: UInt64,
    at location: SourceLocation = #_sourceLocation
  ) throws {
    let folded = try SnapshotText.lines(of: snapshot, in: folder)
    let replayed = try LogReplay(entries).lines
    let difference = zip(folded, replayed).first { $0 != $1 }
    #expect(
      folded == replayed, "seed \(seed): \(difference.map { "\($0)\nfor\n\($1)" } ?? "length")",
      sourceLocation: location)
    #expect(snapshot.place == entries.last?.mark, sourceLocation: location)
  }

  @Test("A fold says what the log says, whatever its runs and files", arguments: 0..<30)
  func equalsReplay(seed: Int) throws {
    var log = RandomLog(seed: UInt64(seed))
    try log.grow(by: 1 + seed % 40)
    let entries = try log.entries
    for options in [Self.small, FoldOptions()] {
      let folder = try TemporaryDirectory()
      let snapshot = try fold(entries, in: folder.url, options)
      try expectEqual(snapshot, entries, in: folder.url, UInt64(seed))
    }
  }

  @Test("A fold that goes on from a fold is the fold of all, byte for byte")
  func foldOfFolds() throws {
    let compared = try (100..<130).count { try expectFoldOfFolds($0) }
    #expect(compared >= 5, "the others end with a delta, whose files are cut elsewhere")
  }

  /// - Returns: whether it ended without a delta, and was compared with a fold of all.
  private func expectFoldOfFolds(_ seed: Int) throws -> Bool {
    var numbers = SeededNumbers(seed: UInt64(seed))
    var log = RandomLog(seed: UInt64(seed))
    let folder = try TemporaryDirectory()
    var last: Snapshot?
    for _ in 0...numbers.number(below: 6) {
      try log.grow(by: 1 + numbers.number(below: 15))
      let snapshot = try fold(log.entries, in: folder.url)
      try expectEqual(snapshot, log.entries, in: folder.url, UInt64(seed))
      last = snapshot
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
    let kept = Set((last?.files.map(\.name) ?? []) + (last?.former ?? []))
    #expect(
      names.count { $0.hasSuffix(".segment") } == kept.count, "seed \(seed): nothing else is left")
    guard last?.delta == nil else { return false }
    let other = try TemporaryDirectory()
    #expect(try fold(log.entries, in: other.url).base == last?.base, "seed \(seed)")
    return true
  }

  @Test("A fold that was stopped goes on, and comes to the same bytes", arguments: 200..<215)
  func resumed(seed: Int) throws {
    var numbers = SeededNumbers(seed: UInt64(seed))
    var log = RandomLog(seed: UInt64(seed))
    try log.grow(by: 25)
    let entries = try log.entries
    let whole = try TemporaryDirectory()
    let expected = try fold(entries, in: whole.url)
    let folder = try TemporaryDirectory()
    var reached: [UInt64] = []
    for _ in 0..<4 {
      let part = try SnapshotFold(
        zone: Samples.imported, generation: Samples.generation, in: folder.url, options: Self.small)
      reached.append(part.through.sequence)
      for entry in entries.dropFirst(Int(part.through.sequence)).prefix(
        2 + numbers.number(below: 9))
      {
        try part.append(entry)
      }
    }
    #expect(reached == reached.sorted())
    #expect((reached.last ?? 0) > 0, "what was done stays done")
    #expect(try fold(entries, in: folder.url) == expected)
  }

  @Test("A fold takes up the files that one before it wrote", arguments: 300..<305)
  func resumedWriting(seed: Int) throws {
    var log = RandomLog(seed: UInt64(seed))
    try log.grow(by: 30)
    let entries = try log.entries
    let whole = try TemporaryDirectory()
    let expected = try fold(entries, in: whole.url)
    // Each file of the layer in turn cannot be written: a folder has its name.
    for file in expected.files {
      let folder = try TemporaryDirectory()
      let obstacle = Snapshot.url(of: file.name, in: folder.url)
      try FileManager.default.createDirectory(
        at: obstacle.appendingPathComponent("x"), withIntermediateDirectories: true)
      #expect(throws: ProtocolError.self) { try fold(entries, in: folder.url) }
      try FileManager.default.removeItem(at: obstacle)
      let again = try SnapshotFold(
        zone: Samples.imported, generation: Samples.generation, in: folder.url, options: Self.small)
      #expect(again.through == entries.last?.mark, "the log is not read again")
      #expect(try again.finish() == expected)
    }
  }

  @Test("A hot object costs its state, not its past")
  func hotObject() throws {
    var zone = ZoneLog(name: "shop", generation: Samples.generation)
    let folder = try TemporaryDirectory()
    var options = Self.small
    options.namesKeptMilliseconds = 1_000
    for number in 0..<1_500 {
      var set =
        number == 0
        ? Samples.insert(1) : Samples.touch(.update, [1], ["count"], header: Samples.header())
      set.header = Samples.header(pushNumber: UInt64(number) + 1, cursor: zone.head)
      set.index.transactions[0].name = UInt64(number) + 1
      set.index.transactions[0].hybridTime = UInt64(number * 100 + 1) << 16
      _ = try zone.append(
        try ChangeSetEncoder().encode(set.placed(in: zone)), nowMilliseconds: 0)
    }
    let page = try zone.page(
      PullRequest(
        cursor: .start(generation: zone.generation), maxBytes: .max, waitSeconds: 0,
        replica: Samples.minted, ownThrough: 0), nowMilliseconds: 0)
    let snapshot = try fold(page.entries, in: folder.url, options)
    #expect(snapshot.bytes < 3_000)
    let lines = try SnapshotText.lines(of: snapshot, in: folder.url)
    #expect(lines.count { $0.hasPrefix("name ") } == 11, "the last second's")
    #expect(lines[0].contains("in 1500"))
  }

  @Test("A number that is neither alive nor dead stops the fold with its name")
  func missingNumber() throws {
    var log = RandomLog(seed: 7)
    try log.grow(by: 25)
    let folder = try TemporaryDirectory()
    var snapshot = try fold(log.entries, in: folder.url)
    let objects = snapshot.base.files.filter { $0.content == .objects }
    try #require(objects.count > 2)
    snapshot.base.files.removeAll { $0 == objects[1] }
    let error = #expect(throws: ProtocolError.self) {
      try SnapshotText.lines(of: snapshot, in: folder.url)
    }
    #expect(error?.message.contains("object \(objects[1].first) neither") == true)
  }

  @Test("A file that is not as it was written is found by its name")
  func damagedFile() throws {
    var log = RandomLog(seed: 8)
    try log.grow(by: 10)
    let folder = try TemporaryDirectory()
    let snapshot = try fold(log.entries, in: folder.url)
    let file = Snapshot.url(of: snapshot.files[0].name, in: folder.url)
    var data = try Data(contentsOf: file)
    data[data.count - 1] ^= 1
    try data.write(to: file)
    let error = #expect(throws: ProtocolError.self) {
      try SnapshotText.lines(of: snapshot, in: folder.url)
    }
    #expect(error?.message.contains(file.lastPathComponent) == true)
  }

  @Test("An entry that does not follow is refused")
  func gap() throws {
    var log = RandomLog(seed: 9)
    try log.grow(by: 3)
    let folder = try TemporaryDirectory()
    let fold = try SnapshotFold(
      zone: Samples.imported, generation: Samples.generation, in: folder.url)
    try fold.append(log.entries[0])
    #expect(throws: ProtocolError.self) { try fold.append(log.entries[2]) }
    try fold.append(log.entries[1])
    #expect(fold.through.sequence == 2)
  }

  @Test(
    "Values of an unknown kind that do not tell their rows are an error that names the property")
  func opaqueColumn() throws {
    var zone = ZoneLog(name: "shop", generation: Samples.generation)
    var set = Samples.insert(2, header: Samples.header(pushNumber: 1, cursor: 0))
    // Kind 99 with a field that no known kind has.
    let message = Data([0x08, 99, 0x22, 2, 0, 0, 0xa0, 1, 7])
    set.columns = [Column(.unknown(UnknownColumn(count: 2, kind: 99, message: message)))]
    _ = try zone.append(try ChangeSetEncoder().encode(set.placed(in: zone)), nowMilliseconds: 0)
    let page = try zone.page(
      PullRequest(
        cursor: .start(generation: zone.generation), maxBytes: .max, waitSeconds: 0,
        replica: Samples.minted, ownThrough: 0), nowMilliseconds: 0)
    let folder = try TemporaryDirectory()
    let error = #expect(throws: ProtocolError.self) { try fold(page.entries, in: folder.url) }
    #expect(error?.code == .unsupported)
    #expect(error?.message.contains("title") == true)
  }
}
