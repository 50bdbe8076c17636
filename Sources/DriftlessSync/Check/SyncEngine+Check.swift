public import Driftless
import DriftlessSQLite

extension SyncEngine {
  /// Looks at all of a store's file, at what an engine keeps in it too: see `PersistentStore.check()`. Works while an
  /// engine of this or another process runs, and without one.
  ///
  /// - Throws: `StoreError` when the file cannot be read at all.
  public static func check(_ store: PersistentStore) throws -> StoreCheck {
    try store.check(with: EngineTables.checks)
  }
}

extension EngineTables {
  /// Who looks after the engine's tables.
  static let checks: [any TableCheck] = [
    EngineTableCheck(checks: [
      ReplicaCheck(), LogCheck(), OutboxCheck(), PendingCheck(), ZoneValueCheck(), ParkingCheck(),
      JournalCheck(), ObjectNoteCheck(),
    ])
  ]

  /// Where nothing better is known: what is pending goes on from the rows.
  static let suggestion = "Keep a copy of the file; then run syncctl enroll --anew."
}

/// Who looks after some of the engine's tables.
protocol EngineCheck: Sendable {
  var tables: [String] { get }
  func check(_ inspection: StoreInspection, _ schema: SyncSchema) throws
}

/// The engine's tables, which a store that does not sync has none of.
private struct EngineTableCheck: TableCheck {
  let checks: [any EngineCheck]

  var tables: [String] { checks.flatMap(\.tables) }

  /// A store that was enrolled by another version has the tables of that one.
  func isWanted(_ inspection: StoreInspection) throws -> Bool {
    guard inspection.has("ZDL_REPLICA") else { return false }
    let kept = try inspection.transaction.setting(EngineTables.versionSetting)
    if case .integer(let version)? = kept { return version == EngineTables.version }
    return kept != nil
  }

  func check(_ inspection: StoreInspection) throws {
    let schema = SyncSchema(inspection.schema)
    for check in checks {
      do {
        try check.check(inspection, schema)
      } catch let error as SyncError {
        inspection.report(.damage, check.tables[0], error.message, suggestion: error.suggestion)
      }
    }
  }
}

extension RowRule {
  /// A time of the host, in seconds since 1970.
  static func seconds(_ column: String, orNull: Bool = false) -> RowRule {
    .number(column, orNull: orNull)
  }

  /// A number that counts from 0.
  static func natural(_ column: String, orNull: Bool = false) -> RowRule {
    .integer(column, 0...Int64.max, orNull: orNull)
  }

  /// A place of the log: entries count from 1.
  static func place(_ column: String) -> RowRule { .integer(column, 1...Int64.max) }

  static func identity(_ column: String, orNull: Bool = false) -> RowRule {
    .bytes(column, count: 16, orNull: orNull)
  }
}
