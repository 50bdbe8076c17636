package import Foundation

/// Bytes for whole rows and for lists of keys, as `ZDL_GRAVE` and `ZDL_BASE` keep them.
///
/// A list is its count (8 bytes), then its items; a value is a tag byte and its content; numbers are 8 bytes, little
/// endian; texts and data are their length (8 bytes) and their bytes. Equal lists give equal bytes.
package enum RowArchive {
  private enum Tag: UInt8 {
    case null, bool, integer, double, decimal, string, date, data, uuid, uri, reference
  }

  package static func encode(_ values: [PropertyValue]) -> Data {
    var bytes: [UInt8] = []
    append(UInt64(values.count), to: &bytes)
    for value in values { append(value, to: &bytes) }
    return Data(bytes)
  }

  package static func encode(_ keys: [ObjectKey]) -> Data { encode(keys.map { .reference($0) }) }

  /// - Throws: `StoreError` when the bytes are none of this form.
  package static func decodeValues(_ data: Data) throws -> [PropertyValue] {
    var reader = Reader(bytes: [UInt8](data))
    let count = try reader.number()
    guard count <= UInt64(data.count) else { throw Reader.damaged }
    var values: [PropertyValue] = []
    values.reserveCapacity(Int(count))
    for _ in 0..<count { values.append(try reader.value()) }
    return values
  }

  private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
    bytes.append(littleEndian: number)
  }

  private static func append(_ text: some Collection<UInt8>, to bytes: inout [UInt8]) {
    append(UInt64(text.count), to: &bytes)
    bytes.append(contentsOf: text)
  }

  private static func append(_ value: PropertyValue, to bytes: inout [UInt8]) {
    func tag(_ tag: Tag) { bytes.append(tag.rawValue) }
    switch value {
    case .null: tag(.null)
    case .bool(let value):
      tag(.bool)
      append(value ? 1 : 0, to: &bytes)
    case .integer(let value):
      tag(.integer)
      append(UInt64(bitPattern: value), to: &bytes)
    case .double(let value):
      tag(.double)
      append(value.bitPattern, to: &bytes)
    case .decimal(let value):
      tag(.decimal)
      append("\(value)".utf8, to: &bytes)
    case .string(let value):
      tag(.string)
      append(value.utf8, to: &bytes)
    case .date(let value):
      tag(.date)
      append(value.timeIntervalSinceReferenceDate.bitPattern, to: &bytes)
    case .data(let value):
      tag(.data)
      append(value, to: &bytes)
    case .uuid(let value):
      tag(.uuid)
      append(value.networkBytes, to: &bytes)
    case .uri(let value):
      tag(.uri)
      append(value.absoluteString.utf8, to: &bytes)
    case .reference(let key):
      tag(.reference)
      append(UInt64(UInt32(bitPattern: key.entity)), to: &bytes)
      append(UInt64(bitPattern: key.key), to: &bytes)
    }
  }

  private struct Reader {
    static let damaged = StoreError(
      .damaged, "A kept row cannot be read.", suggestion: "Check the store's file.")

    let bytes: [UInt8]
    var position = 0

    mutating func byte() throws -> UInt8 {
      guard position < bytes.count else { throw Self.damaged }
      position += 1
      return bytes[position - 1]
    }

    mutating func number() throws -> UInt64 {
      var number: UInt64 = 0
      for shift in stride(from: UInt64(0), to: 64, by: 8) {
        number |= UInt64(try byte()) << shift
      }
      return number
    }

    mutating func content() throws -> ArraySlice<UInt8> {
      let count = try number()
      guard count <= UInt64(bytes.count - position) else { throw Self.damaged }
      defer { position += Int(count) }
      return bytes[position..<position + Int(count)]
    }

    mutating func text() throws -> String { String(decoding: try content(), as: UTF8.self) }

    mutating func value() throws -> PropertyValue {
      guard let tag = Tag(rawValue: try byte()) else { throw Self.damaged }
      switch tag {
      case .null: return .null
      case .bool: return .bool(try number() != 0)
      case .integer: return .integer(Int64(bitPattern: try number()))
      case .double: return .double(Double(bitPattern: try number()))
      case .decimal:
        guard let value = Decimal(wholeText: try text()) else { throw Self.damaged }
        return .decimal(value)
      case .string: return .string(try text())
      case .date:
        return .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: try number())))
      case .data: return .data(Data(try content()))
      case .uuid:
        guard let value = UUID(networkBytes: Data(try content())) else { throw Self.damaged }
        return .uuid(value)
      case .uri:
        guard let value = URL(string: try text()) else { throw Self.damaged }
        return .uri(value)
      case .reference:
        guard let entity = UInt32(exactly: try number()) else { throw Self.damaged }
        let key = Int64(bitPattern: try number())
        guard ReadTransaction.keys.contains(key) else { throw Self.damaged }
        return .reference(ObjectKey(entity: Int32(bitPattern: entity), key: key))
      }
    }
  }
}
