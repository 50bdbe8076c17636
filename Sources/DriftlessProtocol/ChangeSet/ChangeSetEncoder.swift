import Crypto
public import Foundation

/// Makes the bytes of a change set: its frame.
///
/// A frame is the 128-byte header (`ChangeSetHeader`), the index section (`IndexCodec`), and the
/// values section (`ColumnCodec`), each section a zlib stream of its own, or plain where that is
/// shorter. Equal change sets give equal bytes (of one zlib).
public struct ChangeSetEncoder: Sendable {
  public var limits: ChangeSetLimits

  public init(limits: ChangeSetLimits = ChangeSetLimits()) {
    self.limits = limits
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
    header.objectCount = changeSet.index.objectCount
    header.newObjectCount = changeSet.index.newObjectCount
    header.indexSize = .init(
      stored: (storedIndex ?? index).count, raw: index.count, isCompressed: storedIndex != nil)
    header.valuesSize = .init(
      stored: (storedValues ?? values).count, raw: values.count,
      isCompressed: storedValues != nil)
    try header.check(limits)

    let fields = header.encodedFields
    var digest = SHA256()
    digest.update(data: fields)
    digest.update(data: storedIndex ?? index)
    digest.update(data: storedValues ?? values)
    var frame = Data(capacity: header.frameSize)
    frame.append(contentsOf: fields)
    frame.append(contentsOf: digest.finalize().prefix(ChangeSetHeader.digestSize))
    frame.append(contentsOf: storedIndex ?? index)
    frame.append(contentsOf: storedValues ?? values)
    return frame
  }

  /// Nil: the section is shorter plain, or compresses so well that a reader would take it for a bomb.
  private func compressed(_ section: [UInt8]) -> [UInt8]? {
    guard let stream = Zlib.deflate(section),
      limits.allows(inflating: stream.count, to: section.count)
    else { return nil }
    return stream
  }
}
