/// Gives the bytes of a section in order, inflated as they are asked for: they are not in memory whole.
struct SectionReader {
  private let stored: UnsafeRawBufferPointer
  private let inflater: Inflater?
  /// Bytes of the section that were not asked for so far.
  private(set) var left: Int
  // What was inflated ahead: a byte at a time would be dear.
  private var ahead: [UInt8] = []
  private var place = 0
  private static let aheadBytes = 64 << 10

  /// - Parameter stored: As the frame has it; stays where it is as long as this is used.
  init(_ stored: UnsafeRawBufferPointer, _ size: ChangeSetHeader.SectionSize) {
    self.stored = stored
    inflater = size.isCompressed ? Inflater(stored) : nil
    left = size.raw
  }

  mutating func nextByte() throws(ProtocolError) -> UInt8? {
    guard left > 0 else { return nil }
    if place == ahead.count {
      ahead = try fresh(min(left, Self.aheadBytes))
      place = 0
    }
    defer { place += 1 }
    left -= 1
    return ahead[place]
  }

  /// - Parameter count: Not more than are left.
  mutating func next(_ count: Int) throws(ProtocolError) -> [UInt8] {
    let known = min(count, ahead.count - place)
    if known == 0 { return try following(count) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    bytes.append(contentsOf: ahead[place..<place + known])
    place += known
    left -= known
    if known < count { bytes.append(contentsOf: try following(count - known)) }
    return bytes
  }

  private mutating func following(_ count: Int) throws(ProtocolError) -> [UInt8] {
    let bytes = try fresh(count)
    left -= count
    return bytes
  }

  /// Bytes behind those that were inflated ahead.
  private func fresh(_ count: Int) throws(ProtocolError) -> [UInt8] {
    guard let inflater else {
      let start = stored.count - left
      return Array(stored[start..<start + count])
    }
    let bytes = [UInt8](capacity: count) { buffer, made in
      made = inflater.read(into: UnsafeMutableRawBufferPointer(buffer))
    }
    guard bytes.count == count else { throw Self.otherLength }
    return bytes
  }

  /// The section was read to its end.
  ///
  /// - Throws: `ProtocolError` when its stream does not end there.
  func finish() throws(ProtocolError) {
    guard inflater?.isAtEnd ?? true else { throw Self.otherLength }
  }

  private static let otherLength = ProtocolError.damaged(
    "A section does not inflate to the length that the header says")
}
