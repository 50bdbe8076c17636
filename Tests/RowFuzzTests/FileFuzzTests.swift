import Foundation
import TestSupport
import Testing

/// Models, archives, format strings, binary stores, stores, files beside them and stores that are migrated, changed at random: nothing traps, hangs or takes all memory.
///
/// The mutants are made in processes of their own (`Tests/FileFuzz`). `DRIFTLESS_FILE_SEEDS=FIRST-LAST` takes other seeds than the
/// usual ones.
@Suite(.serialized) struct FileFuzzTests {
  private static let seeds: ClosedRange<UInt64>? = {
    let text = ProcessInfo.processInfo.environment["DRIFTLESS_FILE_SEEDS"] ?? ""
    let bounds = text.split(separator: "-").compactMap { UInt64($0) }
    guard let first = bounds.first, let last = bounds.last, first <= last else { return nil }
    return first...last
  }()

  @Test(
    "Mutants of models, archives, format strings, stores and what lies beside them: no trap, no hang, no more than 200 MB",
    arguments: [
      ("model", 1_000), ("archive", 600), ("format", 400), ("grammar", 400),
      ("predicate", 600), ("binary", 400), ("store", 150),
      ("side", 150), ("migration", 150),
    ])
  func mutants(kind: String, count: UInt64) async throws {
    let seeds = Self.seeds ?? 1...count
    var first = seeds.lowerBound
    while first <= seeds.upperBound {
      let outcome = try await Self.run(kind, first...seeds.upperBound)
      for line in outcome.wrong { Issue.record("\(kind) \(line)") }
      guard let last = outcome.ended else { break }
      Issue.record("\(kind): seed \(last) ended the process with \(outcome.status)")
      first = last + 1
    }
  }

  private struct Outcome {
    var wrong: [String] = []
    /// The seed that ended the process.
    var ended: UInt64?
    var status: Int32 = 0
  }

  private static func run(_ kind: String, _ seeds: ClosedRange<UInt64>) async throws -> Outcome {
    let folder = try TemporaryDirectory()
    let process = Process()
    process.executableURL = program
    process.arguments = [kind, folder.url.path, "\(seeds.lowerBound)", "\(seeds.count)", data.path]
    let output = Pipe()
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    let bytes: Data = try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        do {
          try process.run()
          let bytes = output.fileHandleForReading.readDataToEndOfFile()
          process.waitUntilExit()
          continuation.resume(returning: bytes)
        } catch {
          continuation.resume(throwing: error)
        }
      }
    }
    var outcome = Outcome(status: process.terminationStatus)
    var last = seeds.lowerBound
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      if line.hasPrefix("seed ") { last = UInt64(line.dropFirst(5)) ?? last }
      if line.hasPrefix("wrong ") { outcome.wrong.append(String(line)) }
    }
    if process.terminationStatus != 0 || process.terminationReason != .exit { outcome.ended = last }
    withExtendedLifetime(folder) {}
    return outcome
  }

  /// Real files, where they lie beside the package.
  private static let data = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("shared/data")

  /// Beside the tests, where it was built.
  private static let program: URL = {
    var url = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    while url.pathComponents.count > 1 {
      url.deleteLastPathComponent()
      let program = url.appendingPathComponent("filefuzz")
      if FileManager.default.isExecutableFile(atPath: program.path) { return program }
    }
    return url
  }()
}
