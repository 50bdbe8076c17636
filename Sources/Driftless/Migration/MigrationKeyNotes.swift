import DriftlessSQLite

/// What the engine of sync notes of objects by their keys in settings, a line each: which objects the store held before a pull, which
/// were made since, and which are looked at again.
struct MigrationKeyNotes {
  let keys: MigrationKeys
  let connection: SQLiteConnection

  private struct Made {
    var known: Int64
    var ranges: [ClosedRange<Int64>]
  }

  func run() throws {
    try mapLeft()
    try mapHeld()
  }

  private func lines(_ setting: String) throws -> [[Substring]]? {
    guard case .text(let text)? = try StoreSettings.value(of: setting, on: connection) else {
      return nil
    }
    return text.split(separator: "\n").map { $0.split(separator: " ") }
  }

  private func set(_ setting: String, _ lines: [String]) throws {
    try StoreSettings.set(
      setting, lines.isEmpty ? nil : .text(lines.joined(separator: "\n")), on: connection)
  }

  /// Objects, by the names of their entities.
  private func mapLeft() throws {
    guard let lines = try lines(EngineRows.leftNote) else { return }
    var left: [String] = []
    for line in lines where line.count == 2 {
      guard let key = Int64(line[1]),
        let match = keys.plan.matches.first(where: { $0.source.name == line[0] }),
        let offset = keys.offset(of: match.source),
        // No object has a key beyond those.
        case (let moved, false) = key.addingReportingOverflow(offset)
      else { continue }
      left.append("\(match.destination.name) \(moved)")
    }
    try set(EngineRows.leftNote, left)
  }

  /// The last key of each hierarchy from before a pull, and stretches of keys that were made here since. Of hierarchies that become
  /// one, what the later ones held are such stretches.
  private func mapHeld() throws {
    guard let lines = try lines(EngineRows.heldNote) else { return }
    var held: [String: Int64] = [:]
    for line in lines where line.count == 2 { held[String(line[0])] = Int64(line[1]) }
    var made: [String: Made] = [:]
    for line in try self.lines(EngineRows.madeNote) ?? [] where line.count > 1 {
      guard let known = Int64(line[1]) else { continue }
      let ranges = line.dropFirst(2).compactMap { range -> ClosedRange<Int64>? in
        let ends = range.split(separator: "-").compactMap { Int64($0) }
        return ends.count == 2 && ends[0] <= ends[1] ? ends[0]...ends[1] : nil
      }
      made[String(line[0])] = Made(known: known, ranges: ranges)
    }
    var heldLines: [String] = []
    var madeLines: [String] = []
    for root in keys.new.entities.filter({ $0.superentity == nil }).sorted(by: { $0.name < $1.name }
    ) {
      let ways = keys.ways.filter { $0.destination === root }
      // Of which it is not known what it held counts as a whole.
      guard let first = ways.first, ways.allSatisfy({ held[$0.source.name] != nil }) else {
        continue
      }
      heldLines.append("\(root.name) \(held[first.source.name] ?? 0)")
      guard ways.count > 1 || made[first.source.name] != nil else { continue }
      var ranges: [ClosedRange<Int64>] = []
      for way in ways {
        let last = held[way.source.name] ?? 0
        if way.offset > 0, last > 0 { ranges.append(Self.moved(1...last, by: way.offset)) }
        for range in made[way.source.name]?.ranges ?? [] {
          ranges.append(Self.moved(range, by: way.offset))
        }
        if ways.count > 1, let known = made[way.source.name]?.known,
          case let last = keys.lastKey(of: way.source), known < last
        {
          ranges.append(Self.moved(known + 1...last, by: way.offset))
        }
      }
      let known =
        ways.count > 1
        ? keys.lastKey(ofDestination: root) : made[first.source.name]?.known ?? 0
      let words = ranges.map { "\($0.lowerBound)-\($0.upperBound)" }
      madeLines.append(([root.name, "\(known)"] + words).joined(separator: " "))
    }
    try set(EngineRows.heldNote, heldLines)
    try set(EngineRows.madeNote, madeLines)
  }

  /// Keys after an offset, as far as numbers go: what a damaged note says may be any.
  private static func moved(
    _ range: ClosedRange<Int64>, by offset: Int64
  ) -> ClosedRange<Int64> {
    func moved(_ key: Int64) -> Int64 {
      let (sum, hasPassed) = key.addingReportingOverflow(offset)
      return hasPassed ? (offset > 0 ? .max : .min) : sum
    }
    return moved(range.lowerBound)...moved(range.upperBound)
  }
}
