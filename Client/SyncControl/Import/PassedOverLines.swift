import Driftless
import DriftlessSQLite
import Foundation

/// The lines that an import passed over which takes only what is missing, as the store keeps them until the file's end: each
/// transaction adds those that it came by. What the import brought is there as well when somebody goes on with the file, and
/// its later lines are wanted.
struct PassedOverLines: Hashable {
  /// Begins the settings that they are kept by.
  private static let setting = "import.passed"

  /// Tells them from those of other files.
  let name: String

  init(name: String) { self.name = name }

  init() { name = String(format: "%016llx", UInt64.random(in: .min ... .max)) }

  private var prefix: String { "\(Self.setting) \(name) " }

  /// Those up to the line of a place that is kept. What else a damaged setting says is not believed.
  func all(through line: Int, _ transaction: ReadTransaction) throws -> IndexSet {
    var lines = IndexSet()
    for case .text(let text) in try transaction.settings(beginning: prefix) {
      for range in text.split(separator: " ") {
        let ends = range.split(separator: "-").compactMap { Int($0) }
        guard let first = ends.first, let last = ends.last, first > 0, first <= last,
          last <= min(line, .max - 1)
        else {
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

  /// Removes what is kept under names that are none of these: another program may have dropped their places.
  static func drop(except lines: [PassedOverLines], in transaction: WriteTransaction) throws {
    let kept = Set(lines.map(\.name))
    var names: Set<String> = []
    for name in try transaction.settingNames(beginning: "\(setting) ") {
      let words = name.split(separator: " ")
      if words.count > 1 { names.insert(String(words[1])) }
    }
    for name in names.subtracting(kept) {
      try PassedOverLines(name: name).drop(in: transaction)
    }
  }

  func drop(in transaction: WriteTransaction) throws {
    try transaction.removeSettings(beginning: prefix)
  }
}
