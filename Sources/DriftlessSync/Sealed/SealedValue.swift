import Driftless
import DriftlessProtocol
import Foundation

/// A cell that cannot be opened here, as a value on its way through the engine. No attribute holds it (`StandIn`): it is
/// parked, and where the engine sends "the value itself" it sends the cell.
enum SealedValue {
  /// Drawn at random: no value of a person's begins like that.
  private static let mark: [UInt8] = [
    0x8b, 0x3e, 0xd1, 0x07, 0x5c, 0xf2, 0x49, 0xa6, 0x1d, 0xe0, 0x93, 0x7a, 0xb4, 0x58, 0xc9, 0x2f,
  ]

  static func value(ofCell cell: some Sequence<UInt8>) -> PropertyValue {
    .data(Data(mark + cell))
  }

  /// The bytes of the cell that a value is; nil for a value.
  static func cell(in value: PropertyValue) -> [UInt8]? {
    guard case .data(let data) = value, data.starts(with: mark) else { return nil }
    return Array(data.dropFirst(mark.count))
  }

  /// Why a cell is parked, and what to do.
  static func reason(_ bytes: [UInt8], _ keys: KeyRing?) -> String {
    guard let cell = SealedCell(bytes) else {
      return
        "It is sealed in a way that this program does not know, or damaged. Update the program."
    }
    guard let keys else {
      return "It is sealed with the key \(cell.key), and this replica was given no key. "
        + "Give it the key file: it is taken in with the next sync."
    }
    guard keys.has(cell.key) else {
      return "It is sealed with the key \(cell.key), which is not in the key file here. "
        + "Get a key file that has it: it is taken in with the next sync."
    }
    return
      "It does not open with the key \(cell.key): it was damaged, or stood elsewhere when it was sealed, "
      + "or the key file here has another key of that name. Compare the key files; ask who edited it to set it anew."
  }
}

/// The bytes that are sealed: the kind of the value's column on the wire, then the value, so that it is read as an unsealed
/// one is.
enum PlainValue {
  /// Nil for null, and for what is no attribute's value.
  static func bytes(of value: PropertyValue) -> [UInt8]? {
    func number(_ kind: UInt8, _ word: UInt64) -> [UInt8] {
      [kind] + (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) }
    }
    switch value {
    case .null, .reference: return nil
    case .integer(let value): return number(1, UInt64(bitPattern: value))
    case .double(let value): return number(2, value.bitPattern)
    case .date(let date): return number(3, date.timeIntervalSinceReferenceDate.bitPattern)
    case .bool(let value): return [4, value ? 1 : 0]
    case .string(let text): return [5] + text.utf8
    case .data(let data): return [6] + data
    case .decimal(let number): return [7] + number.wholeText.utf8
    case .uri(let uri): return [8] + uri.absoluteString.utf8
    case .uuid(let uuid): return [9] + uuid.networkBytes
    }
  }

  /// Nil for bytes of another form, or of a kind that this program does not know.
  static func value(_ bytes: [UInt8]) -> PropertyValue? {
    guard let kind = bytes.first else { return nil }
    let rest = bytes.dropFirst()
    func word() -> UInt64? {
      guard rest.count == 8 else { return nil }
      return rest.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    func row(_ values: (ByteRows) -> Column.Values) -> PropertyValue? {
      guard let text = String(validating: rest, as: UTF8.self) else { return nil }
      return Column(values(ByteRows(CollectionOfOne(text)))).value(at: 0)
    }
    switch kind {
    case 1: return word().map { .integer(Int64(bitPattern: $0)) }
    case 2: return word().map { .double(Double(bitPattern: $0)) }
    case 3:
      return word().map { .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: $0))) }
    case 4: return rest.count == 1 && rest[1] < 2 ? .bool(rest[1] == 1) : nil
    case 5: return row { .strings($0) }
    case 6: return .data(Data(rest))
    case 7: return row { .decimals($0) }
    case 8: return row { .uris($0) }
    case 9: return UUID(networkBytes: Data(rest)).map { .uuid($0) }
    default: return nil
    }
  }
}
