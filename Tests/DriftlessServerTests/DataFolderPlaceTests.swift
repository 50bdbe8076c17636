import Foundation
import TestSupport
import Testing

@testable import DriftlessServer

/// A file where a server's folder is meant.
struct DataFolderPlaceTests {
  @Test("A file in the place of the data folder, or on the way to it, is named, with what would do")
  func file() throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("data")
    try Data("x".utf8).write(to: file)
    for (url, text) in [
      (file, "\(file.path) is a file"),
      (file.appendingPathComponent("below"), "is a file, and no folder"),
    ] {
      for open in [
        { _ = try DataFolder(url) }, { _ = try DataFolder.toServe(url) },
        { _ = try DataFolder.look(at: url) },
      ] as [() throws -> Void] {
        let error = #expect(throws: ServerError.self) { try open() }
        #expect(error?.message.contains(text) == true, "\(error as Any)")
        #expect(error?.suggestion.hasPrefix("Name a folder") == true)
      }
    }
  }

  #if PostgreSQL
    @Test("What libpq says in several lines is one line")
    func lines() {
      #expect(
        "connection failed: refused\n\tIs the server running?\n".inOneLine
          == "connection failed: refused Is the server running?")
    }
  #endif
}
