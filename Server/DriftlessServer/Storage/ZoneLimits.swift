import Foundation

/// Bounds of one zone beside those of the server, which hold as well (`ServerLimits`). They are in force with the next push.
public struct ZoneLimits: Sendable, Hashable {
  /// Bytes of the log's entries, as far as they were not purged. A push that passes them gets 507.
  public var logBytesMax: Int?
  /// Entries of the log that were not purged. A further push gets 507.
  public var logEntriesMax: Int?
  /// Bytes of the zone's large values, those too that come. A further one gets 507.
  public var largeValueBytesMax: Int?
  /// Replicas that may push to the zone. A further one gets 507.
  public var replicasMax: Int?

  /// None.
  public init() {}

  /// How much a refill may pass a bound by, where nothing says that the log was put back: so may one that was, by another's hand.
  static func refillMost(_ most: Int) -> Int { most + most / 8 }

  private static let fields: [(String, any WritableKeyPath<ZoneLimits, Int?> & Sendable)] = [
    ("logBytesMax", \.logBytesMax), ("logEntriesMax", \.logEntriesMax),
    ("largeValueBytesMax", \.largeValueBytesMax), ("replicasMax", \.replicasMax),
  ]

  /// The names that a zone's bounds have.
  public static var names: [String] { fields.map(\.0) }

  /// What a bound of that name is, for people.
  public static func meaning(of name: String) -> String {
    switch name {
    case "logBytesMax": "bytes of the log's entries"
    case "logEntriesMax": "entries of the log"
    case "largeValueBytesMax": "bytes of large values"
    case "replicasMax": "replicas that may push"
    default: ""
    }
  }

  /// A bound by its name; nil where there is none.
  public subscript(_ name: String) -> Int? {
    Self.fields.first { $0.0 == name }.flatMap { self[keyPath: $0.1] }
  }

  /// Those that there are, by name.
  public var all: [(name: String, value: Int)] {
    Self.fields.compactMap { name, path in self[keyPath: path].map { (name, $0) } }
  }

  /// Sets a bound, or takes it away.
  ///
  /// - Throws: `ServerError` (`.badLimits`) that names it.
  public mutating func set(_ name: String, to value: Int?) throws {
    guard let path = Self.fields.first(where: { $0.0 == name })?.1 else {
      throw Self.refusal("\"\(name.prefix(100))\" is no bound of a zone")
    }
    guard value.map({ (1...(1 << 50)).contains($0) }) ?? true else {
      throw Self.refusal("the bound \(name) is \(value ?? 0); it must be 1 or more")
    }
    self[keyPath: path] = value
  }

  private static func refusal(_ what: String) -> ServerError {
    ServerError(
      .badLimits, what,
      suggestion: "The bounds of a zone are \(names.joined(separator: ", ")); all others are the "
        + "server's (serve --limits).")
  }

  /// What is otherwise than there, for the record of who did what.
  func changes(from other: ZoneLimits) -> String {
    Self.names.filter { self[$0] != other[$0] }.map { name in
      let (old, new) = (other[name].map { "\($0)" }, self[name].map { "\($0)" })
      return "\(name) \(old ?? "-") → \(new ?? "-")"
    }.joined(separator: ", ")
  }

  /// How many entries are added up at most by one push, where a zone's log has not been before: others wait so long.
  static let entriesAtOnce = 20_000
}

/// What the tables `zone_limit` have of a zone: its bounds, and beside them, as a row of its own name, that its log was put back.
/// An older program passes over names that it does not know.
struct ZoneLimitRows {
  /// The name of the row.
  static let putBackName = "putBack"

  var limits = ZoneLimits()
  var isPutBack = false

  init(_ zone: ZoneRecord) { (limits, isPutBack) = (zone.limits, zone.isPutBack) }

  /// Of rows, as `logBytesMax=1000,putBack=1`. What this program does not know it goes without.
  init(_ text: String?) {
    for row in (text ?? "").split(separator: ",") {
      let parts = row.split(separator: "=")
      guard parts.count == 2, let value = Int(parts[1]) else { continue }
      if parts[0] == Self.putBackName { isPutBack = true }
      try? limits.set(String(parts[0]), to: value)
    }
  }

  var rows: [(name: String, value: Int)] {
    limits.all + (isPutBack ? [(Self.putBackName, 1)] : [])
  }
}

extension ServerError {
  /// What is more than a zone may have.
  static func zoneIsFull(_ zone: ZoneRecord, _ name: String, _ what: String) -> ServerError {
    ServerError(
      .zoneFull, "the zone \(zone.name) \(what), and may have \(zone.limits[name] ?? 0) (\(name))",
      suggestion: "Nothing is lost: it is sent again. Have the operator raise the bound "
        + "(driftless-server zone limits \(zone.name) --set \(name)=…), or shorten the log "
        + "(zone purge, zone renew).", head: zone.head)
  }
}
