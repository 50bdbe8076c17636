import Foundation
import SwiftProtobuf

/// The values section: `ValuesSection` of `ChangeSet.proto`.
enum ValuesCodec {
  /// Writes a column where it belongs in the section: as its next field.
  static func write(_ column: Column, to writer: inout SectionWriter) throws(ProtocolError) {
    let message = try ColumnCodec.encode(column)
    let size = message.size
    var start = ProtobufBytes()
    start.append(field: 1, lengthOf: size)
    start.bytes.withUnsafeBytes { writer.append($0) }
    message.write(to: &writer)
  }

  /// Reads the columns that an index names, and that they are all; one at a time is in memory with its bytes.
  ///
  /// - Parameter index: Checked against `ChangeSetRules`.
  /// - Throws: `ProtocolError` when the section does not hold them.
  static func forEachColumn(
    _ section: inout SectionReader, index: ChangeSetIndex, limits: ChangeSetLimits,
    _ body: (Column) -> Void
  ) throws(ProtocolError) {
    var reader = ColumnReader(objectCount: index.objectCount, elementsMax: limits.elementsMax)
    for group in index.groups {
      for _ in group.properties {
        guard let wire = try nextColumn(&section) else { throw otherColumns }
        body(try reader.read(wire, rows: group.objects.count))
      }
    }
    guard try nextMessage(&section) == nil else { throw otherColumns }
    try section.finish()
  }

  private static func nextColumn(
    _ section: inout SectionReader
  ) throws(ProtocolError) -> WireColumn? {
    guard let message = try nextMessage(&section) else { return nil }
    do {
      return try WireColumn(serializedBytes: message)
    } catch {
      throw .malformed("The values section is not in its format")
    }
  }

  /// The bytes of the next column; nil at the end. Fields that this version does not know are passed over.
  private static func nextMessage(
    _ section: inout SectionReader
  ) throws(ProtocolError) -> [UInt8]? {
    while section.left > 0 {
      // Field numbers begin at 1, and a tag has 32 bits.
      guard let tag = try varint(&section), tag >> 3 > 0, tag <= UInt32.max else {
        throw otherColumns
      }
      switch tag & 7 {
      case 0: guard try varint(&section) != nil else { throw otherColumns }
      case 1: try skip(8, &section)
      case 2:
        guard let length = try varint(&section), length <= UInt64(section.left) else {
          throw otherColumns
        }
        if tag >> 3 == 1 { return try section.next(Int(length)) }
        try skip(Int(length), &section)
      case 5: try skip(4, &section)
      default: throw otherColumns
      }
    }
    return nil
  }

  private static func skip(_ count: Int, _ section: inout SectionReader) throws(ProtocolError) {
    guard count <= section.left else { throw otherColumns }
    var rest = count
    while rest > 0 { rest -= try section.next(min(rest, 64 << 10)).count }
  }

  private static func varint(_ section: inout SectionReader) throws(ProtocolError) -> UInt64? {
    var number: UInt64 = 0
    var shift: UInt64 = 0
    while shift < 64, let byte = try section.nextByte() {
      number |= UInt64(byte & 127) << shift
      if byte < 128 { return number }
      shift += 7
    }
    return nil
  }

  private static let otherColumns = ProtocolError.malformed(
    "The values section does not hold the columns that the index names")
}
