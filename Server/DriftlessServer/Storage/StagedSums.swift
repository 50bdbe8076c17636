import DriftlessProtocol
import Foundation

/// Bytes of parts that wait beside the logs, as one transaction knows them: each sum is asked of the database once, and counted on
/// from there. A sum goes over all that waits, and a refill may bring thousands of parts.
struct StagedSums {
  /// Which parts.
  enum Scope: Hashable {
    case all
    case zone(Int64)
    case replica(UUID, zone: Int64)
    case push(UUID, UInt64)
  }

  private var known: [Scope: Int] = [:]

  /// Whether nothing was asked for so far.
  var isEmpty: Bool { known.isEmpty }

  /// - Parameter ask: asks the database, where the sum is not known.
  /// - Throws: what `ask` throws.
  mutating func bytes(of scope: Scope, _ ask: (Scope) throws -> Int) rethrows -> Int {
    if let bytes = known[scope] { return bytes }
    let bytes = try ask(scope)
    known[scope] = bytes
    return bytes
  }

  /// So many bytes came to the parts of a push.
  mutating func add(_ bytes: Int, replica: UUID, number: UInt64, zone: Int64) {
    let scopes: [Scope] = [
      .all, .zone(zone), .replica(replica, zone: zone), .push(replica, number),
    ]
    for scope in scopes { known[scope]? += bytes }
  }

  /// So many bytes of a replica's parts went, of whatever push.
  mutating func remove(_ bytes: Int, replica: UUID) {
    for scope in Array(known.keys) {
      switch scope {
      case .all: known[scope]? -= bytes
      case .replica(replica, zone: let zone):
        known[scope]? -= bytes
        known[.zone(zone)]? -= bytes
      case .push(replica, _): known[scope] = nil
      case .zone(let zone) where known[.replica(replica, zone: zone)] == nil: known[scope] = nil
      case .zone, .replica, .push: break
      }
    }
  }

  /// What waits beside a part.
  ///
  /// - Parameters:
  ///   - same: bytes of the part itself, where it is there already: one that comes again takes no more room.
  ///   - ask: asks the database for a sum.
  /// - Throws: what `ask` throws.
  mutating func room(
    beside part: Push, zone: Int64, same: Int, _ ask: (Scope) throws -> Int
  ) rethrows -> StagedRoom {
    let replica = try bytes(of: .replica(part.replica, zone: zone), ask)
    let push = try bytes(of: .push(part.replica, part.number), ask)
    // Of a replica that has come from a deleted zone there may be parts which are not this zone's.
    return StagedRoom(
      own: push - same, others: max(0, replica - push),
      inZone: try bytes(of: .zone(zone), ask) - replica, foreign: try bytes(of: .all, ask) - replica
    )
  }

  /// They may be others by now.
  mutating func forget() { known = [:] }
}
