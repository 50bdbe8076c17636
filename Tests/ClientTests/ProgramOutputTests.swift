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

  @Test(
    "A name that an object has twice is found, however it is written",
    arguments: [
      (#"{"a": 1, "b": 2, "a": 3}"#, "a"), (#"{"a": 1, "\u0061": 3}"#, "a"),
      (#"{"x": [{"b": 1}, {"b": 2}], "y": {"b": 3}}"#, nil),
      (#"{"x": {"b": 1, "c": "b", "b" : 2}}"#, "b"), (#"{"a": "\"a\":", "c": ["a", "a"]}"#, nil),
      ("no json", nil), (#"{"open"#, nil), (#"["\"#, nil), ("", nil), ("}]", nil),
    ] as [(String, String?)])
  func repeated(text: String, name: String?) {
    #expect(RepeatedName.first(in: Data(text.utf8)) == name)
  }
}
