public import Foundation

/// A hybrid logical time: milliseconds since 1970 in the upper 48 bits, a counter in the lower 16.
///
/// It orders edits of all replicas even where their clocks differ a little, and it never goes back. When more than
/// 65,535 transactions fall into a millisecond the counter carries into the milliseconds.
public struct HybridTime: Hashable, Sendable, Comparable, RawRepresentable, Codable {
  public var rawValue: UInt64

  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// The time of a wall clock, with the counter at zero. Dates outside of the range are clamped to it.
  public init(_ date: Date) {
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded(.down)
    let bounded = Swift.min(
      Swift.max(milliseconds.isNaN ? 0 : milliseconds, 0), 281_474_976_710_655)
    rawValue = UInt64(bounded) << 16
  }

  /// The wall-clock part: milliseconds since 1970.
  public var milliseconds: UInt64 { rawValue >> 16 }

  /// The wall-clock part.
  public var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

  public static func < (a: HybridTime, b: HybridTime) -> Bool { a.rawValue < b.rawValue }

  /// The next time after this one and not before the wall clock.
  package func next(at date: Date) -> HybridTime {
    Swift.max(HybridTime(date), HybridTime(rawValue: rawValue == .max ? .max : rawValue + 1))
  }
}
