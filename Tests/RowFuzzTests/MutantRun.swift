import Foundation
import TestSupport

/// What a program of mutants said, and how it ended.
struct MutantRun {
  let lines: [Substring]
  let errors: String
  let status: Int32
  /// Whether it ended of itself, with nothing wrong.
  let isWhole: Bool

  /// Runs `program`, which lies beside the tests, with a folder of its own as the argument in the place of `folder`.
  static func of(
    _ program: String, _ arguments: (_ folder: URL) -> [String]
  ) async throws -> MutantRun {
    let folder = try TemporaryDirectory()
    let process = Process()
    process.executableURL = ProgramFile.built(program)
    process.arguments = arguments(folder.url)
    let errors = folder.file("errors")
    try Data().write(to: errors)
    let output = Pipe()
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = try FileHandle(forWritingTo: errors)
    let bytes: Data = try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(
          with: Result {
            try process.run()
            let bytes = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return bytes
          })
      }
    }
    return MutantRun(
      lines: String(decoding: bytes, as: UTF8.self).split(separator: "\n"),
      errors: String(decoding: try Data(contentsOf: errors), as: UTF8.self),
      status: process.terminationStatus,
      isWhole: process.terminationStatus == 0 && process.terminationReason == .exit)
  }
}
