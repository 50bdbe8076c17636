import Driftless
import DriftlessSQLite
import Foundation

/// `ZDL_JOURNAL`: settled conflicts that can be read, and put back where a value was kept.
struct JournalCheck: EngineCheck {
  let tables = ["ZDL_JOURNAL"]

  private static let suggestion =
    "Keep a copy of the file; nothing but the journal is wrong: sync goes on without the entry."

  func check(_ inspection: StoreInspection, _ schema: SyncSchema) throws {
    let outcomes: [JournalEntry.Outcome] = [.local, .remote, .combined]
    let sides: [JournalEntry.Side] = [.local, .remote]
    try inspection.check(
      "ZDL_JOURNAL", key: ["number"],
      [
        .integer("number", 1...Int64.max), .identity("object"), .text("entity"),
        .text("property", orNull: true), .text("policy"), .text("base", orNull: true),
        .text("local", orNull: true), .text("remote", orNull: true), .text("kept", orNull: true),
        .text("outcome", among: outcomes.map(\.rawValue)), .identity("origin"),
        .integer("local_time"), .integer("remote_time"), .natural("transaction_number"),
        .natural("sequence"), .text("explanation"), .bytes("local_value", orNull: true),
        .bytes("remote_value", orNull: true), .bytes("row", orNull: true),
        .text("decision", orNull: true, among: sides.map(\.rawValue)),
        .seconds("decided_at", orNull: true),
      ], suggestion: Self.suggestion)
    for column in ["local_value", "remote_value", "row"] {
      try inspection.checkArchives(
        "ZDL_JOURNAL", column, key: ["number"], suggestion: Self.suggestion
      ) { values, _ in column == "row" || values.count == 1 ? nil : "is not one value" }
    }
  }
}
