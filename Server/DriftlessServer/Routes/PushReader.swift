import DriftlessProtocol
package import Foundation

/// Reads a frame as far as the server needs: its header and its index section, never its values.
package struct PushReader: Sendable {
  private let decoder: ChangeSetDecoder
  private let limits: ServerLimits

  package init(limits: ServerLimits) {
    var bounds = ChangeSetLimits()
    bounds.frameBytesMax = limits.bodyBytesMax
    bounds.indexBytesMax = min(bounds.indexBytesMax, limits.inflatedBytesMax)
    bounds.objectsMax = limits.objectsPerPushMax
    decoder = ChangeSetDecoder(limits: bounds)
    self.limits = limits
  }

  /// - Throws: `ProtocolError` when the bytes are not a change set, `ServerError` (`.clockAhead`).
  package func read(_ frame: Data, nowMilliseconds: UInt64) throws -> Push {
    let (header, index) = try decoder.checkedIndex(frame)
    try checkClock(index, nowMilliseconds)
    var contents = Push.Contents()
    contents.identities = Self.identities(index)
    contents.touches = Self.touches(index)
    return Push(
      replica: header.replica, number: header.pushNumber, cursor: header.cursor,
      mark: header.mark, frame: frame, digest: header.digest, contents: contents)
  }

  /// A clock that runs ahead would win every conflict until the others catch up.
  private func checkClock(_ index: ChangeSetIndex, _ nowMilliseconds: UInt64) throws {
    let latest = index.transactions.map { $0.hybridTime >> 16 }.max() ?? 0
    guard latest > nowMilliseconds else { return }
    let ahead = latest - nowMilliseconds
    guard ahead > UInt64(limits.clockAheadMillisecondsMax) else { return }
    throw ServerError(
      .clockAhead,
      "a change of the push lies \(ahead / 1000) seconds ahead of the server's clock, "
        + "\(nowMilliseconds) milliseconds since 1970",
      suggestion: "Set the clock of the host that made the change, and of the server, right.")
  }

  private static func identities(_ index: ChangeSetIndex) -> [Push.IdentityRun] {
    index.newObjects.flatMap { objects -> [Push.IdentityRun] in
      switch objects.identities {
      case .range(let first, let count):
        count > 0 ? [Push.IdentityRun(first: first, count: UInt64(count))] : []
      case .listed(let identities):
        identities.map { Push.IdentityRun(first: $0, count: 1) }
      }
    }
  }

  /// What is set on a new object in the same push needs no place in the index: its insert covers it.
  private static func touches(_ index: ChangeSetIndex) -> [Push.Touch] {
    let newCount = index.newObjectCount
    return index.groups.compactMap { group in
      guard let kind = kind(of: group) else { return nil }
      let names = index.entities[group.entity].properties
      let numbers = group.objects.compactMap {
        $0 < newCount ? nil : index.knownNumbers[$0 - newCount]
      }
      guard !numbers.isEmpty else { return nil }
      return Push.Touch(
        kind: kind, properties: group.properties.map { names[$0] }, objects: numbers)
    }
  }

  private static func kind(of group: ChangeSetIndex.Group) -> Push.Touch.Kind? {
    switch group.kind {
    case .insert: nil
    case .update: .update
    case .delete: .delete
    case .revive: .revive
    }
  }
}
