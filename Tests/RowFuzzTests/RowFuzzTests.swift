import Foundation
import TestSupport
import Testing

/// Rows of every table of a store, changed at random: whatever they say, nothing traps, hangs or takes all memory, and where
/// a rule is broken, the check of the store says so.
///
/// The mutants are made in processes of their own (`Tests/RowFuzz`). `DRIFTLESS_ROW_SEEDS=FIRST-LAST` takes other seeds than
/// the usual ones, and one seed alone gives a failure again.
@Suite(.serialized) struct RowFuzzTests {
  /// How many seeds there are: of three, one changes nothing, or what the file itself refuses.
  private static let seeds: Range<UInt64> = {
    let text = ProcessInfo.processInfo.environment["DRIFTLESS_ROW_SEEDS"] ?? ""
    let bounds = text.split(separator: "-").compactMap { UInt64($0) }
    guard let first = bounds.first, let last = bounds.last, first <= last else { return 1..<15_001 }
    return first..<last + 1
  }()
  /// Seeds of one process: what it made before is part of what it does.
  private static let batch: UInt64 = 1_000

  @Test("Ten thousand mutants of rows: no trap, no hang, and the check names the damage")
  func mutants() async throws {
    let bounds = stride(
      from: Self.seeds.lowerBound, to: Self.seeds.upperBound, by: UInt64.Stride(Self.batch))
    let batches = bounds.map { $0..<min($0 + Self.batch, Self.seeds.upperBound) }
    var total = 0
    try await withThrowingTaskGroup(of: Int.self) { group in
      var rest = batches[...]
      for _ in 0..<2 {
        if let next = rest.popFirst() { group.addTask { try await Self.run(next) } }
      }
      while let count = try await group.next() {
        total += count
        if let next = rest.popFirst() { group.addTask { try await Self.run(next) } }
      }
    }
    if Self.seeds.count >= 15_000 { #expect(total >= 10_000) }
  }

  /// Runs seeds; after one that ends the process, goes on with the next.
  ///
  /// - Returns: how many mutants there were.
  private static func run(_ seeds: Range<UInt64>) async throws -> Int {
    var first = seeds.lowerBound
    var mutants = 0
    while first < seeds.upperBound {
      let outcome = try await process(first..<seeds.upperBound)
      mutants += outcome.mutants
      for line in outcome.wrong { Issue.record("\(line)") }
      guard let last = outcome.ended else { break }
      Issue.record("seed \(last) ended the process with \(outcome.status): \(outcome.error)")
      first = last + 1
    }
    return mutants
  }

  private struct Outcome {
    var mutants = 0
    var wrong: [String] = []
    /// The seed that ended the process.
    var ended: UInt64?
    var status: Int32 = 0
    var error = ""
  }

  private static func process(_ seeds: Range<UInt64>) async throws -> Outcome {
    let run = try await MutantRun.of("rowfuzz") { folder in
      [folder.path, "\(seeds.lowerBound)", "\(seeds.count)"]
    }
    var outcome = Outcome(status: run.status)
    var last: UInt64?
    for line in run.lines {
      let words = line.split(separator: " ")
      switch words.first {
      case "seed": last = UInt64(words[1])
      case "done": outcome.mutants = Int(words[1]) ?? 0
      default: outcome.wrong.append(String(line))
      }
    }
    if !run.isWhole {
      outcome.ended = last ?? seeds.lowerBound
      outcome.error = run.errors.split(separator: "\n").filter { $0.contains("atal error") }
        .joined(separator: "; ")
    }
    return outcome
  }
}
