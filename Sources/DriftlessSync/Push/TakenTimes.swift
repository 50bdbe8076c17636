import Driftless
import DriftlessSQLite

/// The times of edits as the zone takes them. Once it refused one as ahead of its clock, what lies ahead has the clock's time, in
/// its own order: an edit that is pending by its time (`EditStamp`) is in no row of history that could be moved back.
struct TakenTimes {
  /// The zone's clock; nil as long as it refuses no time.
  private let latest: HybridTime?
  private var moved: [Int64: HybridTime] = [:]

  init(upTo latest: HybridTime?) { self.latest = latest }

  /// Takes note of the edits of a change set.
  ///
  /// - Parameter numbers: transactions and stamps.
  /// - Returns: them in their order.
  /// - Throws: What reading them throws.
  mutating func note(_ numbers: Set<Int64>, _ transaction: ReadTransaction) throws -> [Int64] {
    let ordered = numbers.sorted()
    guard let latest else { return ordered }
    let ahead = try ordered.filter { try transaction.editTime($0) > latest }
    var time = latest.rawValue - min(latest.rawValue, UInt64(ahead.count))
    for number in ahead {
      time += 1
      moved[number] = HybridTime(rawValue: time)
    }
    return ordered
  }

  /// - Throws: What reading it throws.
  func time(_ number: Int64, _ transaction: ReadTransaction) throws -> HybridTime {
    if let moved = moved[number] { return moved }
    let time = try transaction.editTime(number)
    return latest.map { min($0, time) } ?? time
  }
}
