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
    guard count(of: bytes) == index.columnCount else {
      throw .malformed("The values section does not hold the columns that the index names")
    }
    let section: WireValuesSection
    do {
      section = try WireValuesSection(serializedBytes: bytes)
    } catch {
      throw .malformed("The values section is not in its format")
    }
    var columns: [Column] = []
    columns.reserveCapacity(section.columns.count)
    var reader = ColumnReader(objectCount: index.objectCount, elementsMax: limits.elementsMax)
    for group in index.groups {
      for _ in group.properties {
        let column = section.columns[columns.count]
        columns.append(try reader.read(column, rows: group.objects.count))
      }
    }
    return columns
  }

  /// How many columns the section has; nil when it is no message.
  private static func count(of bytes: [UInt8]) -> Int? {
    bytes.withUnsafeBytes { bytes in
      var fields = ProtobufFields(bytes)
      var count = 0
      while let field = fields.next() { count += field.number == 1 ? 1 : 0 }
      return fields.isMalformed ? nil : count
    }
  }
}
