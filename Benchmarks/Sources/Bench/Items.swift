import CLimits
import Foundation

/// The data of every row: objects of six attributes, the same in each run.
struct Items: @unchecked Sendable {  // its memory is never written after the initialiser
  struct Item: Codable {
    var key: Int64
    var flag: Bool
    var size: Int64
    var score: Double
    var modified: Double
    var name: String
    var summary: String
  }

  let items: [Item]
  /// The same in C's memory. It lives as long as the process.
  let limits: UnsafeMutableBufferPointer<limit_item>

  init(count: Int) {
    var state: UInt64 = 42
    func random() -> UInt64 {
      state &+= 0x9e37_79b9_7f4a_7c15
      var z = state
      z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
      z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
      return z ^ (z >> 31)
    }
    let words = [
      "library", "shared", "python3", "runtime", "tools", "data", "development", "files", "common",
      "documentation", "for", "the", "utilities", "network", "client", "server", "daemon", "fonts",
    ]
    func text(_ range: ClosedRange<Int>) -> String {
      let count = range.lowerBound + Int(random() % UInt64(range.count))
      return (0..<count).map { _ in words[Int(random() % UInt64(words.count))] }
        .joined(separator: " ")
    }
    items = (0..<count).map { index in
      Item(
        key: Int64(index + 1), flag: random() % 4 == 0, size: Int64(random() % 100_000),
        score: Double(random() % 1_000_000) / 1000,
        modified: 700_000_000 + Double(index) * 13 + Double(random() % 1_000_000) / 1_000_000,
        name: "\(words[index % words.count])-\(random() % 100_000)" + "-" + text(1...2),
        summary: text(2...4))
    }
    limits = .allocate(capacity: count)
    for (index, item) in items.enumerated() {
      limits.initializeElement(
        at: index,
        to: limit_item(
          key: item.key, flag: item.flag ? 1 : 0, size: item.size, score: item.score,
          modified: item.modified, name: UnsafePointer(strdup(item.name)),
          summary: UnsafePointer(strdup(item.summary))))
    }
  }

  /// `count` keys in an order that jumps about.
  func keys(_ count: Int) -> [Int64] {
    (0..<count).map { Int64(($0 &* 7919) % items.count) + 1 }
  }
}
