import DriftlessProtocol

/// How much of pushes whose last part has not come may wait beside the logs. In bytes.
struct StagedRoom {
  /// Of the push that a part is of, without the part itself: one that comes again takes no more room.
  let own: Int
  /// Of other pushes of its replica.
  let others: Int
  /// Of other replicas.
  let foreign: Int

  /// Whether a part's push would have room only where pushes go that nobody goes on with.
  func isCrowded(by part: Push, _ header: ChangeSetHeader, _ limits: ServerLimits) -> Bool {
    let wanted = max(own + part.frame.count, Int(header.pushMebibytes) << 20)
    return foreign + others + wanted > limits.stagedBytesMax
  }

  /// Whether the replica's other pushes have to go for a part.
  ///
  /// What is left of pushes that were stale only saves sending the same bytes once more. Another copy of the store, whose push they
  /// may be, sends them again.
  ///
  /// - Throws: `ServerError`: `.tooLarge` for a push that never has room, `.busy` for one that has none now.
  func takesOthers(
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
    if others + wanted <= limits.stagedBytesPerReplicaMax,
      foreign + others + wanted <= limits.stagedBytesMax
    {
      return false
    }
    guard foreign + wanted <= limits.stagedBytesMax else {
      throw ServerError.busy("too many large pushes are under way")
    }
    return true
  }
}

extension ChangeSetHeader {
  /// Refuses a part that is not of the push whose parts are here under its number: another copy of the store sends it.
  ///
  /// - Parameter staged: The header of a part that is here, of the same replica and number.
  func checkCopies(
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
