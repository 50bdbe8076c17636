import Foundation
import TestSupport
import Testing

@testable import SyncControl

/// A file is read a piece at a time, and gives the lines that it gives in memory.
@Suite struct ImportBytesTests {
  private func lines(_ bytes: ImportBytes) throws -> [ImportLine] {
    var reader = try LineReader(bytes)
    var lines: [ImportLine] = []
    while let line = try reader.next() { lines.append(line) }
    return lines
  }

  private func line(_ id: String) -> String { #"{"op":"delete","entity":"E","id":"\#(id)"}"# }

  @Test(
    "Pieces of any length give the same lines, with their numbers",
    arguments: [1, 2, 3, 7, 40, 41, 42, 100, 1 << 20])
  func pieces(length: Int) throws {
    let directory = try TemporaryDirectory()
    let long = String(repeating: "x", count: 300)
    for (text, count) in [
      ("", 0), ("\n", 0), ("\n\n", 0), (line("1"), 1), (line("1") + "\n", 1),
      ("\u{FEFF}" + line("1") + "\r\n\n" + line("2"), 2),
      ([line(long), "", " ", line("2"), line(long)].joined(separator: "\n"), 3),
    ] {
      let file = directory.file("lines")
      try Data(text.utf8).write(to: file)
      let handle = try FileHandle(forReadingFrom: file)
      let expected = try lines(ImportBytes(Data(text.utf8)))
      #expect(try lines(ImportBytes(handle, pieceBytes: length)) == expected)
      #expect(expected.count == count)
    }
  }

  @Test("A copy of a reader reads again from where it was made")
  func again() throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("lines")
    try Data((1...50).map { line("\($0)") }.joined(separator: "\n").utf8).write(to: file)
    var reader = try LineReader(
      ImportBytes(FileHandle(forReadingFrom: file), pieceBytes: 64))
    for _ in 1...10 { _ = try reader.next() }
    var copy = reader
    let first = try copy.next()
    while try copy.next() != nil {}
    #expect(try reader.next() == first)
    #expect(first?.number == 11)
  }

  @Test("A file that gets shorter meanwhile ends where it ends")
  func shorter() throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("lines")
    try Data((1...50).map { line("\($0)") + "\n" }.joined().utf8).write(to: file)
    let handle = try FileHandle(forUpdating: file)
    var reader = try LineReader(ImportBytes(handle, pieceBytes: 64))
    _ = try reader.next()
    try handle.truncate(atOffset: UInt64(line("1").utf8.count + 1) * 2)
    var count = 1
    while try reader.next() != nil { count += 1 }
    #expect(count < 5)
  }

  @Test("What cannot be read is an error with the line")
  func unreadable() throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("lines")
    try Data().write(to: file)
    let handle = try FileHandle(forWritingTo: file)
    #expect(throws: ImportError.self) { try LineReader(ImportBytes(handle)) }
  }
}
