import Foundation

/// Parts of pushes that are kept beside the log until the last one comes.
extension ZoneLog {
  struct StagedPart: Sendable {
    let header: ChangeSetHeader
    let frame: Data
    var milliseconds: UInt64
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
    for number in 1..<last.part {
      let part = staged[last.replica]?.first {
        $0.header.pushNumber == last.pushNumber && $0.header.part == number
          && $0.header.isOfSamePush(as: last)
      }
      guard let part else { throw .notStaged(number) }
      frames.append(part.frame)
    }
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
}

extension ProtocolError {
  /// A part of a push is not here.
  package static func notStaged(_ part: UInt16) -> ProtocolError {
    ProtocolError(
      .notStaged, "Part \(part) of the push is not here", suggestion: "Send it whole.")
  }
}
