public import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Logging

/// What could not be taken in from the zone's log, and another try at it.
extension SyncEngine {
  /// What is set aside of the zone's log here, in its order, with who sent it and why.
  ///
  /// - Throws: `StoreError`; `SyncError` (`damagedState`) where what is set aside cannot be read.
  public static func parked(of store: PersistentStore) throws -> [ParkedEntry] {
    try store.read { try parked($0, SyncSchema(store.schema)) }
  }

  static func parked(_ transaction: ReadTransaction, _ schema: SyncSchema) throws -> [ParkedEntry] {
    let connection = transaction.connection
    guard try Parking.hasTable(on: connection) else { return [] }
    let accepted = try AcceptedParking.load(transaction)
    let entries = try Parking.entries(on: connection).map { entry in
      ParkedEntry(
        sequence: entry.sequence, sender: entry.sender, code: entry.code.rawValue,
        reason: entry.reason, names: entry.unknown.map(\.name).sorted(), since: entry.since,
        bytes: entry.bytes)
    }
    let former = try FormerParking.entries(on: connection).map { entry in
      ParkedEntry(
        sequence: entry.parked.sequence, sender: entry.parked.sender, code: FormerParking.code,
        reason: entry.reason, names: entry.parked.unknown.map(\.name).sorted(),
        since: entry.parked.since, bytes: entry.parked.bytes, former: entry.id)
    }
    let missed = try MissedValues.digests(on: connection)
    let set =
      try ParkedValues.otherRows(on: connection)
      + (missed.isEmpty
        ? []
        : ParkedValues.nameRows(on: connection).filter {
          !ParkedValues.isInZone($0.value, missed: missed)
        })
    let values = try set.map { row in
      let large = LargeCell.value(in: row.value)
      // The name came with its entry, maybe long before the zone lost the bytes.
      let missedSince = try large.flatMap { try MissedValues.since($0.digest, on: connection) }
      return ParkedEntry(
        sequence: row.sequence,
        sender: row.sender == ParkedValues.unknownSender ? nil : row.sender,
        code: large != nil
          ? LargeCell.code
          : SealedValue.cell(in: row.value) == nil ? "invalid-value" : "sealed",
        reason: large.flatMap { large in
          missed[large.digest].map { LargeCell.reason(large, $0) }
        } ?? row.reason,
        names: [], object: try transaction.identity(of: row.key),
        entity: schema.entity(numbered: row.key.entity)?.name, property: row.property,
        since: missedSince ?? row.since, bytes: row.bytes)
    }
    let keys =
      try KeptKeys.parked(transaction, schema) + LackedValues.parked(transaction, schema)
    let left = try NamesLeftOut.load(transaction).map { left in
      ParkedEntry(
        sequence: left.sequence, sender: nil, code: Parking.Code.unknownNames.rawValue,
        reason: ParkedName.reason(left.names) + " The zone has the values.",
        names: left.names.map(\.name).sorted(),
        since: Date(timeIntervalSince1970: left.since), bytes: 0)
    }
    let all = (former + entries + values + keys + (left.map { [$0] } ?? [])).sorted { a, b in
      (a.sequence, a.object?.uuidString ?? "", a.property ?? "", a.former ?? 0)
        < (b.sequence, b.object?.uuidString ?? "", b.property ?? "", b.former ?? 0)
    }
    let counts = all.reduce(into: [UInt64: Int]()) { $0[$1.sequence, default: 0] += 1 }
    return all.map { entry in
      var entry = entry
      if !entry.isEntry || counts[entry.sequence] ?? 0 > 1 { entry.part = entry.lastingPart }
      entry.isAccepted = accepted.covers(entry)
      return entry
    }
  }

  /// Those of what is set aside that a person names.
  ///
  /// - Throws: `SyncError` (`unknownElement`) where there is none, and where a part means several.
  static func named(
    _ sequence: UInt64?, _ part: Int?, among parked: [ParkedEntry], of store: PersistentStore
  ) throws -> [ParkedEntry] {
    let meant = parked.filter { $0.isMeant(by: sequence ?? $0.sequence, part) }
    if let sequence, meant.isEmpty { throw SyncError.notParked(sequence, part, store) }
    if let sequence, let part, meant.count > 1 {
      throw SyncError(
        .unknownElement, "\(meant.count) that are set aside have the number \(sequence).\(part).",
        suggestion: "Name all of entry \(sequence): \(sequence)")
    }
    return meant
  }

  /// Lets the next pull try again what was set aside, and what stays set aside waits for a person again.
  ///
  /// - Parameters:
  ///   - store: the replica.
  ///   - sequence: one entry; nil for all.
  ///   - part: one of several with that number (`ParkedEntry.part`); nil for all of them.
  /// - Returns: how many entries that are.
  /// - Throws: `SyncError` (`unknownElement`) when the entry is not parked, `StoreError`.
  @discardableResult
  public static func retryParked(
    of store: PersistentStore, sequence: UInt64? = nil, part: Int? = nil
  ) throws -> Int {
    let info = TransactionInfo(author: importAuthor, kind: .imported)
    return try store.write(info) { transaction in
      let parked = try parked(transaction, SyncSchema(store.schema))
      // What there was no room for is in the zone, and waits for no person: it is tried again all the same.
      let withoutRoom =
        sequence == nil ? try MissedValues.count(.room, on: transaction.connection) : 0
      if withoutRoom > 0 || parked.contains(where: { $0.code == LargeCell.code }) {
        try askForMissing(transaction)
      }
      if let part {
        let meant = try named(sequence, part, among: parked, of: store)
        try retry(meant, beside: parked, transaction)
        return meant.count
      }
      // A value that waits for its key is written unasked as soon as that is free, and what is empty is set by a person.
      let count =
        try Parking.ask(sequence, on: transaction.connection)
        + parked.count {
          [KeptKeys.code, LackedValues.code].contains($0.code)
            && (sequence ?? $0.sequence) == $0.sequence
        }
        + (NamesLeftOut.ask(sequence, transaction) ? 1 : 0) + withoutRoom
      if let sequence, count == 0 { throw SyncError.notParked(sequence, nil, store) }
      var accepted = try AcceptedParking.load(transaction)
      for entry in parked where sequence == nil || entry.sequence == sequence {
        accepted.takeBack(entry, beside: parked)
      }
      try accepted.save(parked, transaction)
      return count
    }.0
  }

  /// Asks for the values that are missing, once more where somebody asked already.
  private static func askForMissing(_ transaction: WriteTransaction) throws {
    let before = try transaction.setting(retrySetting)
    let times: Int64 =
      if case .integer(let times)? = before, times > 0, times < .max { times } else { 0 }
    try transaction.setSetting(retrySetting, .integer(times + 1))
  }

  /// Asks for another try at some of what is set aside. Single values are tried unasked.
  private static func retry(
    _ meant: [ParkedEntry], beside parked: [ParkedEntry], _ transaction: WriteTransaction
  ) throws {
    var accepted = try AcceptedParking.load(transaction)
    if meant.contains(where: { $0.code == LargeCell.code }) {
      try askForMissing(transaction)
    }
    for entry in meant {
      if let id = entry.former {
        try FormerParking.ask(id: id, on: transaction.connection)
      } else if entry.isEntry {
        try Parking.ask(entry: entry.sequence, on: transaction.connection)
        _ = try NamesLeftOut.ask(entry.sequence, transaction)
      }
      accepted.takeBack(entry, beside: parked)
    }
    try accepted.save(parked, transaction)
  }

  /// Something parked by itself.
  private enum ParkedPart: Hashable {
    case entry(UInt64)
    case value(ObjectKey, String)
    /// Of a log that is gone.
    case former(Int64)
  }

  /// Takes in what was parked, where the model or the program has caught up or a person asks, and large values that have come. What
  /// cannot be applied stays, and the rest goes on.
  func replayParked() throws {
    try parkRefused()
    try replaySetAside()
    try takeInHere()
  }

  private func replaySetAside() throws {
    var failed: Set<ParkedPart> = []
    while true {
      var tried: ParkedPart?
      do {
        return try replayParked(but: failed) { tried = $0 }
      } catch let error where Self.isOfEntry(error) {
        guard let part = tried, failed.insert(part).inserted else { throw error }
        if case .former(let id) = part {
          try bookkeep { try FormerParking.note("\(error)", of: id, on: $0.connection) }
        }
        guard case .entry(let sequence) = part else { continue }
        log.warnOfLasting("Entry \(sequence) of the zone's log stays set aside: \(error)")
        try bookkeep { try Parking.note("\(error)", of: sequence, on: $0.connection) }
      }
    }
  }

  /// Parks what a store has of before that its model of now refuses.
  ///
  /// - Returns: how many objects were looked at.
  @discardableResult
  func parkRefused() throws -> Int {
    let refused = RefusedValues(schema, store.schema)
    let due = try store.read { transaction -> RefusedValues.Due? in
      let due = try refused.due(transaction)
      guard case .left(let keys)? = due else { return due }
      let state = try Self.state(on: transaction.connection, of: store)
      let pending = try pendingSet(transaction, state: state)
      // While all of them wait, nothing is written.
      return keys.allSatisfy { refused.waits($0, pending) } ? nil : due
    }
    guard let due else { return 0 }
    return try settling { applier, state in try refused.park(due, applier, by: state) }
  }

  private func replayParked(
    but failed: Set<ParkedPart>, trying: (ParkedPart?) -> Void
  ) throws {
    func isDue(_ entry: Parking.Entry) -> Bool {
      self.isDue(entry) && !failed.contains(.entry(entry.sequence))
    }
    func isDue(_ row: ParkedValues.Row, _ transaction: ReadTransaction) throws -> Bool {
      guard !failed.contains(.value(row.key, row.property)) else { return false }
      return try standIn(for: row) == nil || opens(row, transaction)
    }
    func isDue(_ entry: FormerParking.Entry) -> Bool {
      self.isDue(entry.parked) && !failed.contains(.former(entry.id))
    }
    let isWaiting = try store.read { transaction -> Bool in
      let connection = transaction.connection
      if try Parking.entries(on: connection).contains(where: isDue) { return true }
      return try ParkedValues.otherRows(on: connection).contains { try isDue($0, transaction) }
        || FormerParking.entries(on: connection).contains(where: isDue)
    }
    guard isWaiting else { return }
    try settling { applier, _ -> Void in
      let connection = applier.transaction.connection
      try strikeLater(connection)
      var taken: [Parking.Taken] = []
      for parked in try Parking.entries(on: connection) {
        let isNeeded =
          parked.code == .needsParked && !taken.isEmpty && !failed.contains(.entry(parked.sequence))
        guard isNeeded || isDue(parked) else { continue }
        trying(.entry(parked.sequence))
        try replay(parked, applier, &taken)
      }
      for row in try ParkedValues.otherRows(on: connection)
      where try isDue(row, applier.transaction) {
        trying(.value(row.key, row.property))
        try applier.takeIn(row)
      }
      try takeInFormer(applier, where: isDue) { trying(.former($0)) }
      trying(nil)
      if try Parking.entries(on: connection).isEmpty {
        try Parking.forgetStruck(on: connection)
      }
      try noteUnsettled(applier)
    }
  }

  /// Whether something is parked of a log that is gone, and can be taken in by now.
  func isFormerDue() throws -> Bool {
    try store.read { transaction in
      try FormerParking.entries(on: transaction.connection).contains { isDue($0.parked) }
    }
  }

  /// What is parked of logs that are gone comes after what the zone's log says: later words of that stand.
  private func takeInFormer(
    _ applier: PageApplier, where isDue: (FormerParking.Entry) -> Bool, trying: (Int64) -> Void
  ) throws {
    let entries = try FormerParking.entries(on: applier.transaction.connection)
    guard entries.contains(where: isDue) else { return }
    var replay = try FormerReplay(
      applier, entries.filter { $0.parked.triedLevel != FormerParking.heldLevel })
    for entry in entries where isDue(entry) {
      trying(entry.id)
      try replay.takeIn(entry)
    }
    try replay.finish()
  }

  /// What a due entry sets, a later one may have set under another name of the property, or from its other end, or it was
  /// pushed from here: nobody knew that the two are one.
  private func strikeLater(_ connection: SQLiteConnection) throws {
    var names: Set<ParkedName> = []
    var first: UInt64?
    for parked in try Parking.entries(on: connection) where isDue(parked) {
      for name in parked.unknown where isKnown(name, of: parked) {
        names.formUnion(schema.allNames(parkedAs: name.name).map { ParkedName($0) })
        first = min(first ?? parked.sequence, parked.sequence)
      }
    }
    guard let first else { return }
    var watched = Parking.Watched([])
    watched.add(names)
    try KeptFrames.forEach(after: first, on: connection) { entry in
      guard var (_, index) = try? ChangeSetDecoder().decodeIndex(entry.frame) else { return }
      index.number(from: entry.firstObjectNumber)
      try Parking.strike(watched, index, sequence: entry.sequence, on: connection)
    }
  }

  private func replay(
    _ parked: Parking.Entry, _ applier: PageApplier, _ taken: inout [Parking.Taken]
  ) throws {
    let connection = applier.transaction.connection
    var changeSet: ChangeSet
    do {
      changeSet = try ChangeSetDecoder().decode(
        try Parking.frame(of: parked.sequence, on: connection))
      changeSet.index.number(from: parked.firstNumber)
    } catch let error as ProtocolError {
      return try Parking.note("\(error)", of: parked.sequence, on: connection)
    }
    if parked.code.isWhole {
      let frame = try applier.applyLate(changeSet, parked)
      taken.append(Parking.Taken(entry: parked, revived: frame.revivedNumbers))
      return try Parking.settle(parked, frame.unknown, on: connection)
    }
    if parked.code == .needsParked {
      try applier.replay(
        changeSet, sequence: parked.sequence, firstNumber: parked.firstNumber, about: taken)
    }
    let known = parked.unknown.filter { isKnown($0, of: parked) }
    var unknown = parked.unknown.subtracting(known)
    if !known.isEmpty {
      unknown.formUnion(
        try applier.replay(
          changeSet, sequence: parked.sequence, firstNumber: parked.firstNumber,
          only: Set(known.map(\.name))))
    }
    let waits =
      parked.code == .needsParked && applier.parked.contains { $0.sequence < parked.sequence }
    try Parking.settle(parked, unknown, waits: waits, on: connection)
  }

  func isDue(_ parked: Parking.Entry) -> Bool {
    if parked.code == .damaged || parked.triedLevel == FormerParking.heldLevel { return false }
    if parked.code.isWhole { return parked.triedLevel < Parking.level }
    return parked.unknown.contains { isKnown($0, of: parked) }
  }

  /// Whether a parked cell can be opened by now.
  private func opens(_ row: ParkedValues.Row, _ transaction: ReadTransaction) throws -> Bool {
    guard schema.keys != nil, let cell = SealedValue.cell(in: row.value),
      let entity = schema.entity(numbered: row.key.entity),
      let property = entity.property(named: row.property)
    else { return false }
    return try CellOpener(transaction, schema: schema)
      .value(ofCell: cell, property, of: entity, row.key) != nil
  }

  /// What stands for a parked value; nil when the model holds it by now.
  private func standIn(for row: ParkedValues.Row) -> StandIn? {
    guard
      let standIn = schema.entity(numbered: row.key.entity)?.property(named: row.property)?.standIn,
      standIn.refusal(of: row.value) != nil
    else { return nil }
    return standIn
  }

  /// Whether the model has what an entry is parked for: an entity, or a property of the kind that
  /// the log has.
  private func isKnown(_ parked: ParkedName, of entry: Parking.Entry) -> Bool {
    // A newer program may know what it is.
    parked.kind == .unknown && schema.property(parkedAs: parked.name)?.property != nil
      ? entry.triedLevel < Parking.level : schema.knows(parked)
  }
}
