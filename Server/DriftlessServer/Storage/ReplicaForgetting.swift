public import Foundation

/// Which replicas of a zone an operator has forgotten.
public enum ForgettingChoice: Sendable {
  case named([UUID])
  /// Those that were not seen for so many days before a replica of the zone was seen last. Time in which nobody was seen is no
  /// time of absence: it may be a clock that leapt.
  case unseen(days: Int)

  /// The most days.
  public static let daysMax = 36_500
}

/// A replica that was forgotten, or would be.
public struct ForgottenReplica: Sendable {
  /// What was known of it.
  public let report: ReplicaReport
  /// IDs of the tokens that are bound to it and are good still: who has one may come back by it.
  public let boundTokens: [String]

  /// All that there is to say of one.
  public init(
    report: ReplicaReport, boundTokens: [String]
  ) {
    self.report = report
    self.boundTokens = boundTokens
  }
}

/// What a command that forgets replicas did, or would do.
public struct ForgettingReport: Sendable {
  /// The name of the zone.
  public let zone: String
  /// Those that were not seen for longest come first.
  public let replicas: [ForgottenReplica]
  /// Those that were asked for and had been forgotten before.
  public let before: [UUID]
  /// Whether nothing is changed, and what would be is told.
  public let isDryRun: Bool

  /// All that there is to say of one.
  public init(
    zone: String, replicas: [ForgottenReplica], before: [UUID], isDryRun: Bool
  ) {
    self.zone = zone
    self.replicas = replicas
    self.before = before
    self.isDryRun = isDryRun
  }
}

/// Who is to be forgotten, of the replicas that a zone knows.
struct ForgettingPlan {
  let replicas: [ForgottenReplica]
  let before: [UUID]

  /// - Parameters:
  ///   - known: all replicas of the zone, but for those that are forgotten.
  ///   - forgotten: those that are.
  ///   - now: the time by which absence is reckoned. Milliseconds since 1970.
  /// - Throws: `ServerError` (`.notFound`) for one that the zone does not know.
  init(
    _ choice: ForgettingChoice, of zone: ZoneRecord, known: [ReplicaReport], forgotten: Set<UUID>,
    tokens: [TokenRecord], at now: Int64
  ) throws {
    let chosen: [ReplicaReport]
    switch choice {
    case .unseen(let days):
      before = []
      let newest = known.compactMap(\.lastHeardMilliseconds).max() ?? now
      let limit = min(now, newest) - Int64(days) * 86_400_000
      chosen = known.filter { ($0.lastHeardMilliseconds ?? .min) < limit }
    case .named(let names):
      let byName = Dictionary(known.map { ($0.replica, $0) }) { first, _ in first }
      var seen: Set<UUID> = []
      let asked = names.filter { seen.insert($0).inserted }
      before = asked.filter { byName[$0] == nil && forgotten.contains($0) }
      if let unknown = asked.first(where: { byName[$0] == nil && !forgotten.contains($0) }) {
        throw ServerError(
          .notFound,
          "the zone \(zone.name) knows no replica \(unknown.uuidString.lowercased()); nothing was changed",
          suggestion: "See those that it knows: driftless-server replica list --zone \(zone.name)")
      }
      chosen = asked.compactMap { byName[$0] }
    }
    let bound = Dictionary(
      grouping: tokens.filter { $0.zoneID == zone.id && $0.isGood(at: now) }
        .compactMap { token in token.binding.replica.map { (replica: $0, id: token.id) } },
      by: \.replica)
    replicas = chosen.sorted {
      let times = ($0.lastHeardMilliseconds ?? .min, $1.lastHeardMilliseconds ?? .min)
      return times.0 != times.1
        ? times.0 < times.1 : $0.replica.uuidString < $1.replica.uuidString
    }.map { ForgottenReplica(report: $0, boundTokens: bound[$0.replica]?.map(\.id) ?? []) }
  }

  /// The lines of the record of who did what: one for each that was named, and one for all that were unseen, which would push
  /// out what others did.
  func events(
    _ choice: ForgettingChoice, of zone: ZoneRecord, at now: Int64
  ) -> [AuditEvent] {
    guard !replicas.isEmpty else { return [] }
    switch choice {
    case .named:
      return replicas.map {
        AuditEvent(
          .replicaForgotten, zone: zone.name, subject: $0.report.replica.uuidString.lowercased(),
          detail: $0.report.name ?? $0.report.tokenName, at: now)
      }
    case .unseen(let days):
      return [
        AuditEvent(
          .replicaForgotten, zone: zone.name,
          detail: "not seen for \(days) day\(days == 1 ? "" : "s")", count: replicas.count, at: now)
      ]
    }
  }
}

extension ReplicaReport {
  /// When something of it came last; nil where nobody knows.
  package var lastHeardMilliseconds: Int64? {
    [lastSeenMilliseconds, lastPushMilliseconds].compactMap(\.self).max()
  }
}

extension TokenRecord {
  fileprivate func isGood(at milliseconds: Int64) -> Bool {
    revokedMilliseconds == nil && (expiresMilliseconds ?? .max) > milliseconds
  }
}
