import DriftlessProtocol
import Foundation
import TestSupport
import Testing

@Suite struct RoundTripTests {
  private func crossed(_ changeSet: ChangeSet, level: Int32 = 6) throws -> ChangeSet {
    try ChangeSetDecoder().decode(ChangeSetEncoder(compressionLevel: level).encode(changeSet))
  }

  @Test("A change set with every kind of group and column comes back as it was")
  func library() throws {
    let same = try crossed(Samples.library)
    #expect(same.index == Samples.library.index)
    #expect(same.columns == Samples.library.columns)
    #expect(same.header.replica == Samples.replica)
    #expect(same.header.mark == Samples.library.header.mark)
    #expect(same.header.pushNumber == 7)
    #expect(
      same.header.cursor
        == Cursor(generation: Samples.generation, sequence: 41, chain: Samples.chain))
    #expect(same.header.objectCount == 8)
    #expect(same.header.newObjectCount == 4)
  }

  @Test("The index is read without the values, and is the same")
  func indexAlone() throws {
    let frame = try ChangeSetEncoder().encode(Samples.library)
    let (header, index) = try ChangeSetDecoder().decodeIndex(frame)
    #expect(index == Samples.library.index)
    #expect(header == (try ChangeSetDecoder().decodeHeader(frame.prefix(ChangeSetHeader.size))))
    #expect(header.frameSize == frame.count)
  }

  @Test("A slice of a larger buffer decodes like the frame alone")
  func slice() throws {
    let frame = try ChangeSetEncoder().encode(Samples.library)
    let padded = Data([1, 2, 3]) + frame + Data([4])
    let slice = padded.dropFirst(3).dropLast()
    #expect(try ChangeSetDecoder().decode(slice).columns == Samples.library.columns)
  }

  @Test("Equal change sets give equal bytes, at each level", arguments: [0, 1, 6, 9] as [Int32])
  func deterministic(level: Int32) throws {
    let encoder = ChangeSetEncoder(compressionLevel: level)
    let frame = try encoder.encode(Samples.library)
    #expect(try encoder.encode(ChangeSetDecoder().decode(frame)) == frame)
  }

  @Test("Change sets at random come back as they were", arguments: 0..<200 as Range<UInt64>)
  func random(seed: UInt64) throws {
    let changeSet = RandomChangeSet.make(seed: seed)
    let same = try crossed(changeSet, level: seed % 2 == 0 ? 0 : 6)
    #expect(same.index == changeSet.index, "seed \(seed)")
    #expect(same.columns == changeSet.columns, "seed \(seed)")
  }

  @Test("F77 Columns of each kind at random come back bit for bit", arguments: 0..<12)
  func columns(kind: Int) throws {
    var numbers = SeededNumbers(seed: UInt64(kind))
    for rows in [1, 2, 7, 8, 9, 100, 1_000] {
      let column = RandomColumn.make(
        rows: rows, objectCount: rows, kind: kind, hasLarge: true, &numbers)
      var changeSet = Samples.insert(rows)
      changeSet.columns = [column]
      #expect(try crossed(changeSet).columns == [column], "kind \(kind), \(rows) rows")
    }
  }

  @Test("Dates of every origin come back bit for bit")
  func dates() throws {
    let now = Date().timeIntervalSinceReferenceDate
    let columns: [[Double]] = [
      [now, now + 1e-6, now + 3.7],
      (0..<100).map {
        Date(timeIntervalSince1970: 1_790_000_000 + Double($0) / 1e6)
          .timeIntervalSinceReferenceDate
      },
      (0..<100).map { 812_000_000 + Double($0) / 1e6 },
      [now, .nan, -.infinity, -0.0],
      [.greatestFiniteMagnitude, 0], [9_007_199_254.740993, -9_007_199_254.740993],
      [-63_114_076_800, 64_092_211_200],
    ]
    for dates in columns {
      var changeSet = Samples.insert(dates.count)
      changeSet.columns = [Column(.dates(dates))]
      #expect(try crossed(changeSet).columns == changeSet.columns, "\(dates)")
    }
  }

  @Test("F77 A value of 20 MB and an empty one cross")
  func large() throws {
    var changeSet = Samples.insert(2)
    var numbers = SeededNumbers(seed: 1)
    var large = Data(count: 20 << 20)
    large.withUnsafeMutableBytes { bytes in
      for place in stride(from: 0, to: bytes.count, by: 8) {
        bytes.storeBytes(of: numbers.next(), toByteOffset: place, as: UInt64.self)
      }
    }
    var rows = ByteRows()
    rows.append(large)
    rows.append(Data())
    changeSet.columns = [Column(.bytes(rows))]
    guard case .bytes(let same) = try crossed(changeSet).columns[0].values else {
      Issue.record("not binary")
      return
    }
    #expect(same.data(at: 0) == large)
    #expect(same.data(at: 1).isEmpty)
  }

  @Test("A change set of one delete is smaller than 264 bytes")
  func small() throws {
    let changeSet = Samples.touch(.delete, [123_456], [], header: Samples.header())
    #expect(try ChangeSetEncoder().encode(changeSet).count < 264)
  }

  @Test("What compresses too well to be trusted is sent plain, and is read")
  func wellCompressible() throws {
    var changeSet = Samples.insert(1)
    var rows = ByteRows()
    rows.append(Data(count: 8 << 20))
    changeSet.columns = [Column(.bytes(rows))]
    #expect(try crossed(changeSet).columns == changeSet.columns)
  }
}
