import DriftlessProtocol
import DriftlessStorageConformance
import Foundation
import Testing

@testable import DriftlessServer

/// Portions of a log that is purged where there is no room for all of it at once.
struct LogOutlineTests {
  private struct Entry {
    let sequence: UInt64
    let bytes: Int64
    let madeAt: UInt64
  }

  @Test(
    "A portion is the largest behind which nothing was made at the floor, whatever is read at one time",
    arguments: [1, 3, 7, 1000])
  func portions(blockEntries: UInt64) async throws {
    let test = try TestZone()
    var maker = FrameMaker(try await test.zone())
    let reader = PushReader(limits: .init())
    for number in 0..<24 as Range<UInt64> {
      // Some are far behind.
      let place = number - min(number, [0, 1, 0, 5, 2, 0, 0, 9][Int(number % 8)])
      if place > 0 {
        let mark = try await test.place(at: place)
        maker.cursor = Cursor(
          generation: maker.cursor.generation, sequence: place, chain: mark.chain)
      }
      let push = try reader.read(maker.insert(1 + Int(number % 5) * 10))
      _ = try await test.storage.append(push, to: test.zone())
    }
    let administration = try Administration(folder: test.folder)
    defer { administration.close() }
    let zone = try await test.zone()
    let tables = FolderPurge(administration: administration).tables(of: zone)
    var entries: [Entry] = []
    try tables.forEachHeader(after: 0) { sequence, header in
      let header = try ChangeSetDecoder().decodeHeader(header)
      entries.append(
        Entry(
          sequence: sequence, bytes: try tables.sum(after: sequence - 1, through: sequence).bytes,
          madeAt: header.cursor.sequence))
      return true
    }
    entries.reverse()
    try #require(entries.map(\.sequence) == Array(1...24))
    let outline = try LogOutline(tables, after: 0, entries: blockEntries)
    for floor in 0..<23 as Range<UInt64> {
      for bytes in stride(from: Int64(0), through: 20_000, by: 500) {
        let found = try outline.portion(after: floor, bytesMax: bytes, tables)
        let expected = Self.portion(of: entries, after: floor, bytesMax: bytes)
        #expect(found?.last == expected?.last, "after \(floor), \(bytes) bytes")
        #expect(found?.lowestBehind == expected?.lowest, "after \(floor), \(bytes) bytes")
      }
    }
  }

  private static func portion(
    of entries: [Entry], after floor: UInt64, bytesMax: Int64
  ) -> (last: UInt64, lowest: UInt64)? {
    var fitting: [UInt64] = []
    var bytes: Int64 = 0
    for entry in entries where entry.sequence > floor {
      bytes += entry.bytes
      guard bytes <= bytesMax else { break }
      fitting.append(entry.sequence)
    }
    for last in fitting.reversed() {
      let lowest = entries.filter { $0.sequence > last }.map(\.madeAt).min() ?? .max
      if lowest > floor { return (last, lowest) }
    }
    return nil
  }
}

/// Names of zones that wait to be folded.
struct NameLineTests {
  @Test("Each waits once, in the order in which they came, but for one that is put first")
  func order() {
    var line = NameLine()
    for name in ["a", "b", "a", "c"] { line.append(name) }
    #expect(line.removeFirst() == "a")
    line.append("a")
    line.putFirst("d")
    line.putFirst("c")
    #expect((0..<4).map { _ in line.removeFirst() } == ["d", "b", "c", "a"])
    #expect(line.isEmpty && line.removeFirst() == nil)
    line.putFirst("e")
    #expect(!line.isEmpty && line.removeFirst() == "e" && line.isEmpty)
  }
}
