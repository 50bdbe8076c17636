import CLimits
import Foundation

/// One row of the table: our work against the same work in C, and against a peer.
struct Row: Codable {
  var name: String
  /// CPU nanoseconds (or bytes, for the rows that say so) for the whole of the work.
  var ours: UInt64
  var limit: UInt64
  var ratio: Double
  var peer: String?
  var peerRatio: Double?
  /// The most that the design allows.
  var aim: Double?

  enum CodingKeys: String, CodingKey {
    case name
    case ours = "ours_cpu_ns"
    case limit = "limit_cpu_ns"
    case ratio
    case peer
    case peerRatio = "peer_ratio"
    case aim
  }
}

/// Runs work in turns, A B C A B C …, so that a machine whose speed drifts does not favour one of them.
struct Comparison {
  var name: String
  var aim: Double?
  var rounds = 5
  /// Whether the wall clock is compared in place of CPU time: where the disk is the limit.
  var byWallClock = false
  /// Whether the CPU time of programs that the work runs to their end counts as well.
  var countsChildren = false
  /// What comes before each turn of ours, and is not measured.
  var prepare: (() throws -> Void)?
  var ours: () throws -> Void
  var limit: () throws -> Void
  var peer: (name: String, work: () throws -> Void)?

  func run() throws -> Row {
    var oursTimes: [UInt64] = []
    var limitTimes: [UInt64] = []
    var ratios: [Double] = []
    var peerRatios: [Double] = []
    for round in 0...rounds {
      // Who comes second finds caches that the first one filled: they take turns.
      let isLimitFirst = round.isMultiple(of: 2)
      try prepare?()
      let first = try measure(isLimitFirst ? limit : ours)
      let second = try measure(isLimitFirst ? ours : limit)
      let (limitTime, oursTime) = isLimitFirst ? (first, second) : (second, first)
      let peerTime = try peer.map { try measure($0.work) }
      guard round > 0 else { continue }  // the first round warms caches and files
      oursTimes.append(oursTime)
      limitTimes.append(limitTime)
      ratios.append(Double(oursTime) / Double(limitTime))
      if let peerTime { peerRatios.append(Double(peerTime) / Double(limitTime)) }
    }
    return Row(
      name: name, ours: Self.median(oursTimes), limit: Self.median(limitTimes),
      ratio: Self.median(ratios), peer: peer?.name,
      peerRatio: peerRatios.isEmpty ? nil : Self.median(peerRatios), aim: aim)
  }

  private func measure(_ work: () throws -> Void) rethrows -> UInt64 {
    func now() -> UInt64 {
      if byWallClock { return DispatchTime.now().uptimeNanoseconds }
      return limit_cpu_nanoseconds() + (countsChildren ? limit_children_cpu_nanoseconds() : 0)
    }
    let start = now()
    try work()
    return now() - start
  }

  static func median<T: Comparable>(_ values: [T]) -> T { values.sorted()[values.count / 2] }
}

/// Throws when a limit's C function failed: a limit that did not do its work would flatter us.
func check(_ code: Int32, _ what: String) throws {
  guard code == 0 else { throw BenchError(description: "\(what) failed with code \(code)") }
}

struct BenchError: Error, CustomStringConvertible {
  var description: String
}
