public import Foundation

/// Makes the bytes of a change set: its frame.
///
/// A frame is the 192-byte header (`ChangeSetHeader`), the index section (`IndexCodec`), and the
/// values section (`ColumnCodec`), each section a zlib stream of its own, or plain where that is
/// shorter. Equal change sets give equal bytes (of one zlib).
public struct ChangeSetEncoder: Sendable {
  /// What is refused.
  public var limits: ChangeSetLimits
  /// zlib's level, 1 to 9; 0 leaves the sections plain. 9 gains 1 % over 6, 1 loses 6 %.
  public var compressionLevel: Int32

  /// - Parameters:
  ///   - limits: What is refused.
  ///   - compressionLevel: zlib's, 0 … 9.
  public init(limits: ChangeSetLimits = ChangeSetLimits(), compressionLevel: Int32 = 6) {
    self.limits = limits
    self.compressionLevel = compressionLevel
  }

  /// - Throws: `ProtocolError`: `.malformed` when the change set breaks a law of `ChangeSet`,
  ///   `.tooLarge` when it passes a limit.
  public func encode(_ changeSet: ChangeSet) throws(ProtocolError) -> Data {
    var columns = changeSet.columns
    return try encode(changeSet.header, changeSet.index, &columns)
  }

  /// As above, and lets go of each column when it is written: all of them and their bytes would be twice the memory.
  package func encode(
    _ header: ChangeSetHeader, _ changes: ChangeSetIndex, _ columns: inout [Column]
  ) throws(ProtocolError) -> Data {
    var changes = changes
    changes.values = Column.largeValues(in: columns)
    try ChangeSetRules(limits: limits).check(
      ChangeSet(header: header, index: changes, columns: columns))
    var header = header
    header.namesLargeValues = !changes.values.isEmpty
    header.headerSize = ChangeSetHeader.size
    header.objectCount = changes.objectCount
    header.newObjectCount = changes.newObjectCount
    let index = try section { writer throws(ProtocolError) in
      let bytes = try IndexCodec.encode(changes)
      bytes.withUnsafeBytes { writer.append($0) }
    }
    let values = try section { writer throws(ProtocolError) in
      for place in columns.indices {
        try ValuesCodec.write(columns[place], to: &writer)
        columns[place] = Column(.integers([]))
      }
    }
    header.indexSize = index.size
    header.valuesSize = values.size
    try header.check(limits)

    var frame = Data(capacity: header.frameSize)
    frame.append(contentsOf: header.encodedFields)
    frame.append(contentsOf: repeatElement(0, count: ChangeSetHeader.digestSize))
    for piece in index.pieces + values.pieces { frame.append(contentsOf: piece) }
    Self.seal(&frame)
    return frame
  }

  private func section(
    _ write: (inout SectionWriter) throws(ProtocolError) -> Void
  ) throws(ProtocolError) -> SectionWriter.Section {
    var writer = SectionWriter(level: compressionLevel)
    try write(&writer)
    return try writer.finish(limits)
  }

  /// Says in a frame's header which part of its push it is, which is known when all parts are there.
  ///
  /// - Parameters:
  ///   - frame: What `encode` made.
  ///   - mebibytes: Of the first part, how many MiB all of them take.
  ///   - before: The part before it.
  package static func number(
    _ frame: inout Data, part: UInt16, of parts: UInt16, mebibytes: UInt16, after before: Data?
  ) {
    var bytes: [UInt8] = []
    for value in [part, parts, mebibytes] {
      withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }
    let start = frame.startIndex + ChangeSetHeader.partStart
    frame.replaceSubrange(start..<start + bytes.count, with: bytes)
    let digest =
      before.flatMap { ChangeSetHeader.storedDigest(of: $0) }
      ?? Data(count: ChangeSetHeader.digestSize)
    let place = frame.startIndex + ChangeSetHeader.digestBeforeStart
    frame.replaceSubrange(place..<place + digest.count, with: digest)
    let flags = frame.startIndex + ChangeSetHeader.flagsStart
    if parts > 1 { frame[flags] |= UInt8(ChangeSetHeader.partFlag) }
    seal(&frame)
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
}
