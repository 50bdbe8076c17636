import Foundation

/// A binary property list as the table of objects that it is: Foundation's reader does not show the
/// references between the objects of a keyed archive.
///
/// The bytes may be anybody's. An object is read when it is asked for, and once; what is read in
/// all is bounded by the size of the file, however its objects share and contain each other.
final class BinaryPropertyList {
  enum Object {
    case null
    case bool(Bool)
    case integer(Int64)
    case real(Double)
    /// Seconds since 2001.
    case date(Double)
    case data(Data)
    case string(String)
    /// A reference to an object of a keyed archive.
    case uid(Int)
    case array([Int])
    case dictionary([(key: Int, value: Int)])
  }

  /// The index of the outermost object.
  let root: Int
  private let bytes: [UInt8]
  private let offsetTable: Int
  private let offsetSize: Int
  private let referenceSize: Int
  private let count: Int
  private var known: [Int: Object] = [:]
  /// How many bytes may still be read, counting those of an object that overlaps another.
  private var budget: Int

  init(_ data: Data) throws(Damage) {
    bytes = Array(data)
    guard bytes.count >= 40, bytes.starts(with: Array("bplist0".utf8)) else {
      throw Damage("it is no binary property list")
    }
    let trailer = bytes.count - 32
    offsetSize = Int(bytes[trailer + 6])
    referenceSize = Int(bytes[trailer + 7])
    guard (1...8).contains(offsetSize), (1...8).contains(referenceSize) else {
      throw Damage("its numbers are \(offsetSize) and \(referenceSize) bytes wide")
    }
    count = try Self.number(in: bytes, at: trailer + 8)
    root = try Self.number(in: bytes, at: trailer + 16)
    offsetTable = try Self.number(in: bytes, at: trailer + 24)
    // Neither product nor sum can overflow: all are below the size of the file.
    guard offsetTable + count * offsetSize <= trailer, root < count else {
      throw Damage("its table of objects is damaged")
    }
    budget = bytes.count * 4 + 1024
  }

  /// A number of the trailer: none of them is as great as the file.
  private static func number(in bytes: [UInt8], at offset: Int) throws(Damage) -> Int {
    let value = bytes[offset..<offset + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard value < UInt64(bytes.count) else { throw Damage("its trailer is damaged") }
    return Int(value)
  }

  /// - Throws: ``Damage`` for an index that is out of range, and for bytes that are no object.
  func object(at index: Int) throws(Damage) -> Object {
    if let object = known[index] { return object }
    guard index >= 0, index < count else { throw Damage("it has no object \(index)") }
    var place = try Int(clamping: unsigned(at: offsetTable + index * offsetSize, offsetSize))
    let object = try read(at: &place)
    known[index] = object
    return object
  }

  private func read(at place: inout Int) throws(Damage) -> Object {
    let marker = try unsigned(at: place, 1)
    place += 1
    let low = Int(marker & 0xF)
    switch marker >> 4 {
    case 0x0:
      switch low {
      case 0: return .null
      case 8: return .bool(false)
      case 9: return .bool(true)
      default: throw Damage("it has an object of an unknown kind")
      }
    case 0x1: return .integer(try integer(at: place, width: low))
    case 0x2 where low == 2:
      return .real(
        Double(Float(bitPattern: UInt32(truncatingIfNeeded: try unsigned(at: place, 4)))))
    case 0x2 where low == 3: return .real(Double(bitPattern: try unsigned(at: place, 8)))
    case 0x3 where low == 3: return .date(Double(bitPattern: try unsigned(at: place, 8)))
    case 0x4: return .data(Data(try slice(&place, low, of: 1)))
    case 0x5: return .string(String(decoding: try slice(&place, low, of: 1), as: UTF8.self))
    case 0x6:
      let units = try slice(&place, low, of: 2)
      let text = stride(from: units.startIndex, to: units.endIndex, by: 2)
        .map { UInt16(units[$0]) << 8 | UInt16(units[$0 + 1]) }
      return .string(String(decoding: text, as: UTF16.self))
    case 0x8: return .uid(Int(clamping: try unsigned(at: place, low + 1)))
    case 0xA, 0xC: return .array(try references(&place, try length(&place, low)))
    case 0xD:
      let length = try length(&place, low)
      let keys = try references(&place, length)
      let values = try references(&place, length)
      return .dictionary(zip(keys, values).map { (key: $0, value: $1) })
    default: throw Damage("it has an object of an unknown kind")
    }
  }

  private func integer(at place: Int, width exponent: Int) throws(Damage) -> Int64 {
    switch exponent {
    case 0...2: Int64(try unsigned(at: place, 1 << exponent))
    case 3: Int64(bitPattern: try unsigned(at: place, 8))
    // 16 bytes: the writer's form of an unsigned number; the upper half of one that fits is zero.
    case 4 where try unsigned(at: place, 8) == 0:
      Int64(clamping: try unsigned(at: place + 8, 8))
    default: throw Damage("it has an integer of \(exponent) bits of width")
    }
  }

  /// The length of a text, of data or of a container: in the marker, or as an integer behind it.
  private func length(_ place: inout Int, _ low: Int) throws(Damage) -> Int {
    guard low == 0xF else { return low }
    let marker = try unsigned(at: place, 1)
    guard marker >> 4 == 0x1, marker & 0xF <= 3 else { throw Damage("a length is damaged") }
    let width = 1 << Int(marker & 0xF)
    let length = try unsigned(at: place + 1, width)
    place += 1 + width
    guard length <= UInt64(bytes.count) else { throw Damage("an object is longer than the file") }
    return Int(length)
  }

  private func slice(
    _ place: inout Int, _ low: Int, of width: Int
  ) throws(Damage) -> ArraySlice<UInt8> {
    let length = try length(&place, low) * width
    try spend(length)
    guard place <= bytes.count - length else { throw Damage("an object leaves the file") }
    return bytes[place..<place + length]
  }

  private func references(_ place: inout Int, _ count: Int) throws(Damage) -> [Int] {
    try spend(count * referenceSize)
    guard place <= bytes.count - count * referenceSize else {
      throw Damage("an object leaves the file")
    }
    var references: [Int] = []
    references.reserveCapacity(count)
    for _ in 0..<count {
      references.append(Int(clamping: try unsigned(at: place, referenceSize)))
      place += referenceSize
    }
    return references
  }

  private func spend(_ count: Int) throws(Damage) {
    budget -= count
    guard budget >= 0 else { throw Damage("its objects lie in each other") }
  }

  private func unsigned(at place: Int, _ width: Int) throws(Damage) -> UInt64 {
    guard place >= 0, place <= bytes.count - width else {
      throw Damage("an object leaves the file")
    }
    return bytes[place..<place + width].reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Why the bytes are no property list, or no archive.
  struct Damage: Error {
    let reason: String
    init(_ reason: String) { self.reason = reason }
  }
}
