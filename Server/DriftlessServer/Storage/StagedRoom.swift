public import DriftlessProtocol

/// How much of pushes whose last part has not come may wait beside the logs. In bytes.
public struct StagedRoom: Sendable {
  /// Of the push that a part is of, without the part itself: one that comes again takes no more room.
  let own: Int
  /// Of other pushes of its replica.
  let others: Int
  /// Of other replicas of its zone.
  let inZone: Int
  /// Of other replicas.
  let foreign: Int

  /// What waits.
  ///
  /// - Parameters:
  ///   - own: of the push that a part is of, without the part itself.
  ///   - others: of other pushes of its replica.
  ///   - inZone: of other replicas of its zone.
  ///   - foreign: of other replicas, in all zones.
  public init(own: Int, others: Int, inZone: Int, foreign: Int) {
    self.own = own
    self.others = others
    self.inZone = inZone
    self.foreign = foreign
  }

  /// Whether a part's push would have room only where pushes go that nobody goes on with: a storage lets go of such first.
  public func isCrowded(by part: Push, _ header: ChangeSetHeader, _ limits: ServerLimits) -> Bool {
    let wanted = max(own + part.frame.count, Int(header.pushMebibytes) << 20)
    return !hasRoom(for: others + wanted, limits)
  }

  /// Whether there is room for so much of the replica beside what others have: in all, and in its zone's part, which is half of that,
  /// but one replica's in any case. Nobody's zone is kept out by what another one leaves waiting.
  private func hasRoom(for bytes: Int, _ limits: ServerLimits) -> Bool {
    let most = limits.stagedBytesMax
    let zoneMost = max(most / 2, min(limits.stagedBytesPerReplicaMax, most))
    return foreign + bytes <= most && inZone + bytes <= zoneMost
  }

  /// Whether the replica's other pushes have to go for a part.
  ///
  /// What is left of pushes that were stale only saves sending the same bytes once more. Another copy of the store, whose push they
  /// may be, sends them again.
  ///
  /// - Throws: `ServerError`: `.tooLarge` for a push that never has room, `.busy` for one that has none now.
  public func takesOthers(
    for part: Push, _ header: ChangeSetHeader, _ limits: ServerLimits
  ) throws -> Bool {
    let declared = Int(header.pushMebibytes) << 20
    let wanted = max(own.addingReportingOverflow(part.frame.count).partialValue, declared)
    guard wanted <= limits.stagedBytesPerReplicaMax, Int(header.parts) <= limits.partsPerPushMax
    else {
      throw ServerError(
        .tooLarge,
        "the push has \(header.parts) parts, and \(wanted) bytes wait for its last one "
          + "(partsPerPushMax, stagedBytesPerReplicaMax)",
        suggestion: "Save fewer changes at a time, or have the operator raise the limits.")
    }
    if others + wanted <= limits.stagedBytesPerReplicaMax, hasRoom(for: others + wanted, limits) {
      return false
    }
    guard hasRoom(for: wanted, limits) else {
      throw ServerError.busy("too many large pushes are under way")
    }
    return true
  }
}

extension ChangeSetHeader {
  /// Refuses a part that is not of the push whose parts are here under its number: another copy of the store sends it.
  ///
  /// A storage that takes pushes in parts asks this of each part, before it makes room for it.
  ///
  /// - Parameters:
  ///   - number: the push's.
  ///   - staged: the header of a part that is here, of the same replica and number; nil where that part is not here.
  /// - Throws: `ProtocolError` (`forked`), and what `staged` throws.
  public func checkCopies(
    of number: UInt64, staged: (UInt16) throws -> ChangeSetHeader?
  ) throws {
    if try staged(part).map({ $0.digest != digest }) ?? false
      || staged(part &- 1).map({ $0.digest != digestBefore }) ?? false
      || staged(part &+ 1).map({ $0.digestBefore != digest }) ?? false
    {
      throw ProtocolError.otherPush(number)
    }
  }
}
