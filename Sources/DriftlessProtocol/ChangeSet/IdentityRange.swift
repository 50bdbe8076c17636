import Foundation

/// Identities that share their first eight bytes and count up in the last eight.
struct IdentityRange {
  private let high: UInt64
  private let low: UInt64
  /// One less than the count.
  private let extent: UInt64

  init(_ first: UUID, count: Int) {
    high = withUnsafeBytes(of: first.uuid) {
      UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self))
    }
    low = first.lowBytes
    extent = UInt64(max(0, count - 1))
  }

  /// Whether no identity occurs twice, and no range passes the end of its numbers.
  static func areDisjoint(_ ranges: inout [IdentityRange]) -> Bool {
    if !isAscending(ranges) {
      ranges.sort { ($0.high, $0.low) < ($1.high, $1.low) }
      guard isAscending(ranges) else { return false }
    }
    return ranges.allSatisfy { !$0.low.addingReportingOverflow($0.extent).overflow }
  }

  private static func isAscending(_ ranges: [IdentityRange]) -> Bool {
    for place in ranges.indices.dropFirst() {
      let (before, after) = (ranges[place - 1], ranges[place])
      guard before.high <= after.high else { return false }
      guard before.high < after.high || after.low > before.low,
        before.high < after.high || after.low &- before.low > before.extent
      else { return false }
    }
    return true
  }
}
