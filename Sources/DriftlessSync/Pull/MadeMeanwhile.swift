import Driftless
import DriftlessSQLite

/// Objects that were made here while more of the log was to come, by ranges of their keys: deletes of them count at the brake, and
/// deletes of what came and went in the log do not.
struct MadeMeanwhile: Equatable {
  static let setting = EngineRows.madeNote
  /// More are joined, with what lies between the last two.
  private static let rangesMax = 64

  private struct Keys: Equatable {
    /// Up to here it is known of each key whether it came or was made.
    var known: Int64
    var made: [ClosedRange<Int64>] = []
  }

  private var keys: [String: Keys] = [:]

  init() {}

  func ranges(root: String) -> [ClosedRange<Int64>] { keys[root]?.made ?? [] }

  /// What is not known of yet was made here.
  mutating func add(through last: Int64, root: String) {
    guard var own = keys[root], last > own.known else { return }
    let range = own.known + 1...last
    if let before = own.made.last,
      before.upperBound == own.known || own.made.count == Self.rangesMax
    {
      own.made[own.made.count - 1] = before.lowerBound...last
    } else {
      own.made.append(range)
    }
    own.known = last
    keys[root] = own
  }

  /// What is not known of yet came.
  mutating func pass(through last: Int64, root: String) {
    keys[root, default: Keys(known: last)].known = last
  }

  static func load(_ transaction: ReadTransaction) throws -> MadeMeanwhile? {
    guard case .text(let text)? = try transaction.setting(setting) else { return nil }
    return MadeMeanwhile(text: text)
  }

  var text: String {
    keys.sorted { $0.key < $1.key }.map { root, own in
      ([root, "\(own.known)"] + own.made.map { "\($0.lowerBound)-\($0.upperBound)" })
        .joined(separator: " ")
    }.joined(separator: "\n")
  }

  /// Nil for what is damaged.
  init?(text: String) {
    // Where nothing is known, nothing is kept.
    guard !text.isEmpty else { return nil }
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: " ")
      guard parts.count >= 2, let known = Int64(parts[1]), known >= 0 else { return nil }
      var own = Keys(known: known)
      for part in parts.dropFirst(2) {
        let ends = part.split(separator: "-").compactMap { Int64($0) }
        guard ends.count == 2, ends[0] > own.made.last?.upperBound ?? 0, ends[0] <= ends[1],
          ends[1] <= known
        else { return nil }
        own.made.append(ends[0]...ends[1])
      }
      keys[String(parts[0])] = own
    }
  }
}
