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

  /// A pipe of which this has both ends.
  private func pipe(
    isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) throws -> (bytes: ImportPipe, writer: FileHandle) {
    let pipe = Pipe()
    return (
      try ImportPipe(pipe.fileHandleForReading, isInterrupted: isInterrupted),
      pipe.fileHandleForWriting
    )
  }

  @Test("A pipe gives each line when it comes, and not at its end", arguments: [1, 16, 1 << 18])
  func streamed(length: Int) throws {
    let (source, writer) = try pipe()
    try writer.write(contentsOf: Data((line("1") + "\n" + line("2") + "\n{\"op\":").utf8))
    var reader = try LineReader(ImportBytes(source, pieceBytes: length))
    #expect(try reader.next()?.number == 1)
    let again = reader
    #expect(try reader.next()?.number == 2)
    try writer.write(contentsOf: Data("\"save\"}\n".utf8))
    #expect(try reader.next()?.number == 3)
    var copy = again
    #expect(try copy.next()?.number == 2)
    #expect(try copy.next()?.number == 3)
    try writer.write(contentsOf: Data(line(String(repeating: "x", count: 50_000)).utf8))
    try writer.close()
    #expect(try reader.next()?.number == 4)
    #expect(try reader.next() == nil)
  }

  @Test("What was saved of a pipe takes no room, and the rest is read on")
  func forgotten() throws {
    let (source, writer) = try pipe()
    let thread = Thread { [line = line(String(repeating: "x", count: 10_000))] in
      for _ in 0..<400 { try? writer.write(contentsOf: Data((line + "\n").utf8)) }
      try? writer.close()
    }
    thread.start()
    var reader = try LineReader(ImportBytes(source))
    for number in 1...400 {
      #expect(try reader.next()?.number == number)
      reader.forgetRead()
    }
    #expect(try reader.next() == nil)
    var status = stat()
    #expect(fstat(source.kept.fileDescriptor, &status) == 0)
    #expect(status.st_blocks * 512 < 2 << 20, "\(status.st_blocks)")
  }

  @Test("Who waits for a pipe can be interrupted")
  func interrupted() throws {
    let (source, writer) = try pipe { true }
    defer { try? writer.close() }
    let error = #expect(throws: ImportError.self) { try LineReader(ImportBytes(source)) }
    #expect(error?.isInterrupted == true)
  }
}
