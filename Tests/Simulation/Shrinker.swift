import Foundation

/// Makes a failing trace short: leaves out steps as long as it still fails.
enum Shrinker {
  /// The shortest trace found that fails by the same law.
  static func shrink(
    _ scenario: Scenario, seed: UInt64, _ steps: [Step], law: String
  ) async -> [Step] {
    await shrink(steps) { steps in
      await Simulation.run(scenario, seed: seed, steps).failures.first?.law == law
    }
  }

  static func shrink(
    _ all: [Step], while fails: @Sendable ([Step]) async -> Bool
  ) async -> [Step] {
    var steps = all
    // Up to the first quiet moment, when it fails there already.
    if let middle = steps.firstIndex(where: { $0.kind == .settle }), middle < steps.count - 1 {
      let fewer = Array(steps[...middle])
      if await fails(fewer) { steps = fewer }
    }
    var size = max(1, steps.count / 2)
    var runs = 0
    while runs < runsMax {
      var start = 0
      var isShorter = false
      while start < steps.count, runs < runsMax {
        var fewer = steps
        fewer.removeSubrange(start..<min(start + size, steps.count))
        runs += 1
        if await fails(fewer) {
          steps = fewer
          isShorter = true
        } else {
          start += size
        }
      }
      if size == 1, !isShorter { break }
      size = max(1, size / 2)
    }
    return steps
  }

  /// Runs: a trace of 80 steps comes near its core in some 120.
  private static let runsMax =
    ProcessInfo.processInfo.environment["DRIFTLESS_SHRINKS"].flatMap { Int($0) } ?? 200
}
