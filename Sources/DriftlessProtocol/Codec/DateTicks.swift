import Foundation

/// The exact ways to say dates as integers; each holds for a column only when every date comes back
/// bit for bit. Tried in this order.
enum DateTicks: UInt32, CaseIterable {
  /// Microseconds since 2001: dates that were made from decimal text.
  case microsecondsSince2001 = 1
  /// Microseconds since 1970: dates that were made from a Unix time.
  case microsecondsSince1970 = 2
  /// 2⁻²³ seconds since 2001: what a Date of the years 2018 to 2035 holds at most, such as "now".
  case binaryFractions = 3

  private static let secondsTo2001 = 978_307_200.0
  private static let fraction = 8_388_608.0  // 2²³
  /// Numbers beyond this are not exact as doubles.
  private static let numberMax = 9_007_199_254_740_992.0  // 2⁵³

  /// Seconds since 2001.
  @inline(__always)
  func seconds(_ number: Int64) -> Double {
    switch self {
    case .microsecondsSince2001: Double(number) / 1e6
    case .microsecondsSince1970: Double(number) / 1e6 - Self.secondsTo2001
    case .binaryFractions: Double(number) / Self.fraction
    }
  }

  @inline(__always)
  private func number(_ seconds: Double) -> Int64? {
    let scaled =
      switch self {
      case .microsecondsSince2001: (seconds * 1e6).rounded()
      case .microsecondsSince1970: ((seconds + Self.secondsTo2001) * 1e6).rounded()
      case .binaryFractions: (seconds * Self.fraction).rounded()
      }
    guard abs(scaled) < Self.numberMax else { return nil }  // NaN too
    let number = Int64(scaled)
    return self.seconds(number).bitPattern == seconds.bitPattern ? number : nil
  }

  /// Nil when some date would not come back bit for bit. A null row repeats the number before it.
  func numbers(of dates: [Double], nulls: RowBitmap?) -> [Int64]? {
    var previous: Int64 = 0
    var isExact = true
    let numbers = [Int64](capacity: dates.count) { buffer, initialized in
      for (row, date) in dates.enumerated() {
        if nulls?.contains(row) != true {
          guard let number = number(date) else {
            isExact = false
            return
          }
          previous = number
        }
        buffer[row] = previous
        initialized &+= 1
      }
    }
    return isExact ? numbers : nil
  }

  // MARK: - As doubles

  /// 8 bytes little-endian each.
  static func bits(of values: [Double]) -> Data {
    #if _endian(little)
      values.withUnsafeBytes { Data($0) }
    #else
      values.reduce(into: Data()) { data, value in
        withUnsafeBytes(of: value.bitPattern.littleEndian) { data.append(contentsOf: $0) }
      }
    #endif
  }

  static func values(ofBits data: Data, count: Int) -> [Double]? {
    guard data.count % 8 == 0, data.count / 8 == count else { return nil }
    return data.withUnsafeBytes { bytes in
      [Double](capacity: count) { buffer, initialized in
        for row in 0..<count {
          let bits = bytes.loadUnaligned(fromByteOffset: row &* 8, as: UInt64.self)
          buffer[row] = Double(bitPattern: UInt64(littleEndian: bits))
        }
        initialized = count
      }
    }
  }
}
