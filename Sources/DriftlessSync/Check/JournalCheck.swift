import Driftless
import DriftlessSQLite
import Foundation

/// `ZDL_JOURNAL`: settled conflicts that can be read, and put back where a value was kept.
struct JournalCheck: EngineCheck {
  let tables = ["ZDL_JOURNAL"]

  private static let suggestion =
    "Keep a copy of the file; nothing but the journal is wrong: sync goes on without the entry."

  func check(_ inspection: StoreInspection, _ schema: SyncSchema) throws {
    try inspection.check(
      "ZDL_JOURNAL", key: ["number"], Journal.rules, suggestion: Self.suggestion)
    for column in ["local_value", "remote_value", "row"] {
      try inspection.checkArchives(
        "ZDL_JOURNAL", column, key: ["number"], suggestion: Self.suggestion
      ) { values, _ in column == "row" || values.count == 1 ? nil : "is not one value" }
    }
  }
}
