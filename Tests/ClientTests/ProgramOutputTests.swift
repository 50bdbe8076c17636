import Foundation
import ProgramStart
import Testing

@Suite struct ProgramOutputTests {
  @Test("A full disk is told from a reader that went away")
  func failures() throws {
    let full = open("/dev/full", O_WRONLY)
    defer { close(full) }
    let unwritten = try #require(throws: UnwrittenOutput.self) {
      try ProgramOutput.write(Data("text".utf8), to: full)
    }
    #expect(!unwritten.isReaderGone)
    #expect(unwritten.message.contains("No space left"))
    signal(SIGPIPE, SIG_IGN)
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    close(ends[0])
    let gone = try #require(throws: UnwrittenOutput.self) {
      try ProgramOutput.write(Data("text".utf8), to: ends[1])
    }
    close(ends[1])
    #expect(gone.isReaderGone)
  }
}
