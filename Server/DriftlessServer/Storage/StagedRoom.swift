import DriftlessProtocol

/// How much of pushes whose last part has not come may wait beside the logs.
enum StagedRoom {
  /// - Parameters:
  ///   - own: bytes of the replica's parts that wait.
  ///   - all: bytes of all replicas' parts that wait.
  /// - Throws: `ServerError`: `.tooLarge` for a push that never has room, `.busy` for one that has none now.
  static func check(
    for part: Push, _ header: ChangeSetHeader, own: Int, all: Int, _ limits: ServerLimits
  ) throws {
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
    guard all - own + wanted <= limits.stagedBytesMax else {
      throw ServerError.busy("too many large pushes are under way")
    }
  }
}
