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
    let run = try await MutantRun.of("filefuzz") { folder in
      [kind, folder.path, "\(seeds.lowerBound)", "\(seeds.count)", SharedData.folder.path]
    }
    var outcome = Outcome(status: run.status)
    var last = seeds.lowerBound
    for line in run.lines {
      if line.hasPrefix("seed ") { last = UInt64(line.dropFirst(5)) ?? last }
      if line.hasPrefix("wrong ") { outcome.wrong.append(String(line)) }
    }
    if !run.isWhole { outcome.ended = last }
    return outcome
  }
}
