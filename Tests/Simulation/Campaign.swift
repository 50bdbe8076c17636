import Foundation
import Synchronization

/// Many seeds of one scenario, on as many tasks as there are cores.
struct Campaign {
  let scenario: Scenario

  init(_ scenario: Scenario) { self.scenario = scenario }

  struct Report: Sendable {
    var failures: [String] = []
    var runs = 0
  }

  private static let asked = ProcessInfo.processInfo.environment["DRIFTLESS_SEEDS"] ?? ""

  /// Whether seeds are lived through here at all.
  static let isWanted = asked != "none"

  /// The seeds that the environment asks for.
  static let seeds: ClosedRange<UInt64>? = {
    let parts = asked.split(separator: "-").compactMap { UInt64($0) }
    guard parts.count == 2, parts[0] <= parts[1] else { return nil }
    return parts[0]...parts[1]
  }()

  /// So many failures are told; more would say the same.
  private static let failuresMax =
    ProcessInfo.processInfo.environment["DRIFTLESS_FAILURES"].flatMap { Int($0) } ?? 3
  private static let tasks =
    ProcessInfo.processInfo.environment["DRIFTLESS_TASKS"].flatMap { Int($0) }
    ?? max(1, ProcessInfo.processInfo.activeProcessorCount)

  func run(_ seeds: ClosedRange<UInt64>) async -> Report {
    let work = Work(seeds)
    let start = ContinuousClock.now
    await withTaskGroup { group in
      for _ in 0..<Self.tasks {
        group.addTask {
          while let seed = work.next() { work.add(await run(seed)) }
        }
      }
    }
    let report = work.report
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    print(
      "simulated \(scenario.name): \(report.runs) seeds,"
        + " \(Int(Double(report.runs) / seconds * 60)) a minute, \(report.failures.count) fail")
    return report
  }

  private final class Work: Sendable {
    private let state: Mutex<(left: ClosedRange<UInt64>, next: UInt64, report: Report)>

    init(_ seeds: ClosedRange<UInt64>) { state = Mutex((seeds, seeds.lowerBound, Report())) }

    var report: Report { state.withLock { $0.report } }

    func next() -> UInt64? {
      state.withLock { state in
        guard state.next <= state.left.upperBound,
          state.report.failures.count < Campaign.failuresMax
        else { return nil }
        state.next += 1
        return state.next - 1
      }
    }

    func add(_ failure: String?) {
      state.withLock { state in
        state.report.runs += 1
        if let failure { state.report.failures.append(failure) }
      }
    }
  }

  /// What to tell of a seed that fails: the shortest trace that still does.
  private func run(_ seed: UInt64) async -> String? {
    let scenario = scenario.lived(by: seed)
    let steps = scenario.steps(seed: seed)
    let outcome = await Simulation.run(scenario, seed: seed, steps)
    guard let failure = outcome.failures.first else { return nil }
    print("simulated \(scenario.name): seed \(seed) fails: \(failure)")
    let short = await Shrinker.shrink(scenario, seed: seed, steps, law: failure.law)
    let end = await Simulation.run(scenario, seed: seed, short)
    return """
      scenario \(scenario.name), seed \(seed)\(scenario.partObjectsMax == .max ? "" : ", in parts"): \(failure)
      \(short.count) of \(steps.count) steps do it:
      [
      \(short.map { "  \($0)," }.joined(separator: "\n"))
      ]
      \(end.trace.joined(separator: "\n"))
      """
  }
}
