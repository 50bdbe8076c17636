public import Foundation

/// Reads the bytes of a change set.
///
/// Any bytes whatever give a change set that keeps the laws of `ChangeSet`, or an error; they never
/// trap and never take more memory than `limits` allow.
public struct ChangeSetDecoder: Sendable {
  public var limits: ChangeSetLimits

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
    return (header, index)
  }

  /// Reads a whole frame.
  ///
  /// - Throws: `ProtocolError`.
  public func decode(_ frame: Data) throws(ProtocolError) -> ChangeSet {
    let (header, index) = try decodeIndex(frame)
    let values = try values(of: frame, header)
    let columns = try ValuesCodec.decode(values, index: index, limits: limits)
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
    try ValuesCodec.check(try values(of: frame, header), index: index, limits: limits)
    return (header, index)
  }

  private func values(
    of frame: Data, _ header: ChangeSetHeader
  ) throws(ProtocolError) -> [UInt8] {
    try section(of: frame, at: header.headerSize + header.indexSize.stored, header.valuesSize)
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
