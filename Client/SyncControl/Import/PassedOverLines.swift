import Driftless
import DriftlessSQLite
import Foundation

/// The lines that an import passed over which takes only what is missing, as the store keeps them until the file's end: each
/// transaction adds those that it came by. What the import brought is there as well when somebody goes on with the file, and
/// its later lines are wanted.
struct PassedOverLines: Hashable {
  private static let setting = "import.passed"

  /// Tells them from those of other files.
  let name: String

  init(name: String) { self.name = name }

  init() { name = String(format: "%016llx", UInt64.random(in: .min ... .max)) }

  private var prefix: String { "\(Self.setting) \(name) " }

  /// Those up to a place that is kept.
  func all(_ transaction: ReadTransaction) throws -> IndexSet {
    var lines = IndexSet()
    for case .text(let text) in try transaction.settings(beginning: prefix) {
      for range in text.split(separator: " ") {
        let ends = range.split(separator: "-").compactMap { Int($0) }
        guard let first = ends.first, let last = ends.last, first > 0, first <= last else {
          continue
        }
        lines.insert(integersIn: first...last)
      }
    }
    return lines
  }

  /// Adds those of one transaction of the file.
  func add(_ lines: IndexSet, in transaction: WriteTransaction) throws {
    guard let first = lines.first else { return }
    let ranges = lines.rangeView.map { range in
      range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound)-\(range.upperBound - 1)"
    }
    try transaction.setSetting("\(prefix)\(first)", .text(ranges.joined(separator: " ")))
  }

  func drop(in transaction: WriteTransaction) throws {
    try transaction.removeSettings(beginning: prefix)
  }
}
