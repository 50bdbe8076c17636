import Foundation

/// What a kept row has in place of a value that its object had and did not show: its file was gone, or it was set aside, and the
/// row that a person saw had something else in its place. Nobody's edit is made of that.
package enum MissingValue {
  /// Drawn at random: no value of a person's begins like that.
  private static let mark: [UInt8] = [
    0x61, 0xd4, 0x0e, 0x9b, 0xf8, 0x27, 0x5a, 0xc3, 0x72, 0xbd, 0x16, 0xe9, 0x4f, 0x80, 0x3c, 0xa5,
  ]

  /// Of a value that lay in a file which was gone.
  package static let lost = PropertyValue.data(Data(mark))

  /// Of a value that was set aside, with the value.
  package static func setAside(_ value: PropertyValue) -> PropertyValue {
    .data(Data(mark) + RowArchive.encode([value]))
  }

  /// Whether something stands in place of a value.
  package static func isOne(_ value: PropertyValue) -> Bool {
    if case .data(let data) = value { data.starts(with: mark) } else { false }
  }

  /// The value that was set aside; nil where none is kept.
  package static func kept(in value: PropertyValue) throws -> PropertyValue? {
    guard case .data(let data) = value, data.starts(with: mark), data.count > mark.count else {
      return nil
    }
    return try RowArchive.decodeValues(Data(data.dropFirst(mark.count))).first
  }
}
