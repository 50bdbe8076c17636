/// A pending edit names the history transaction that made it. History may be purged up to what is
/// acknowledged, so an edit that stays pending beyond that, or is offered anew, keeps its time in
/// the number itself: below zero, and still in order.
package enum EditStamp {
  package static func number(_ time: HybridTime) -> Int64 {
    Int64(clamping: time.rawValue) &+ Int64.min
  }

  /// The time that a number stands for; nil for that of a transaction.
  package static func time(_ number: Int64) -> HybridTime? {
    number < 0 ? HybridTime(rawValue: UInt64(bitPattern: number &- Int64.min)) : nil
  }
}

extension ReadTransaction {
  /// When a pending edit was made.
  package func editTime(_ number: Int64) throws -> HybridTime {
    if let time = EditStamp.time(number) { return time }
    return try hybridTime(of: number)
  }
}
