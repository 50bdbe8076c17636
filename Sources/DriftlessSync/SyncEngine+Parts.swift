import Driftless
import DriftlessProtocol
import Foundation

extension SyncEngine {
  /// Sends the change set in flight; of a push in several parts first those that the server does not have.
  func sendParts(of outbox: Outbox) async throws -> PushReply {
    // What is stale is built anew, and no value of it has to be there for that: the server says first what it lacks. It may let go
    // of some after it said that it has them.
    for _ in 0..<2 {
      do {
        return try await sendAll(of: outbox)
      } catch let error as ProtocolError where error.code == .valuesMissing {
        try await uploadValues(of: outbox)
      }
    }
    return try await sendAll(of: outbox)
  }

  /// The same without the large values that it names.
  func sendAll(of outbox: Outbox) async throws -> PushReply {
    guard outbox.earlierParts > 0 else { return try await answered(outbox) }
    try await stageParts(of: outbox)
    do {
      return try await answered(outbox)
    } catch let error as ProtocolError where error.code == .notStaged {
      // It let go of some, or was put back.
      try bookkeep { try OutboxPart.askForAll(on: $0.connection) }
      try await stageParts(of: outbox)
      return try await answered(outbox)
    }
  }

  /// Whether what was refused as too large may go in smaller parts, which it is built in from then on. A proxy before the
  /// server has a limit of its own, which nobody tells.
  func mayGoInSmallerParts(_ outbox: Outbox) -> Bool {
    guard !takesNoParts, outbox.objects > 1,
      let earlier = try? store.read({ try OutboxPart.bytesMax(on: $0.connection) })
    else { return false }
    let refused = max(outbox.frame.count, earlier)
    let next = min(partBytesTaken ?? .max, refused) / 2
    guard refused > SyncTuning.partBytesLeast, next >= SyncTuning.partBytesLeast / 2 else {
      return false
    }
    partBytesTaken = next
    return true
  }

  private func answered(_ outbox: Outbox) async throws -> PushReply {
    let reply = try await transport.push(outbox.frame)
    guard outbox.isAnswered(by: reply) else { throw SyncError.otherAnswer }
    if outbox.earlierParts > 0 { partsMayBeThere = false }
    return reply
  }

  /// Sends the parts that the server is not known to have. What it said that it keeps is noted, so that after a break the rest
  /// goes alone.
  private func stageParts(of outbox: Outbox) async throws {
    for number in 1...outbox.earlierParts {
      let part = try store.read { transaction -> OutboxPart? in
        let connection = transaction.connection
        guard try outbox.isStored(on: connection) else {
          throw SyncError(
            .superseded, "The store was enrolled or put back while its change set was under way.",
            suggestion: "Sync again.")
        }
        // One that the server has is not read.
        guard try OutboxPart.standing(of: number, on: connection) != .staged else { return nil }
        return try OutboxPart.load(number, from: connection)
      }
      guard let part else { continue }
      do {
        try await stage(part)
      } catch let error as ProtocolError where error.code == .unsupported {
        takesNoParts = true
        throw error
      }
      partsMayBeThere = true
      try bookkeep { try OutboxPart.set(.staged, of: number, on: $0.connection) }
      trimMemory(after: part.frame.count)
    }
  }

  private func stage(_ part: OutboxPart) async throws {
    var answer: StagedReply?
    if part.standing == .asked {
      do {
        answer = try await transport.stage(Data(part.frame.prefix(ChangeSetHeader.size)))
      } catch let error as ProtocolError where error.code == .notStaged {}
    }
    if answer == nil { answer = try await transport.stage(part.frame) }
    guard answer?.part == part.number,
      answer?.digest == ChangeSetHeader.storedDigest(of: part.frame)
    else { throw SyncError.otherAnswer }
  }
}
