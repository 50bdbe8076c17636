import Foundation
import SwiftProtobuf

/// The values section: `ValuesSection` of `ChangeSet.proto`.
enum ValuesCodec {
  static func encode(_ columns: [Column]) throws(ProtocolError) -> [UInt8] {
    var section = WireValuesSection()
    section.columns.reserveCapacity(columns.count)
    for column in columns { section.columns.append(try ColumnCodec.encode(column)) }
    do {
      return try section.serializedBytes()
    } catch {
      throw .tooLarge("The values section cannot be written: \(error)")
    }
  }

  /// - Parameter index: Checked against `ChangeSetRules`.
  /// - Throws: `ProtocolError` when the bytes are not the columns that `index` names.
  static func decode(
    _ bytes: [UInt8], index: ChangeSetIndex, limits: ChangeSetLimits
  ) throws(ProtocolError) -> [Column] {
    var columns: [Column] = []
    columns.reserveCapacity(index.columnCount)
    try forEachColumn(bytes, index: index, limits: limits) { columns.append($0) }
    return columns
  }

  /// Whether the bytes are the columns that `index` names: what this takes, `decode` takes. One
  /// column at a time is in memory.
  ///
  /// - Throws: `ProtocolError` when they are not.
  static func check(
    _ bytes: [UInt8], index: ChangeSetIndex, limits: ChangeSetLimits
  ) throws(ProtocolError) {
    try forEachColumn(bytes, index: index, limits: limits) { _ in }
  }

  private static func forEachColumn(
    _ bytes: [UInt8], index: ChangeSetIndex, limits: ChangeSetLimits, _ body: (Column) -> Void
  ) throws(ProtocolError) {
    guard let payloads = payloads(of: bytes, countMax: index.columnCount),
      payloads.count == index.columnCount
    else { throw .malformed("The values section does not hold the columns that the index names") }
    var reader = ColumnReader(objectCount: index.objectCount, elementsMax: limits.elementsMax)
    var place = 0
    for group in index.groups {
      for _ in group.properties {
        let wire = try column(bytes, payloads[place])
        place += 1
        body(try reader.read(wire, rows: group.objects.count))
      }
    }
  }

  private static func column(
    _ bytes: [UInt8], _ payload: Range<Int>
  ) throws(ProtocolError) -> WireColumn {
    do {
      return try WireColumn(serializedBytes: Array(bytes[payload]))
    } catch {
      throw .malformed("The values section is not in its format")
    }
  }

  /// Where each column's message lies; nil when the section is no message or has more columns.
  private static func payloads(of bytes: [UInt8], countMax: Int) -> [Range<Int>]? {
    bytes.withUnsafeBytes { bytes in
      var fields = ProtobufFields(bytes)
      var payloads: [Range<Int>] = []
      while let field = fields.next() {
        guard field.number == 1 else { continue }
        guard payloads.count < countMax else { return nil }
        payloads.append(field.payload)
      }
      return fields.isMalformed ? nil : payloads
    }
  }
}
