import Foundation

/// Bounds of one zone beside those of the server, which hold as well (`ServerLimits`). They are in force with the next push.
package struct ZoneLimits: Sendable, Hashable {
  /// Bytes of the log's entries, as far as they were not purged. A push that passes them gets 507.
  package var logBytesMax: Int?
  /// Entries of the log that were not purged. A further push gets 507.
  package var logEntriesMax: Int?
  /// Bytes of the zone's large values, those too that come. A further one gets 507.
  package var largeValueBytesMax: Int?
  /// Replicas that may push to the zone. A further one gets 507.
  package var replicasMax: Int?

  package init() {}

  private static let fields: [(String, any WritableKeyPath<ZoneLimits, Int?> & Sendable)] = [
    ("logBytesMax", \.logBytesMax), ("logEntriesMax", \.logEntriesMax),
    ("largeValueBytesMax", \.largeValueBytesMax), ("replicasMax", \.replicasMax),
  ]

  /// The names that a zone's bounds have.
  package static var names: [String] { fields.map(\.0) }

  package static func meaning(of name: String) -> String {
    switch name {
    case "logBytesMax": "bytes of the log's entries"
    case "logEntriesMax": "entries of the log"
    case "largeValueBytesMax": "bytes of large values"
    case "replicasMax": "replicas that may push"
    default: ""
    }
  }

  /// A bound by its name; nil where there is none.
  package subscript(_ name: String) -> Int? {
    Self.fields.first { $0.0 == name }.flatMap { self[keyPath: $0.1] }
  }

  /// Those that there are, by name.
  package var all: [(name: String, value: Int)] {
    Self.fields.compactMap { name, path in self[keyPath: path].map { (name, $0) } }
  }

  /// Sets a bound, or takes it away.
  ///
  /// - Throws: `ServerError` (`.badLimits`) that names it.
  package mutating func set(_ name: String, to value: Int?) throws {
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

  /// Of rows of a database, as `logBytesMax=1000,replicasMax=5`. What this program does not know it goes without.
  init(rows text: String?) {
    for row in (text ?? "").split(separator: ",") {
      let parts = row.split(separator: "=")
      guard parts.count == 2, let value = Int(parts[1]) else { continue }
      try? set(String(parts[0]), to: value)
    }
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
