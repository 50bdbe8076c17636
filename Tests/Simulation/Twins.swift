import DriftlessTesting
import Foundation

/// Stores that came back to their zone, and are there twice before they have read its log again.
extension Simulation {
  /// A person takes the store out of its zone and back, or has it begin anew, and edits; then a copy of the file goes on as a
  /// replica of its own, or is put back after the store has synced. Somebody else may edit what the first one sent.
  func twin(_ host: Host, _ dice: UInt64) async throws {
    guard host.leftAfter == nil, host.home?.server === server else { return }
    var generator = SeededGenerator(seed: dice &+ 71)
    if generator.chance(40) {
      try await beginAnew(host)
    } else {
      try await unenroll(host)
      try await enroll(host)
    }
    for part in UInt64(0)..<2 { try save(host, dice &+ part) }
    let copy = generator.chance(50) ? try clone(host) : nil
    if copy == nil { try backUp(host) }
    host.network.begin(dice: dice)
    try await sync(host, Step(.sync, host.number, dice))
    if generator.chance(60), let other = other(than: host, dice), other !== copy {
      try await sync(other, Step(.sync, other.number, dice))
      try save(other, dice &+ 2)
      try await sync(other, Step(.sync, other.number, dice &+ 1))
    }
    if let copy {
      try await sync(copy, Step(.sync, copy.number, dice &+ 2))
    } else {
      try await restore(host, to: host.backups.count - 1, dice)
      try await sync(host, Step(.sync, host.number, dice &+ 2))
    }
  }
}
