import Driftless
import DriftlessSQLite

/// The times of edits as the zone takes them. Once it refused one as ahead of its clock, what lies ahead has the clock's time, in
/// its own order: an edit that is pending by its time (`EditStamp`) is in no row of history that could be moved back.
struct TakenTimes {
  /// The newest time that is taken; nil as long as none was refused.
  private let latest: HybridTime?
  private var moved: [Int64: HybridTime] = [:]

  /// - Parameters:
  ///   - latest: the zone's clock, once it refused a time.
  ///   - window: what goes, in however many parts: an edit has one time in all of them.
  /// - Throws: What reading the times throws.
  init(upTo latest: HybridTime?, _ window: PendingObjects, _ transaction: ReadTransaction) throws {
    self.latest = latest
    guard let latest else { return }
    var numbers: Set<Int64> = []
    for (_, object) in window {
      if object.wholeTransaction != 0 { numbers.insert(object.wholeTransaction) }
      for edit in object.edits { numbers.insert(edit.transaction) }
    }
    let ahead = try numbers.sorted().filter { try transaction.editTime($0) > latest }
    var time = latest.rawValue - min(latest.rawValue, UInt64(ahead.count))
    for number in ahead {
      time += 1
      moved[number] = HybridTime(rawValue: time)
    }
  }

  /// - Throws: What reading it throws.
  func time(_ number: Int64, _ transaction: ReadTransaction) throws -> HybridTime {
    if let moved = moved[number] { return moved }
    let time = try transaction.editTime(number)
    return latest.map { min($0, time) } ?? time
  }
}
