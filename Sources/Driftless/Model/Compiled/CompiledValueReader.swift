import Foundation

/// Reads the default values of a compiled model.
struct CompiledValueReader {
  let archive: KeyedArchive

  /// - Parameter label: the attribute, as messages name it.
  func value(
    _ value: KeyedArchive.Value, _ type: AttributeType, _ label: String
  ) throws -> PropertyValue {
    if case .null = value { return .null }
    guard let found = try constant(value), let fitting = Self.fit(found, type) else {
      throw ModelError(
        .invalidValue, element: label,
        "its default value is none of type \(type), or of a class that is unknown",
        suggestion: "Give the .xcdatamodel.")
    }
    return fitting
  }

  /// A value by its own kind; nil for a class that is unknown.
  func constant(_ value: KeyedArchive.Value) throws -> PropertyValue? {
    switch value {
    case .null: return .null
    case .plain(.bool(let flag)): return .bool(flag)
    case .plain(.integer(let number)): return .integer(number)
    case .plain(.real(let number)): return .double(number)
    case .plain(.string(let text)): return .string(text)
    case .plain(.data(let data)): return .data(data)
    case .plain(.date(let seconds)):
      return .date(Date(timeIntervalSinceReferenceDate: seconds))
    case .plain: return nil
    case .record(let record): return try constant(record)
    }
  }

  private func constant(_ record: KeyedArchive.Record) throws -> PropertyValue? {
    switch record.className {
    case "NSNull": return .null
    case "NSString", "NSMutableString":
      return try archive.text(.record(record)).map { .string($0) }
    case "NSDate":
      guard case .plain(let time) = try archive.value(of: record, "NS.time") else { return nil }
      return Self.seconds(time).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    case "NSData", "NSMutableData":
      guard case .plain(.data(let data)) = try archive.value(of: record, "NS.data") else {
        return nil
      }
      return .data(data)
    case "NSUUID":
      guard case .plain(.data(let data)) = try archive.value(of: record, "NS.uuidbytes") else {
        return nil
      }
      return UUID(networkBytes: data).map { .uuid($0) }
    case "NSURL":
      return try archive.text(record, "NS.relative").flatMap { URL(string: $0) }.map { .uri($0) }
    case "NSDecimalNumber", "NSDecimalNumberPlaceholder": return try decimal(record)
    default: return nil
    }
  }

  /// A mantissa of 16-bit digits in the machine's order, an exponent of ten and a sign.
  private func decimal(_ record: KeyedArchive.Record) throws -> PropertyValue? {
    guard case .plain(.data(let mantissa)) = try archive.value(of: record, "NS.mantissa"),
      mantissa.count <= 16, let exponent = try archive.integer(record, "NS.exponent"),
      (-128...127).contains(exponent)
    else { return nil }
    let isLittleEndian = try archive.integer(record, "NS.mantissa.bo") ?? 1 != 2
    let bytes = Array(mantissa)
    var value = Decimal(0)
    for start in stride(from: (bytes.count / 2) * 2 - 2, through: 0, by: -2) {
      let (low, high) =
        isLittleEndian
        ? (bytes[start], bytes[start + 1])
        : (bytes[start + 1], bytes[start])
      value = value * 65536 + Decimal(Int(high) << 8 | Int(low))
    }
    let isNegative = try archive.flag(record, "NS.negative")
    let scaled = Decimal(
      sign: isNegative ? .minus : .plus, exponent: exponent, significand: value)
    return .decimal(scaled)
  }

  private static func seconds(_ object: BinaryPropertyList.Object) -> Double? {
    switch object {
    case .real(let seconds), .date(let seconds): seconds
    case .integer(let seconds): Double(seconds)
    default: nil
    }
  }

  /// The value as the attribute's type has it: an archive keeps a number in its shortest form.
  static func fit(_ value: PropertyValue, _ type: AttributeType) -> PropertyValue? {
    switch (type, value) {
    case (.boolean, .integer(let number)): .bool(number != 0)
    case (.integer16, .bool(let flag)), (.integer32, .bool(let flag)),
      (.integer64, .bool(let flag)):
      .integer(flag ? 1 : 0)
    case (.integer16, .double(let number)), (.integer32, .double(let number)),
      (.integer64, .double(let number)):
      Int64(exactly: number).map { .integer($0) }
    case (.double, .integer(let number)), (.float, .integer(let number)): .double(Double(number))
    case (.decimal, .integer(let number)): .decimal(Decimal(number))
    case (.decimal, .double(let number)):
      number.isFinite ? PropertyValue(modelText: "\(number)", type: .decimal) : nil
    case (.uri, .string(let text)): URL(string: text).map { .uri($0) }
    case (.uuid, .string(let text)): UUID(uuidString: text).map { .uuid($0) }
    default: type.accepts(value) ? value : nil
    }
  }
}
