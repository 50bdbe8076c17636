import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// When the objects in quarantine that the server found older than the zone, though nothing newer is there, go again: when
/// the zone's log went on, ever more rarely while that is in vain, and with any sync after an hour.
struct ConflictingTries: Codable {
  /// The setting of the store that it is, as JSON. An earlier version had the sequence number alone there.
  static let setting = "sync.conflictingPlace"
  /// So often they go again at once when the log went on: what stood in their way often goes with the next entry.
  private static let promptTries = 2

  /// Where the replica stood in the zone's log when the last of them was set aside. A number would not do: another
  /// generation, or a server that was put back, has it again.
  var place: Cursor
  /// How often they went in vain since the last that is new among them.
  var tries = 0
  /// When they went last, as seconds since 1970.
  var time: Double

  static func load(_ transaction: ReadTransaction) throws -> ConflictingTries? {
    guard case .text(let text)? = try transaction.setting(setting) else { return nil }
    return decode(text)
  }

  static func decode(_ text: String) -> ConflictingTries? {
    try? JSONDecoder().decode(ConflictingTries.self, from: Data(text.utf8))
  }

  func save(_ transaction: WriteTransaction) throws {
    let text = String(decoding: try JSONEncoder().encode(self), as: UTF8.self)
    try transaction.setSetting(Self.setting, .text(text))
  }

  func isDue(at place: Cursor, now: Date) -> Bool {
    let waited = now.timeIntervalSince1970 - time
    // A clock that was set back says nothing.
    guard waited >= 0, waited < SyncTuning.conflictingPauseSecondsMax else { return true }
    return place != self.place && waited >= pause
  }

  /// Seconds.
  private var pause: Double {
    guard tries >= Self.promptTries else { return 0 }
    let doublings = Double(min(tries - Self.promptTries, 32))
    return min(
      SyncTuning.conflictingPauseSeconds * exp2(doublings), SyncTuning.conflictingPauseSecondsMax)
  }
}
