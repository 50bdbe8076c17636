import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation
import Logging

/// Entries of a push in several parts: they are kept as they come, and applied in one transaction when the last one is here.
extension SyncEngine {
  /// Up to where the zone's log is here: the cursor, and what is kept behind it until the rest of a push comes.
  func pulledThrough() throws -> Cursor {
    let (state, end, isOther) = try store.read { transaction in
      let state = try Self.state(on: transaction.connection, of: store)
      let end = try StagedEntries.end(after: state.position.mark, on: transaction.connection)
      return (state, end, try end == nil && StagedEntries.exist(on: transaction.connection))
    }
    // A whole push was kept, and not applied: the disk was full, or the process ended. Its last part comes once more.
    if let end, try store.read({ try PushRest(staged: $0.connection) }) == nil {
      try bookkeep { try StagedEntries.remove(end.sequence, on: $0.connection) }
      return try pulledThrough()
    }
    // They are of a log that is gone, or what came after them was applied.
    if isOther { try bookkeep { try StagedEntries.removeAll(on: $0.connection) } }
    guard let end else { return state.position }
    return Cursor(generation: state.generation, sequence: end.sequence, chain: end.chain)
  }

  /// Lets go of what is kept behind the cursor, which may be all that a server has lost.
  ///
  /// - Returns: whether there was something.
  func letGoOfStaged() throws -> Bool {
    guard try store.read({ try StagedEntries.exist(on: $0.connection) }) else { return false }
    try bookkeep { try StagedEntries.removeAll(on: $0.connection) }
    return true
  }

  /// Applies the entries of a page, as `apply` does; those of a push whose last part has not come are kept.
  func applyInParts(
    _ entries: [PullPage.Entry], cursor: Cursor, head: UInt64, allowsMassDelete: Bool
  ) throws -> PullReport {
    var report = PullReport()
    var single: [PullPage.Entry] = []
    func applySingle() throws {
      guard let last = single.last else { return }
      let through = Cursor(
        generation: cursor.generation, sequence: last.sequence, chain: last.chain)
      report.add(
        try apply(single, cursor: through, head: head, allowsMassDelete: allowsMassDelete))
      single = []
    }
    func applyPush() throws {
      report.add(
        try applyStaged(cursor.generation, head: head, allowsMassDelete: allowsMassDelete))
    }
    var next = try store.read { try PushRest(staged: $0.connection) }
    for entry in entries {
      let header = try? ChangeSetDecoder().decodeHeader(entry.frame)
      if let rest = next, header.map(rest.goesOn(with:)) == false {
        // What no server does: the rest of the push is not there.
        try applyPush()
        next = nil
      }
      guard next != nil || header.map({ $0.parts > 1 }) == true else {
        single.append(entry)
        continue
      }
      try applySingle()
      if !entry.isOwnHeaderOnly, !ChangeSetHeader.isWhole(entry.frame), try !cameTwice(entry) {
        throw ProtocolError(
          .damaged, "Entry \(entry.sequence) was changed on its way", suggestion: "Pull again.")
      }
      try stage(entry, cursor.generation)
      if let rest = next {
        next = rest.after(header)
      } else {
        next = header.flatMap { PushRest($0) }
      }
      if next == nil { try applyPush() }
    }
    try applySingle()
    return report
  }

  /// Keeps an entry behind the cursor, and behind those that are kept already.
  private func stage(_ entry: PullPage.Entry, _ generation: UUID) throws {
    if !entry.isOwnHeaderOnly {
      try store.read { try staged.update($0.connection) }
      try requireRoom(
        for: staged.bytes.addingClamped(entry.frame.count)
          .multipliedClamped(by: SyncTuning.appliedShare), "A push of others in several parts")
    }
    try bookkeep { transaction in
      let connection = transaction.connection
      let state = try Self.state(on: connection, of: store)
      let last = try StagedEntries.last(on: connection) ?? state.position.mark
      guard state.generation == generation, entry.follows(last) else { throw SyncError.otherLog }
      try StagedEntries.add(entry, on: connection)
    }
  }

  /// Applies all parts of a push, which are here. One that cannot be applied is set aside, and the others are not held up.
  private func applyStaged(
    _ generation: UUID, head: UInt64, allowsMassDelete: Bool
  ) throws -> PullReport {
    let (staged, newest, hasDeletes, values) = try store.read { transaction in
      try transaction.connection.withCache(kibibytes: SyncTuning.frameCacheKibibytes) {
        try lookAtStaged(transaction)
      }
    }
    options.trimsMemory()
    let copied = try bytesToCopy(values)
    if copied > 0 { try requireRoom(for: copied, "A push of others in several parts") }
    var unfit: [UInt64: String] = [:]
    while true {
      var current = staged.lowerBound
      do {
        return try settling(after: newest) { applier, state in
          defer { applier.isBeforeLastPart = false }
          applier.allowsMassDelete = allowsMassDelete
          applier.pushIsBraked = try hasDeletes && isBraked(staged, applier)
          applier.deferredOfPush = try deferredDeletes(staged, applier)
          for sequence in staged {
            current = sequence
            try applyStaged(
              sequence, isLast: sequence == staged.upperBound, generation, head: head,
              unfit[sequence], applier, &state)
          }
          applier.pushIsBraked = nil
          applier.deferredOfPush = nil
          if state.cursor >= head { try applier.brake.end() }
          try StagedEntries.removeAll(on: applier.transaction.connection)
          try noteUnsettled(applier)
          try ImportTimes.purge(applier.transaction.connection)
          return applier.report
        }
      } catch let error where Self.isOfEntry(error) && unfit[current] == nil {
        log.warning("Entry \(current) of the zone's log is set aside: \(error)")
        unfit[current] = "\(error)"
      }
    }
  }

  private func applyStaged(
    _ sequence: UInt64, isLast: Bool, _ generation: UUID, head: UInt64, _ unfit: String?,
    _ applier: PageApplier, _ state: inout ReplicaState
  ) throws {
    let connection = applier.transaction.connection
    guard var entry = try StagedEntries.entry(at: sequence, on: connection) else {
      throw SyncError.otherLog
    }
    // What came before the answer to it is this replica's own all the same.
    if try LogPlaces.has(entry.mark, on: connection) { entry.isOwnHeaderOnly = true }
    let isDamaged = !entry.isOwnHeaderOnly && !ChangeSetHeader.isWhole(entry.frame)
    try advance(
      &state, over: [entry], generation, head: head, isKept: !isDamaged, applier.transaction)
    applier.report.bytes += entry.frame.count
    applier.isBeforeLastPart = !isLast
    defer { options.trimsMemory() }
    guard !entry.isOwnHeaderOnly else {
      applier.report.ownChangeSets += 1
      if isLast { try applier.finishKeys() }
      return
    }
    let contents = try? ChangeSetDecoder().decode(entry.frame)
    guard unfit == nil, let contents else {
      let told = try? ChangeSetDecoder().decodeIndex(entry.frame)
      if let told { try applier.noteObjects(told.index, header: told.header, entry) }
      let code: Parking.Code =
        isDamaged ? .damaged : contents == nil ? .unreadable : .notApplicable
      try Parking.park(
        entry, code, reason: unfit ?? "It cannot be read.", at: applier.now, on: connection)
      if isLast { try applier.finishKeys() }
      return
    }
    try applier.apply(contents, entry)
  }

  /// The entries of the push that is here, the newest time in it, whether it deletes what nobody may have meant to, and the
  /// large values that it names.
  private func lookAtStaged(
    _ transaction: ReadTransaction
  ) throws -> (
    entries: ClosedRange<UInt64>, newest: HybridTime?, hasDeletes: Bool,
    values: [LargeValue: Int]
  ) {
    let state = try Self.state(on: transaction.connection, of: store)
    let first = state.cursor &+ 1
    let last = try StagedEntries.last(on: transaction.connection)?.sequence ?? 0
    var newest: HybridTime?
    var hasDeletes = false
    var values: [LargeValue: Int] = [:]
    guard first <= last else { throw SyncError.otherLog }
    for sequence in first...last {
      guard let entry = try StagedEntries.entry(at: sequence, on: transaction.connection) else {
        throw SyncError.otherLog
      }
      guard !entry.isOwnHeaderOnly,
        try !LogPlaces.has(entry.mark, on: transaction.connection),
        let (header, index) = try? ChangeSetDecoder().decodeIndex(entry.frame)
      else { continue }
      if !index.values.isEmpty, let changeSet = try? ChangeSetDecoder().decode(entry.frame) {
        values.merge(changeSet.valueCounts, uniquingKeysWith: +)
      }
      if !header.massDeleteIsMeant, index.hasDeletes { hasDeletes = true }
      for transaction in index.transactions {
        let time = HybridTime(rawValue: transaction.hybridTime)
        newest = newest.map { max($0, time) } ?? time
      }
    }
    return (first...last, newest, hasDeletes, values)
  }

  /// The deletes of a push count together, whichever parts tell them.
  private func isBraked(_ staged: ClosedRange<UInt64>, _ applier: PageApplier) throws -> Bool {
    guard !applier.allowsMassDelete else { return false }
    try applier.brake.begin()
    var deletes = 0
    try forEachIndex(of: staged, applier) { header, index in
      if !header.massDeleteIsMeant { deletes += try applier.heldDeletes(of: index) }
    }
    return try !applier.brake.admits(deletes)
  }

  /// The deletes of a push that meet something here count together as well.
  private func deferredDeletes(
    _ staged: ClosedRange<UInt64>, _ applier: PageApplier
  ) throws -> DeferredDeletes {
    var deferred = DeferredDeletes()
    guard applier.pushIsBraked != true, !applier.pending.isEmpty || !applier.zone.keys.isEmpty
    else { return deferred }
    try forEachIndex(of: staged, applier) { try deferred.noteMet(by: $1, applier) }
    guard !deferred.isEmpty else { return deferred }
    try forEachIndex(of: staged, applier) { try deferred.noteTargets(of: $1, applier) }
    return deferred
  }

  /// Hands over what the parts of a push say without their values.
  private func forEachIndex(
    of staged: ClosedRange<UInt64>, _ applier: PageApplier,
    _ body: (ChangeSetHeader, ChangeSetIndex) throws -> Void
  ) throws {
    let connection = applier.transaction.connection
    for sequence in staged {
      guard let entry = try StagedEntries.entry(at: sequence, on: connection),
        !entry.isOwnHeaderOnly, try !LogPlaces.has(entry.mark, on: connection),
        let (header, index) = try? ChangeSetDecoder().decodeIndex(entry.frame)
      else { continue }
      try body(header, index)
    }
  }
}

extension ChangeSetIndex {
  /// Whether some object is deleted, by its number or by its identity.
  var hasDeletes: Bool {
    !tombstones.isEmpty || groups.contains { $0.kind == .delete }
  }

  /// The identity of an object that is new in the change set, by its place in the object table.
  func identity(ofNew object: Int) -> UUID? {
    var place = object
    for run in newObjects {
      if place < run.count { return place < 0 ? nil : run.identities[place] }
      place -= run.count
    }
    return nil
  }
}

/// What of a push in several parts is still to come.
private struct PushRest: Equatable {
  private let last: ChangeSetHeader
  /// The next part.
  private let part: UInt16

  /// Nil when nothing is.
  init?(_ header: ChangeSetHeader) {
    self.init(last: header, part: header.part)
  }

  private init?(last: ChangeSetHeader, part: UInt16) {
    guard part < last.parts else { return nil }
    self.last = last
    self.part = part + 1
  }

  /// By what is kept of it.
  init?(staged connection: SQLiteConnection) throws {
    var sequence = try StagedEntries.last(on: connection)?.sequence ?? 0
    var unread: UInt16 = 0
    while let entry = try StagedEntries.entryWithHeader(at: sequence, on: connection) {
      if let header = try? ChangeSetDecoder().decodeHeader(entry.frame) {
        self.init(last: header, part: header.part &+ unread)
        return
      }
      unread &+= 1
      sequence -= 1
    }
    return nil
  }

  /// Whether an entry is the next part.
  func goesOn(with header: ChangeSetHeader) -> Bool {
    header.part == part && header.isOfSamePush(as: last)
  }

  /// What is still to come behind the next part, whose header may not be one that can be read.
  func after(_ header: ChangeSetHeader?) -> PushRest? {
    PushRest(last: header ?? last, part: part)
  }
}
