import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// `ZDL_REPLICA`: one row, whose places are within the history and the log; and the engine's settings.
struct ReplicaCheck: EngineCheck {
  let tables = ["ZDL_REPLICA"]

  func check(_ inspection: StoreInspection, _ schema: SyncSchema) throws {
    let newest = try inspection.transaction.maximumTransactionNumber()
    try inspection.check(
      "ZDL_REPLICA", key: ["id"],
      ReplicaState.rules + [.integer("acknowledged", 0...max(0, newest))],
      suggestion: EngineTables.suggestion)
    guard
      let state = try? ReplicaState.load(from: inspection.connection)
    else { return }
    if URL(string: state.server) == nil {
      inspection.report(
        .damage, "ZDL_REPLICA", "ZDL_REPLICA: its server is no address.",
        suggestion: EngineTables.suggestion)
    }
    try checkPlace(state, inspection)
    try checkSettings(state, inspection)
  }

  /// The cursor is the place of the log that `ZDL_CHAIN` has under its sequence number.
  private func checkPlace(_ state: ReplicaState, _ inspection: StoreInspection) throws {
    let start = LogChain.start(generation: state.generation)
    if state.cursor == 0, state.chain != start {
      inspection.report(
        .damage, "ZDL_REPLICA", "ZDL_REPLICA: its chain is not that of an empty log.",
        suggestion: EngineTables.suggestion)
    }
    if state.cursor > 0, inspection.has("ZDL_CHAIN"), inspection.has("ZDL_PARKED"),
      try inspection.connection.number(
        """
        SELECT EXISTS (SELECT 1 FROM ZDL_CHAIN WHERE sequence = ?1)
        OR EXISTS (SELECT 1 FROM ZDL_PARKED WHERE sequence = ?1)
        """, [.unsigned(state.cursor)]) == 0
    {
      inspection.report(
        .damage, "ZDL_REPLICA", "ZDL_REPLICA: its cursor is no place of the log that was applied.",
        suggestion: EngineTables.suggestion)
    }
    for (name, place) in [
      ("cursor", LogMark(sequence: state.cursor, chain: state.chain)), ("mark", state.mark),
    ] {
      guard let place, inspection.has("ZDL_CHAIN") else { continue }
      let kept = try inspection.connection.scalar(
        "SELECT chain FROM ZDL_CHAIN WHERE sequence = ?", .unsigned(place.sequence))
      guard case .blob(let kept)? = kept, kept != place.chain.bytes else { continue }
      inspection.report(
        .damage, "ZDL_REPLICA", "ZDL_REPLICA: ZDL_CHAIN has another chain at its \(name).",
        suggestion: EngineTables.suggestion)
    }
  }

  private func checkSettings(_ state: ReplicaState, _ inspection: StoreInspection) throws {
    if try inspection.transaction.setting("syncing") == nil {
      inspection.report(
        .damage, "ZDL_STORE", "ZDL_STORE does not say that the store syncs, but it is enrolled.",
        suggestion: EngineTables.suggestion)
    }
    let reader = try inspection.connection.scalar(
      "SELECT number FROM ZDL_HISTORY_READER WHERE name = ?", .text(ReplicaState.historyReader))
    guard case .integer(let read)? = reader, read <= state.acknowledged else {
      return inspection.report(
        .damage, "ZDL_HISTORY_READER",
        "ZDL_HISTORY_READER does not keep the history that was not sent yet.",
        suggestion: "Sync the store, which registers the engine anew.")
    }
    for (name, value) in try EngineTables.settings(inspection.transaction)
    where !EngineTables.fits(value, setting: name) {
      inspection.report(
        .damage, "ZDL_STORE", "ZDL_STORE, \(name): its value cannot be read.",
        suggestion: EngineTables.suggestion)
    }
  }
}

extension EngineTables {
  /// The engine's settings in the store, by name.
  static func settings(_ transaction: ReadTransaction) throws -> [(String, SQLiteValue)] {
    try transaction.connection.rows("SELECT key, value FROM ZDL_STORE WHERE key GLOB 'sync.*'")
      .compactMap { row in
        guard case .text(let name) = row[0] else { return nil }
        return (name, row[1])
      }
  }

  /// Whether a line names an entity, or a property of one.
  private static func isName(_ line: Substring) -> Bool {
    !line.isEmpty && line.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
  }

  /// Whether a setting of the engine's is known, and can be read.
  static func fits(_ value: SQLiteValue, setting name: String) -> Bool {
    switch (name, value) {
    case (versionSetting, .integer(let number)), ("sync.deleted", .integer(let number)):
      number >= 0
    case (FormerLog.setting, .integer), (RefusedValues.setting, .integer),
      (CarriedEnds.setting, .integer):
      true
    case (EngineRows.leftNote, .text(let text)): RefusedValues.decode(text) != nil
    case (ModelMeaning.setting, .text(let text)): ModelMeaning.decode(text) != nil
    case (MergeRules.setting, .text(let text)): MergeRules.decode(text) != nil
    case (ModelMeaning.betweenSetting, .text(let text)): ModelMeaning.decodeAll(text) != nil
    case (ModelMeaning.Notes.nullsSetting, .text(let text)),
      (ModelMeaning.Notes.unmadeSetting, .text(let text)):
      text.split(separator: "\n", omittingEmptySubsequences: false)
        .allSatisfy { isName($0) && $0.contains(".") }
    case (EngineRows.goneSetting, .text(let text)):
      text.split(separator: "\n", omittingEmptySubsequences: false).allSatisfy(isName)
    case (OtherEnd.setting, .text): true
    case (ClockCorrection.setting, .text(let text)): ClockCorrection(text: text) != nil
    case (SeenTime.setting, .text(let text)): SeenTime(text: text) != nil
    case (LeftZone.setting, .text): LeftZone.decode(value) != nil
    case (FormerZone.setting, .integer(let number)), (KeylessEdits.setting, .integer(let number)),
      (UnsentSince.setting, .integer(let number)):
      number >= 0
    case (SealedAnew.setting, .integer(let number)),
      (SyncEngine.withoutRulesSetting, .integer(let number)),
      (SyncEngine.missingSetting, .integer(let number)):
      number == 1
    case (ValueTiming.setting, .text(let text)): ValueFetching(rawValue: text) != nil
    case (WantedValues.askedSetting, .integer(let number)),
      (SyncEngine.retrySetting, .integer(let number)):
      number > 0
    case (WantedValues.failureSetting, .text(let text)): SyncEngine.decodeFailure(text) != nil
    case (LetGoRequest.setting, .text(let text)): LetGoRequest.decode(text) != nil
    case (LetGoRequest.doneSetting, .text(let text)), (LetGoRequest.begunSetting, .text(let text)):
      LetGoRequest.decodeReport(text) != nil
    case (SyncEngine.nameSetting, .text(let text)): ReplicaName(text) != nil
    case (MeantDeletes.setting, .blob(let times)): !times.isEmpty && times.count % 8 == 0
    case (MeantDeletes.setting, .integer(let number)),
      (WaitingDeletes.setting, .integer(let number)):
      number == 1
    case (MassDeleteBrake.keptSetting, .integer(let place)): place >= 0
    case (MassDeleteBrake.beforeSetting, .integer(let count)): count > 0
    case (EngineRows.heldNote, .text(let text)): MassDeleteBrake.decode(text) != nil
    case (EngineRows.madeNote, .text(let text)): MadeMeanwhile(text: text) != nil
    case ("sync.unansweredSaves", .blob(let names)): names.count % 8 == 0
    case ("sync.unsettled", .integer(let number)), ("sync.reconcileAllowed", .integer(let number)),
      (UnknownBases.setting, .integer(let number)):
      number == 1
    case ("sync.reconciled", .text(let text)):
      (try? JSONDecoder().decode(Reconciliation.self, from: Data(text.utf8))) != nil
    case ("sync.replacements", .text(let text)):
      (try? JSONDecoder().decode([UUID].self, from: Data(text.utf8))) != nil
    case ("sync.onDiverged", .text(let text)): DivergedAction(rawValue: text) != nil
    case (ConflictingTries.setting, .integer(let number)): number >= 0
    case (ConflictingTries.setting, .text(let text)): ConflictingTries.decode(text) != nil
    case (SyncEngine.oldCountsSetting, .text(let text)): OldCountWord(text) != nil
    case (SyncEngine.oldCountsAskedSetting, .text(let text)): UInt64(text) != nil
    case (NamesLeftOut.setting, .text(let text)): NamesLeftOut.decode(text) != nil
    case (AcceptedParking.setting, .text(let text)): AcceptedParking.decode(text) != nil
    case (SyncEngine.replacedSetting, .integer(let number)),
      (SyncEngine.takesZoneSetting, .integer(let number)):
      number == 1
    case (SyncEngine.failureSetting, .text(let text)): SyncEngine.decodeFailure(text) != nil
    case ("sync.damagedEntry", .text), (SyncEngine.damagedTriedSetting, .integer): true
    default: false
    }
  }
}
