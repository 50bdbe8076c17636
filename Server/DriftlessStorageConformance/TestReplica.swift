package import DriftlessProtocol
package import DriftlessServer
package import Foundation

/// One replica that pushes.
package struct TestReplica: Sendable {
  package let id = UUID()
  package var number: UInt64 = 0
  /// Place 0 stands for the beginning of any log.
  package var cursor = LogMark(sequence: 0, chain: .start(generation: UUID()))

  package init() {}

  /// The next push of this replica.
  package mutating func push(
    _ generation: UUID, inserts: [Push.IdentityRun] = [], _ touches: Push.Touch...,
    size: Int = 300
  ) -> Push {
    number += 1
    return push(number, generation, inserts: inserts, touches, size: size)
  }

  /// A push of any number; its bytes follow from what is in it.
  package func push(
    _ number: UInt64, _ generation: UUID, inserts: [Push.IdentityRun] = [],
    _ touches: [Push.Touch] = [], size: Int = 300, fill: UInt8 = 7
  ) -> Push {
    var frame = Data(repeating: fill, count: size)
    frame.replaceSubrange(0..<8, with: withUnsafeBytes(of: number) { Data($0) })
    var contents = Push.Contents()
    contents.identities = inserts
    contents.touches = touches
    return Push(
      replica: id, number: number,
      cursor: Cursor(
        generation: generation, sequence: cursor.sequence,
        chain: cursor.sequence == 0 ? .start(generation: generation) : cursor.chain),
      mark: nil, frame: frame, digest: Data("\(fill)-\(size)-\(number)".utf8),
      contents: contents)
  }
}

/// What another replica sent to a log that has lost it since.
enum LostEntry {
  /// The entry that came after the zone's head.
  ///
  /// - Parameter milliseconds: the newest time in it. Since 1970.
  static func next(in zone: ZoneRecord, at milliseconds: UInt64 = 0) -> Refill {
    let made = TestReplica().push(1, zone.generation)
    var contents = Push.Contents()
    contents.newestMilliseconds = milliseconds
    let push = Push(
      replica: made.replica, number: 1, cursor: made.cursor, mark: nil, frame: made.frame,
      digest: ChangeSetHeader.storedDigest(of: made.frame) ?? Data(), contents: contents)
    let sequence = zone.head + 1
    let chain = zone.chain.next(
      digest: push.digest, sequence: sequence, firstObjectNumber: zone.nextObject)
    let entry = PullPage.Entry(
      sequence: sequence, firstObjectNumber: zone.nextObject, chain: chain,
      isOwnHeaderOnly: false, frame: push.frame)
    return (entry, push)
  }
}

extension Push.Touch {
  package static func update(_ properties: [String], of objects: [UInt64]) -> Push.Touch {
    Push.Touch(kind: .update, properties: properties, objects: objects)
  }

  package static func delete(_ objects: [UInt64]) -> Push.Touch {
    Push.Touch(kind: .delete, properties: [], objects: objects)
  }

  package static func revive(_ objects: [UInt64]) -> Push.Touch {
    Push.Touch(kind: .revive, properties: ["title"], objects: objects)
  }
}
