public import Foundation

/// Parts of pushes that are kept beside the log until the last one comes.
extension ZoneLog {
  struct StagedPart: Sendable {
    let header: ChangeSetHeader
    let frame: Data
    var milliseconds: UInt64
  }

  /// Keeps a part of a push beside the log until the last one comes.
  ///
  /// - Parameters:
  ///   - bytes: A frame, or the header alone of one whose bytes are here.
  ///   - nowMilliseconds: The server's clock.
  /// - Throws: `ProtocolError`: `.notStaged` for a header whose bytes are not here, and as `append`.
  public mutating func stage(
    _ bytes: Data, nowMilliseconds: UInt64
  ) throws(ProtocolError) -> StagedReply {
    let frame = try stagedFrame(bytes)
    let (header, contents) = try read(frame)
    guard header.cursor.generation == generation else { throw generationChanged }
    guard header.isFollowedByParts else {
      throw .malformed("The last part of a push is not kept beside the log")
    }
    if header.pushNumber > pushes[header.replica]?.lastNumber ?? 0 {
      try check(header.cursor.mark)
      if let mark = header.mark { try check(mark) }
      try check(contents.transactions, nowMilliseconds)
      try checkCopies(header)
      keep(StagedPart(header: header, frame: frame, milliseconds: nowMilliseconds))
    }
    return StagedReply(
      pushNumber: header.pushNumber, part: header.part, digest: header.digest,
      serverTimeMilliseconds: nowMilliseconds)
  }

  /// All parts of a push, each an entry of its own, one after the other; all or none.
  mutating func publish(
    _ last: Data, _ header: ChangeSetHeader, _ nowMilliseconds: UInt64
  ) throws(ProtocolError) -> PushReply {
    let frames = try partsBefore(header) + [last]
    var trial = self
    try trial.letGo(frames)
    var number = trial.index.nextNumber
    let firstNumber = number
    for frame in frames {
      var (part, contents) = try read(frame)
      guard contents.farthestMadeBefore <= number - firstNumber else {
        throw .malformed("Part \(part.part) names an object that no part before it makes")
      }
      contents.number(from: number)
      var before = trial.pushes[part.replica] ?? Pushes()
      // The parts before it are what it goes with.
      if part.part > 1 { part.mark = nil }
      before.lastNumber = 0
      do {
        try trial.append(frame, part, contents, before)
      } catch {
        throw ProtocolError(
          error.code, error.message, suggestion: error.suggestion, head: head,
          objects: error.objects)
      }
      number += UInt64(part.newObjectCount)
    }
    self = trial
    staged[header.replica] = nil
    receivedMilliseconds = max(receivedMilliseconds, nowMilliseconds)
    return reply(head, nowMilliseconds)
  }

  /// What the parts let go of goes before any of them takes something.
  mutating func letGo(_ frames: [Data]) throws(ProtocolError) {
    var number = index.nextNumber
    for frame in frames {
      var (part, contents) = try read(frame)
      contents.number(from: number)
      index.letGo(contents, firstNumber: number)
      number += UInt64(part.newObjectCount)
    }
  }

  /// An entry that others of its push follow waits for them.
  mutating func takeInParts(_ entry: PullPage.Entry) throws(ProtocolError) {
    let header = try decoder.decodeHeader(entry.frame)
    guard header.parts > 1 else { return try take(entry) }
    refilling[entry.sequence] = entry
    guard !header.isFollowedByParts else { return }
    guard entry.sequence - head == UInt64(header.parts) else { throw diverged }
    var parts: [PullPage.Entry] = []
    for (place, sequence) in (head + 1...entry.sequence).enumerated() {
      guard let part = refilling[sequence] else { throw .notStaged(UInt16(clamping: place + 1)) }
      parts.append(part)
    }
    try letGo(parts.map(\.frame))
    for part in parts { try take(part) }
    refilling = [:]
  }

  /// Refuses a part that is not of the push whose parts are here under its number: each number is for one push alone.
  private func checkCopies(_ header: ChangeSetHeader) throws(ProtocolError) {
    for other in staged[header.replica] ?? [] where other.header.pushNumber == header.pushNumber {
      let isSame =
        switch other.header.part {
        case header.part: other.header.digest == header.digest
        case header.part &- 1: other.header.digest == header.digestBefore
        case header.part &+ 1: other.header.digestBefore == header.digest
        default: other.header.isOfSamePush(as: header)
        }
      guard isSame else { throw .otherPush(header.pushNumber) }
    }
  }

  /// So long after the last part came, the parts of a push are kept. Milliseconds.
  private static let keptMilliseconds: UInt64 = 7 * 86_400_000

  mutating func keep(_ part: StagedPart) {
    let now = part.milliseconds
    for (replica, parts) in staged
    where parts.allSatisfy({ $0.milliseconds + Self.keptMilliseconds < now }) {
      staged[replica] = nil
    }
    var parts = staged[part.header.replica] ?? []
    parts.removeAll {
      $0.header.digest == part.header.digest
        || ($0.header.pushNumber == part.header.pushNumber && $0.header.part == part.header.part)
        || $0.hasBytes(of: part.header, in: part.frame)
    }
    staged[part.header.replica] = parts + [part]
  }

  /// The frame that a header is of, where its bytes are here.
  func stagedFrame(_ bytes: Data) throws(ProtocolError) -> Data {
    let header = try decoder.decodeHeader(bytes)
    guard bytes.count == ChangeSetHeader.size, header.frameSize > bytes.count else { return bytes }
    for part in staged[header.replica] ?? [] where part.header.frameSize == header.frameSize {
      let frame = bytes + part.frame.dropFirst(ChangeSetHeader.size)
      if ChangeSetHeader.isWhole(frame) { return frame }
    }
    throw .notStaged(header.part)
  }

  /// The parts that come before the last one of a push.
  func partsBefore(_ last: ChangeSetHeader) throws(ProtocolError) -> [Data] {
    guard last.part == last.parts else {
      throw .malformed("The push ends with part \(last.part) of \(last.parts)")
    }
    var frames: [Data] = []
    var digest: Data?
    for number in 1..<last.part {
      let part = staged[last.replica]?.first {
        $0.header.pushNumber == last.pushNumber && $0.header.part == number
      }
      guard let part else { throw .notStaged(number) }
      guard part.header.goesOn(from: digest, in: last) else { throw .otherPush(last.pushNumber) }
      digest = part.header.digest
      frames.append(part.frame)
    }
    guard last.digestBefore == digest else { throw .otherPush(last.pushNumber) }
    return frames
  }
}

extension ZoneLog.StagedPart {
  /// Whether it is what another header has made of the same bytes.
  fileprivate func hasBytes(of other: ChangeSetHeader, in frame: Data) -> Bool {
    header.frameSize == other.frameSize
      && self.frame.dropFirst(ChangeSetHeader.size) == frame.dropFirst(ChangeSetHeader.size)
  }
}

extension ChangeSetHeader {
  /// Whether two parts say the same of their push.
  package func isOfSamePush(as other: ChangeSetHeader) -> Bool {
    replica == other.replica && pushNumber == other.pushNumber && parts == other.parts
      && cursor == other.cursor && mark == other.mark && formatLevel == other.formatLevel
      && massDeleteIsMeant == other.massDeleteIsMeant
  }

  /// Whether this is the part of a push that comes after one with a digest; nil for the first.
  package func goesOn(from digest: Data?, in push: ChangeSetHeader) -> Bool {
    isOfSamePush(as: push) && digestBefore == digest
  }
}

extension ProtocolError {
  /// The parts that are here under a push number are another push's.
  package static func otherPush(_ number: UInt64) -> ProtocolError {
    ProtocolError(
      .forked, "Push number \(number) of this replica is something else",
      suggestion: "The store is a copy or was restored: give it a new replica ID.")
  }

  /// A part of a push is not here.
  package static func notStaged(_ part: UInt16) -> ProtocolError {
    ProtocolError(
      .notStaged, "Part \(part) of the push is not here", suggestion: "Send it whole.")
  }
}
