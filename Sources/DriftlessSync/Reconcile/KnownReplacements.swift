import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// The replacements of its zone that a replica has taken part in, or was enrolled after. A generation that follows one of
/// which it never heard does not want what it holds, however often the zone began anew since.
enum KnownReplacements {
  private static let setting = "sync.replacements"

  /// Whether the zone was replaced on purpose since the replica last heard of it.
  static func misses(_ info: ZoneInfo, _ transaction: ReadTransaction) throws -> Bool {
    guard let known = try load(transaction) else { return info.intent == .replace }
    guard let newest = info.replacements.last else { return info.intent == .replace }
    return !known.contains(newest)
  }

  /// Whether the store was enrolled by a program that kept none, and has heard of none since.
  static func areUnknown(_ transaction: ReadTransaction) throws -> Bool {
    try load(transaction) == nil
  }

  /// From now on what the replica holds is the zone's, or meant for it.
  static func learn(_ info: ZoneInfo, _ transaction: WriteTransaction) throws {
    let known = try load(transaction)
    let all = (known ?? []).filter { !info.replacements.contains($0) } + info.replacements
    let kept = Array(all.suffix(ZoneInfo.replacementsMax))
    guard kept != known else { return }
    let text = String(decoding: try JSONEncoder().encode(kept), as: UTF8.self)
    try transaction.setSetting(setting, .text(text))
  }

  /// What was learned of another zone is nothing here.
  static func forget(_ transaction: WriteTransaction) throws {
    try transaction.setSetting(setting, nil)
  }

  /// Nil where the store was enrolled by a program that kept none, until its next sync.
  private static func load(_ transaction: ReadTransaction) throws -> [UUID]? {
    guard case .text(let text)? = try transaction.setting(setting) else { return nil }
    return try? JSONDecoder().decode([UUID].self, from: Data(text.utf8))
  }
}
