import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// `ZDL_CHAIN` and `ZDL_FRAME`, the places and entries of the log that this replica can show; `ZDL_STAGED`, entries that wait
/// for the rest of their push; and `ZDL_IMPORT`, the times
/// of imports, with `ZDL_ORIGIN`, who made the edits of a time.
///
/// A frame is whole, and its chain follows from that of the entry before it.
struct LogCheck: EngineCheck {
  let tables = ["ZDL_CHAIN", "ZDL_FRAME", "ZDL_STAGED", "ZDL_IMPORT", "ZDL_ORIGIN"]

  private static let suggestion =
    "Nothing is lost here: a server that is put back gets less from this replica. Run syncctl enroll --anew."

  func check(_ inspection: StoreInspection, _ schema: SyncSchema) throws {
    try inspection.check(
      "ZDL_CHAIN", key: ["sequence"], LogPlaces.rules, suggestion: Self.suggestion)
    try inspection.report(
      rowsOf: """
        SELECT 'sequence ' || sequence FROM (SELECT sequence, next_number,
        lag(next_number) OVER (ORDER BY sequence) AS former FROM ZDL_CHAIN)
        WHERE next_number < former
        """, in: "ZDL_CHAIN", "its next_number is less than at an earlier place",
      suggestion: Self.suggestion)
    try inspection.check(
      "ZDL_FRAME", key: ["sequence"],
      KeptFrames.rules + [
        RowRule(
          "sequence <= (SELECT max(cursor, ifnull(mark, 0)) FROM ZDL_REPLICA)",
          "the replica has not come so far", weight: .disagreement)
      ], suggestion: Self.suggestion)
    try checkFrames(inspection)
    try inspection.check(
      "ZDL_STAGED", key: ["sequence"], StagedEntries.rules, suggestion: Self.stagedSuggestion)
    try checkStaged(inspection)
    let last = try inspection.connection.scalar(
      "SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = ?", .integer(HistoryEntity.change))
    var most: Int64 = 0
    if case .integer(let last)? = last { most = last }
    // A time may be noted before a change that did not come about.
    try inspection.check(
      "ZDL_IMPORT", key: ["first_change"],
      ImportTimes.rules + [
        .integer("first_change", 1...max(1, most &+ 1)), .integer("time", 0...Int64.max),
      ], suggestion: Self.suggestion)
    try inspection.check(
      "ZDL_ORIGIN", key: ["stamp"], StampOrigins.rules, suggestion: Self.suggestion)
  }

  private static let stagedSuggestion =
    "Sync the store: what is kept of a push is fetched again where it does not fit."

  /// What is kept of a push goes on from the cursor, part by part.
  private func checkStaged(_ inspection: StoreInspection) throws {
    guard let state = try? ReplicaState.load(from: inspection.connection) else { return }
    var (broken, unchained) = (StoreInspection.Tally(), StoreInspection.Tally())
    var before = state.position.mark
    for sequence in try StagedEntries.sequences(on: inspection.connection) {
      let name = "sequence \(sequence)"
      guard let entry = try StagedEntries.entry(at: sequence, on: inspection.connection) else {
        broken.add(name)
        continue
      }
      if !entry.follows(before) { unchained.add(name) }
      if entry.isOwnHeaderOnly
        ? (try? ChangeSetDecoder().decodeHeader(entry.frame)) == nil
        : !ChangeSetHeader.isWhole(entry.frame)
      {
        broken.add(name)
      }
      before = entry.mark
    }
    inspection.report(
      broken, in: "ZDL_STAGED", "its frame is damaged", suggestion: Self.stagedSuggestion)
    inspection.report(
      unchained, in: "ZDL_STAGED", "it does not follow the entry before it",
      suggestion: Self.stagedSuggestion)
  }

  private func checkFrames(_ inspection: StoreInspection) throws {
    var (broken, unchained, other) = (
      StoreInspection.Tally(), StoreInspection.Tally(), StoreInspection.Tally()
    )
    var before = try? ReplicaState.load(from: inspection.connection)
      .map { LogMark(sequence: 0, chain: LogChain.start(generation: $0.generation)) }
    try inspection.connection.forEachRow(
      """
      SELECT f.sequence, f.first_number, f.chain, f.frame, c.chain, c.next_number FROM ZDL_FRAME f
      LEFT JOIN ZDL_CHAIN c ON c.sequence = f.sequence ORDER BY f.sequence
      """
    ) { row in
      let sequence = row.unsigned(0)
      let frame = row.data(3)
      guard let chain = LogChain(bytes: row.data(2)) else { return }
      if !row.isNull(4), row.data(4) != chain.bytes { other.add("sequence \(sequence)") }
      let header = try? ChangeSetDecoder().decodeHeader(frame)
      if let header, !row.isNull(5),
        row.unsigned(1) &+ UInt64(header.newObjectCount) != row.unsigned(5)
      {
        other.add("sequence \(sequence)")
      }
      if header == nil
        || ChangeSetHeader.digest(of: frame) != ChangeSetHeader.storedDigest(of: frame)
      {
        broken.add("sequence \(sequence)")
      } else if let before, before.sequence &+ 1 == sequence,
        before.chain.next(
          digest: ChangeSetHeader.digest(of: frame), sequence: sequence,
          firstObjectNumber: row.unsigned(1)) != chain
      {
        unchained.add("sequence \(sequence)")
      }
      before = LogMark(sequence: sequence, chain: chain)
    }
    inspection.report(
      broken, in: "ZDL_FRAME", "its frame is damaged", suggestion: Self.suggestion)
    inspection.report(
      unchained, in: "ZDL_FRAME", "its chain does not follow from the entry before it",
      suggestion: Self.suggestion)
    inspection.report(
      other, in: "ZDL_FRAME", "ZDL_CHAIN says otherwise there", suggestion: Self.suggestion)
  }
}
