public import Foundation

/// Reads the bytes of a change set.
///
/// Any bytes whatever give a change set that keeps the laws of `ChangeSet`, or an error; they never
/// trap and never take more memory than `limits` allow.
public struct ChangeSetDecoder: Sendable {
  /// What is refused before memory is taken for it.
  public var limits: ChangeSetLimits

  /// - Parameter limits: What is refused before memory is taken for it.
  public init(limits: ChangeSetLimits = ChangeSetLimits()) {
    self.limits = limits
  }

  /// Reads the header: of a frame, or of the first 192 bytes of one. Does not check the digest.
  ///
  /// - Throws: `ProtocolError`.
  public func decodeHeader(_ frame: Data) throws(ProtocolError) -> ChangeSetHeader {
    guard frame.count >= ChangeSetHeader.size else {
      throw .damaged("The change set has \(frame.count) bytes, fewer than its header")
    }
    let header = try ChangeSetHeader(decoding: Array(frame.prefix(ChangeSetHeader.size)))
    try header.check(limits)
    return header
  }

  /// Reads what a frame touches, and checks the frame's digest; leaves its values as they are.
  ///
  /// - Throws: `ProtocolError`.
  public func decodeIndex(
    _ frame: Data
  ) throws(ProtocolError) -> (header: ChangeSetHeader, index: ChangeSetIndex) {
    let header = try checkedHeader(of: frame)
    let section = try section(of: frame, at: header.headerSize, header.indexSize)
    let index = try IndexCodec.decode(section, limits: limits)
    try ChangeSetRules(limits: limits).check(index)
    guard index.objectCount == header.objectCount, index.newObjectCount == header.newObjectCount
    else { throw .malformed("The header counts other objects than the index section has") }
    guard header.namesLargeValues == !index.values.isEmpty else {
      throw .malformed("The flags and the index section differ in whether there are large values")
    }
    return (header, index)
  }

  /// Reads a whole frame.
  ///
  /// - Throws: `ProtocolError`.
  public func decode(_ frame: Data) throws(ProtocolError) -> ChangeSet {
    let (header, index) = try decodeIndex(frame)
    var columns: [Column] = []
    columns.reserveCapacity(index.columnCount)
    try forEachColumn(of: frame, header, index) { columns.append($0) }
    return ChangeSet(header: header, index: index, columns: columns)
  }

  /// Reads what a frame touches, and checks the whole frame, its values too: whatever this takes,
  /// `decode` takes. The values are in memory one column at a time.
  ///
  /// - Throws: `ProtocolError`.
  public func checkedIndex(
    _ frame: Data
  ) throws(ProtocolError) -> (header: ChangeSetHeader, index: ChangeSetIndex) {
    let (header, index) = try decodeIndex(frame)
    try forEachColumn(of: frame, header, index) { _ in }
    return (header, index)
  }

  func forEachColumn(
    of frame: Data, _ header: ChangeSetHeader, _ index: ChangeSetIndex, _ body: (Column) -> Void
  ) throws(ProtocolError) {
    let size = header.valuesSize
    let stored = frame.dropFirst(header.headerSize + header.indexSize.stored).prefix(size.stored)
    var named = NamedValues()
    do {
      try stored.withUnsafeBytes { bytes in
        var section = SectionReader(bytes, size)
        try ValuesCodec.forEachColumn(&section, index: index, limits: limits) { column in
          named.add(column)
          body(column)
        }
      }
    } catch {
      throw error as? ProtocolError ?? .damaged("A section does not inflate")
    }
    try named.check(index.values, limits)
  }

  private func checkedHeader(of frame: Data) throws(ProtocolError) -> ChangeSetHeader {
    let header = try decodeHeader(frame)
    guard frame.count == header.frameSize else {
      throw .damaged("The change set has \(frame.count) bytes, its header says \(header.frameSize)")
    }
    guard ChangeSetHeader.digest(of: frame) == header.digest else {
      throw .damaged("The digest of the change set does not fit its bytes")
    }
    return header
  }

  private func section(
    of frame: Data, at start: Int, _ size: ChangeSetHeader.SectionSize
  ) throws(ProtocolError) -> [UInt8] {
    let stored = frame.dropFirst(start).prefix(size.stored)
    guard size.isCompressed else { return Array(stored) }
    do {
      return try stored.withUnsafeBytes { try Zlib.inflate($0, size: size.raw) }
    } catch {
      throw error as? ProtocolError ?? .damaged("A section does not inflate")
    }
  }
}
