public import Foundation

/// Makes the bytes of a change set: its frame.
///
/// A frame is the 192-byte header (`ChangeSetHeader`), the index section (`IndexCodec`), and the
/// values section (`ColumnCodec`), each section a zlib stream of its own, or plain where that is
/// shorter. Equal change sets give equal bytes (of one zlib).
public struct ChangeSetEncoder: Sendable {
  public var limits: ChangeSetLimits
  /// zlib's level, 1 to 9; 0 leaves the sections plain. 9 gains 1 % over 6, 1 loses 6 %.
  public var compressionLevel: Int32

  public init(limits: ChangeSetLimits = ChangeSetLimits(), compressionLevel: Int32 = 6) {
    self.limits = limits
    self.compressionLevel = compressionLevel
  }

  /// - Throws: `ProtocolError`: `.malformed` when the change set breaks a law of `ChangeSet`,
  ///   `.tooLarge` when it passes a limit.
  public func encode(_ changeSet: ChangeSet) throws(ProtocolError) -> Data {
    try ChangeSetRules(limits: limits).check(changeSet)
    let index = try IndexCodec.encode(changeSet.index)
    let values = try ValuesCodec.encode(changeSet.columns)
    return try frame(changeSet, index: index, values: values)
  }

  private func frame(
    _ changeSet: ChangeSet, index: [UInt8], values: [UInt8]
  ) throws(ProtocolError) -> Data {
    let storedIndex = compressed(index)
    let storedValues = compressed(values)
    var header = changeSet.header
    header.headerSize = ChangeSetHeader.size
    header.objectCount = changeSet.index.objectCount
    header.newObjectCount = changeSet.index.newObjectCount
    header.indexSize = .init(
      stored: (storedIndex ?? index).count, raw: index.count, isCompressed: storedIndex != nil)
    header.valuesSize = .init(
      stored: (storedValues ?? values).count, raw: values.count,
      isCompressed: storedValues != nil)
    try header.check(limits)

    var frame = Data(capacity: header.frameSize)
    frame.append(contentsOf: header.encodedFields)
    frame.append(contentsOf: repeatElement(0, count: ChangeSetHeader.digestSize))
    frame.append(contentsOf: storedIndex ?? index)
    frame.append(contentsOf: storedValues ?? values)
    Self.seal(&frame)
    return frame
  }

  /// Writes the digest of the frame's bytes into it.
  ///
  /// - Parameter frame: At least a header.
  package static func seal(_ frame: inout Data) {
    let digest = ChangeSetHeader.digest(of: frame)
    frame.replaceSubrange(
      frame.startIndex + ChangeSetHeader.digestStart..<frame.startIndex + ChangeSetHeader.size,
      with: digest)
  }

  /// Nil: the section is shorter plain, or compresses so well that a reader would take it for a
  /// bomb.
  private func compressed(_ section: [UInt8]) -> [UInt8]? {
    guard compressionLevel != 0, let stream = Zlib.deflate(section, level: compressionLevel),
      limits.allows(inflating: stream.count, to: section.count)
    else { return nil }
    return stream
  }
}
