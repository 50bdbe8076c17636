import DriftlessSQLite
import Foundation

/// Brings the tables of sync in line with another model: they know objects by entity and key, properties by name, and
/// whole rows by place.
struct MigrationBookkeeping {
  let keys: MigrationKeys
  let connection: SQLiteConnection

  /// Marks what is changed already, so that names and keys may change places.
  private static let mark = "\u{1}"

  /// The tables that name an object by entity and key.
  private static let byObject = [
    "ZDL_GRAVE", "ZDL_BASE", "ZDL_DELTA", "ZDL_PENDING", "ZDL_OMITTED", "ZDL_QUARANTINE",
    "ZDL_DANGLING", "ZDL_ZONE", "ZDL_PARKED_VALUE", "ZDL_KEPT", "ZDL_ALIAS", "ZDL_FORMER",
    "ZDL_DELETED",
  ]
  /// Of these, those that name a property.
  private static let byProperty = [
    "ZDL_BASE", "ZDL_DELTA", "ZDL_OMITTED", "ZDL_DANGLING", "ZDL_ZONE", "ZDL_PARKED_VALUE",
    "ZDL_KEPT",
  ]

  func run() throws {
    let present = Set(
      try connection.rows("SELECT name FROM main.sqlite_master WHERE name GLOB 'ZDL_*'")
        .compactMap { row -> String? in
          if case .text(let name) = row[0] { name } else { nil }
        })
    try dropEntities(present)
    // What became one under the old model stays one.
    if present.contains("ZDL_ALIAS") {
      try connection.execute("UPDATE main.ZDL_ALIAS SET row = NULL, state = NULL")
    }
    for match in keys.plan.matches {
      try mapRows("ZDL_GRAVE", "entity = \(number(match))", match)
      try mapNames(match, present)
      if present.contains("ZDL_PENDING") { try mapPending(match) }
    }
    if present.contains("ZDL_JOURNAL") { try mapJournal() }
    try shiftKeys(present)
  }

  private func number(_ match: MigrationPlan.EntityMatch) -> Int64 {
    Int64(keys.new.entityNumber(of: match.destination))
  }

  private func dropEntities(_ present: Set<String>) throws {
    for entity in keys.old.entities where keys.plan.match(ofSource: entity) == nil {
      let number = Int64(keys.old.entityNumber(of: entity))
      try connection.run("DELETE FROM main.ACHANGE WHERE ZENTITY = ?", .integer(number))
      for table in Self.byObject where present.contains(table) {
        try connection.run("DELETE FROM main.\(table) WHERE entity = ?", .integer(number))
      }
    }
  }

  // MARK: Rows

  /// Kept rows, whose values lie by place.
  private func mapRows(
    _ table: String, _ condition: String, _ match: MigrationPlan.EntityMatch
  ) throws {
    let isJournal = table == "ZDL_JOURNAL"
    let id = isJournal ? "number, 0" : "entity, key"
    for row in try connection.rows(
      "SELECT \(id), row FROM main.\(table) WHERE \(condition) AND row IS NOT NULL")
    {
      guard case .blob(let bytes) = row[2] else { continue }
      let values = try RowArchive.decodeValues(bytes)
      let mapped = keys.row(values, match)
      let place = isJournal ? "number = ? AND ? = 0" : "entity = ? AND key = ?"
      try connection.run(
        "UPDATE main.\(table) SET row = ? WHERE \(place)", .blob(RowArchive.encode(mapped)),
        row[0], row[1])
    }
  }

  /// Settled conflicts, which somebody may still want to undo.
  private func mapJournal() throws {
    let columns = try connection.rows("SELECT name FROM pragma_table_info('ZDL_JOURNAL', 'main')")
    for match in keys.plan.matches {
      if columns.contains([.text("row")]) {
        let name = MigrationCopy.literal(.string(match.source.name), isExternal: false)
        try mapRows("ZDL_JOURNAL", "entity = \(name)", match)
      }
      for (slot, former) in zip(match.destination.layout.slots, match.sourceSlots) {
        guard let former, former.name != slot.name else { continue }
        try connection.run(
          "UPDATE main.ZDL_JOURNAL SET property = ? WHERE entity = ? AND property = ?",
          .text(Self.mark + slot.name), .text(match.source.name), .text(former.name))
      }
      try connection.run(
        "UPDATE main.ZDL_JOURNAL SET entity = ? WHERE entity = ?",
        .text(Self.mark + match.destination.name), .text(match.source.name))
    }
    try connection.execute(
      """
      UPDATE main.ZDL_JOURNAL SET entity = ltrim(entity, '\(Self.mark)'),
      property = ltrim(property, '\(Self.mark)')
      """)
  }

  // MARK: Names

  /// What the properties are called that had other names, and those that are gone: under an empty name.
  private func names(_ match: MigrationPlan.EntityMatch) -> [String: String] {
    var names: [String: String] = [:]
    for slot in match.source.layout.slots { names[slot.name] = "" }
    for (slot, former) in zip(match.destination.layout.slots, match.sourceSlots) {
      if let former { names[former.name] = slot.name }
    }
    for (former, name) in names {
      names[PlaceName.of(former)] = name.isEmpty ? "" : PlaceName.of(name)
      names[OfferName.of(former)] = name.isEmpty ? "" : OfferName.of(name)
    }
    return names.filter { $0.key != $0.value }
  }

  private func mapNames(
    _ match: MigrationPlan.EntityMatch, _ present: Set<String>
  ) throws {
    let names = names(match)
    let number = number(match)
    for table in Self.byProperty where present.contains(table) && !names.isEmpty {
      for (former, name) in names {
        if name.isEmpty {
          try connection.run(
            "DELETE FROM main.\(table) WHERE entity = ? AND property = ?", .integer(number),
            .text(former))
        } else {
          try connection.run(
            "UPDATE main.\(table) SET property = ? WHERE entity = ? AND property = ?",
            .text(Self.mark + name), .integer(number), .text(former))
        }
      }
      try connection.run(
        """
        UPDATE main.\(table) SET property = ltrim(property, '\(Self.mark)')
        WHERE entity = ? AND substr(property, 1, 1) = '\(Self.mark)'
        """, .integer(number))
    }
  }

  /// What an import left pending of an object: JSON with the names of properties.
  private func mapPending(_ match: MigrationPlan.EntityMatch) throws {
    let names = names(match)
    guard !names.isEmpty else { return }
    for row in try connection.rows(
      "SELECT key, state FROM main.ZDL_PENDING WHERE entity = ?", .integer(number(match)))
    {
      guard case .blob(let bytes) = row[1],
        var state = try JSONSerialization.jsonObject(with: bytes) as? [String: Any],
        let edits = state["edits"] as? [[String: Any]]
      else { continue }
      state["edits"] = edits.compactMap { edit -> [String: Any]? in
        var edit = edit
        let properties = (edit["properties"] as? [String] ?? []).map { names[$0] ?? $0 }
          .filter { !$0.isEmpty }
        edit["properties"] = properties
        return properties.isEmpty ? nil : edit
      }
      try connection.run(
        "UPDATE main.ZDL_PENDING SET state = ? WHERE entity = ? AND key = ?",
        .blob(try JSONSerialization.data(withJSONObject: state, options: .sortedKeys)),
        .integer(number(match)), row[0])
    }
  }

  // MARK: Keys

  /// Objects of a hierarchy that was merged into another have other keys.
  private func shiftKeys(_ present: Set<String>) throws {
    guard keys.ways.contains(where: { $0.offset != 0 }) else { return }
    for (entity, offset) in keys.shifted {
      try connection.execute(
        "UPDATE main.ACHANGE SET ZENTITYPK = ZENTITYPK + \(offset) WHERE ZENTITY = \(entity)")
      for table in Self.byObject where present.contains(table) {
        // By way of negative keys, since a new key may be another's old one.
        try connection.execute(
          """
          UPDATE main.\(table) SET key = -(key + \(offset)) WHERE entity = \(entity);
          UPDATE main.\(table) SET key = -key WHERE entity = \(entity) AND key < 0
          """)
      }
    }
    for row in try connection.rows("SELECT entity, key, property, value FROM main.ZDL_BASE") {
      guard case .blob(let bytes) = row[3] else { continue }
      let values = try RowArchive.decodeValues(bytes)
      let changed = RowArchive.encode(values.map(keys.value))
      guard changed != bytes else { continue }
      try connection.run(
        "UPDATE main.ZDL_BASE SET value = ? WHERE entity = ? AND key = ? AND property = ?",
        .blob(changed), row[0], row[1], row[2])
    }
    guard present.contains("ZDL_DANGLING") else { return }
    for way in keys.ways where way.offset != 0 {
      let root = keys.old.entityNumber(of: way.source)
      try connection.execute(
        """
        UPDATE main.ZDL_DANGLING SET target_key = -(target_key + \(way.offset)),
        target_root = \(keys.new.entityNumber(of: way.destination)) WHERE target_root = \(root);
        UPDATE main.ZDL_DANGLING SET target_key = -target_key WHERE target_key < 0
        """)
    }
  }
}
