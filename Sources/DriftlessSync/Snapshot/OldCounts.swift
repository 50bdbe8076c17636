public import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// What becomes of counts, texts and lists that were edited here before the names of saves begin which a purged zone still
/// tells: nobody can tell whether another copy of the store sent them.
public enum OldCountDecision: String, Hashable, Sendable, CaseIterable {
  /// They are sent, beside what the zone has. Right where no other copy of the store ever synced.
  case countAgain = "count-again"
  /// They are taken out of the store, and the journal has them. Right where another copy of the store sent them.
  case leaveOut = "leave-out"
}

/// A snapshot does not tell of counts, texts or lists that are pending here: another one may, or a person is asked.
struct OldCountQuestion: Error {
  let error: SyncError
  /// The names of saves that the snapshot tells begin then.
  let forgotten: HybridTime
}

/// What a person said, and what they were asked about.
struct OldCountWord: Hashable {
  let decision: OldCountDecision
  /// They were asked about what was edited before that; nil where nobody had asked so far.
  let forgotten: HybridTime?

  /// Nil where a setting is damaged.
  init?(_ text: String) {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count),
      let decision = OldCountDecision(rawValue: String(parts[0]))
    else { return nil }
    self.decision = decision
    guard parts.count > 1 else {
      forgotten = nil
      return
    }
    guard let time = UInt64(parts[1]) else { return nil }
    forgotten = HybridTime(rawValue: time)
  }

  init(_ decision: OldCountDecision, _ forgotten: HybridTime?) {
    (self.decision, self.forgotten) = (decision, forgotten)
  }

  var text: String { forgotten.map { "\(decision.rawValue) \($0.rawValue)" } ?? decision.rawValue }
}

extension SyncEngine {
  static let oldCountsSetting = "sync.oldCounts"
  /// There while a person is asked: the time before which what they are asked about was edited.
  static let oldCountsAskedSetting = "sync.oldCountsAsked"

  /// Says what the next sync does with counts, texts and lists that are older than what a purged zone remembers of saves, where
  /// it would wait for a person (`SyncError.Code.oldCounts`). The journal names each.
  ///
  /// The word is for what the sync asked about last: where more became too old since, it asks again. It goes as soon as it was
  /// used, and when the sync asks no more.
  ///
  /// ```swift
  /// try SyncEngine.decideOldCounts(.countAgain, of: store)
  /// ```
  ///
  /// - Throws: `StoreError`.
  public static func decideOldCounts(
    _ decision: OldCountDecision, of store: PersistentStore
  ) throws {
    _ = try store.write(TransactionInfo(author: importAuthor, kind: .imported)) {
      let word = try OldCountWord(decision, askedOldCounts($0))
      try $0.setSetting(oldCountsSetting, .text(word.text))
    }
  }

  static func oldCountWord(_ transaction: ReadTransaction) throws -> OldCountWord? {
    guard case .text(let text)? = try transaction.setting(oldCountsSetting) else { return nil }
    return OldCountWord(text)
  }

  private static func askedOldCounts(_ transaction: ReadTransaction) throws -> HybridTime? {
    guard case .text(let text)? = try transaction.setting(oldCountsAskedSetting) else { return nil }
    return UInt64(text).map { HybridTime(rawValue: $0) }
  }

  /// A person is asked: what they said before was about something else.
  static func ask(_ question: OldCountQuestion, _ transaction: WriteTransaction) throws {
    try transaction.setSetting(oldCountsSetting, nil)
    try transaction.setSetting(oldCountsAskedSetting, .text("\(question.forgotten.rawValue)"))
  }

  /// Nobody is asked any more.
  static func endOldCounts(_ transaction: WriteTransaction) throws {
    for setting in [oldCountsSetting, oldCountsAskedSetting]
    where try transaction.setting(setting) != nil {
      try transaction.setSetting(setting, nil)
    }
  }
}

/// A count, a text or a list that is pending here, and was edited before the names begin that a snapshot tells.
private struct OldCount {
  var key: ObjectKey
  var entity: SyncSchema.Entity
  var property: SyncSchema.Property
  /// What saves of then did to it.
  var old: [TransactionDelta]
  /// When what is old of it was done last.
  var oldTime: HybridTime
  /// Whether something was done to it since, which the names tell.
  var hasLater: Bool
}

extension PageApplier {
  /// Settles what is pending, adds up, and may be in the zone's totals, or not: the names of saves that a snapshot tells begin
  /// later. Where there is no log, a person decides.
  ///
  /// - Throws: `UnfitSnapshot` where the log can be read instead, `OldCountQuestion` where nobody has decided, or where another
  ///   snapshot may tell (`mayDecideOldCounts`).
  func settleOldCounts(before forgotten: HybridTime) throws {
    let old = try oldCounts(before: forgotten)
    guard !old.isEmpty else { return }
    guard !hasLog else {
      throw UnfitSnapshot(reason: "what was added here is older than the names of saves in it")
    }
    guard mayDecideOldCounts, let word = try SyncEngine.oldCountWord(transaction),
      case let asked = word.forgotten ?? forgotten, old.allSatisfy({ $0.oldTime < asked })
    else {
      let names = try old.prefix(Self.oldCountsNamed).map {
        "\($0.property.name) of \($0.entity.name) \(try name(of: $0))"
      }
      throw OldCountQuestion(error: .oldCounts(old.count, names), forgotten: forgotten)
    }
    for count in old {
      guard let row = try transaction.knownOwnRow(count.key)?.values else {
        throw SyncError.damaged("object \(count.key.key) of entity number \(count.key.entity)")
      }
      let told = try told(count, row)
      try journal.addGivenUp(
        entity: count.entity, property: count.property, key: count.key,
        value: word.decision == .leaveOut ? told.value : row[count.property.slot], elements: nil,
        time: count.oldTime, row: row,
        explanation: word.decision == .countAgain
          ? "It is sent by a person's word, beside what the zone has: whether another copy of the store sent it before, the "
            + "zone does not tell any more."
          : "It was left out by a person's word: whether another copy of the store sent it before, the zone does not tell "
            + "any more.",
        outcome: word.decision == .countAgain ? .local : .remote, base: told.base,
        local: told.local)
      report.conflicts += 1
      if word.decision == .leaveOut { try leaveOut(count, row) }
    }
  }

  /// So many are named in a question, the first ones.
  private static let oldCountsNamed = 10

  /// What the journal has of one: of a count what it was, what the old saves made of it, and as the value what they added; of a
  /// text or a list what it was and is.
  private func told(
    _ count: OldCount, _ row: [PropertyValue]
  ) throws -> (base: PropertyValue?, local: PropertyValue, value: PropertyValue) {
    let (now, base) = (row[count.property.slot], try baseValue(of: count.key, count.property))
    guard count.property.policy == .counter else { return (base, now, now) }
    let begin = base ?? .null
    let added =
      count.hasLater
      ? count.old.reduce(Optional(PropertyValue.null)) { sum, delta in
        sum.flatMap { $0.isNull ? delta.value : CounterDelta.sum($0, delta.value) }
      } : CounterDelta.difference(now, begin)
    guard let added else { return (base, now, now) }
    return (begin, CounterDelta.sum(begin, added) ?? now, added)
  }

  private func name(of count: OldCount) throws -> String {
    try transaction.identity(of: count.key).uuidString
  }

  private func oldCounts(before forgotten: HybridTime) throws -> [OldCount] {
    var mayHave = false
    pending.objects.forEachState { entity, object, _ in
      let adding = schema.entity(numbered: entity)?.adding ?? PropertyMask()
      if object.whole == .none, object.properties.intersects(adding) { mayHave = true }
    }
    guard mayHave else { return [] }
    var found: [OldCount] = []
    for (key, object) in pending.objects where object.whole == .none {
      guard let entity = schema.entity(numbered: key.entity) else { continue }
      for property in entity.properties where property.keepsDeltas {
        guard let last = object.transaction(of: property.slot), last != 0 else { continue }
        let time = try transaction.editTime(last)
        let old = try transaction.deltas(of: key, property.name).filter {
          try $0.transaction > 0 && transaction.editTime($0.transaction) < forgotten
        }
        let oldTime =
          try time < forgotten
          ? time : old.map { try transaction.editTime($0.transaction) }.max()
        guard let oldTime else { continue }
        found.append(
          OldCount(
            key: key, entity: entity, property: property, old: old, oldTime: oldTime,
            hasLater: time >= forgotten))
      }
    }
    return found.sorted {
      ($0.key.entity, $0.key.key, $0.property.name) < ($1.key.entity, $1.key.key, $1.property.name)
    }
  }

  /// Takes what saves did to a property out of the store: it is what the zone had, with what was counted since.
  private func leaveOut(_ count: OldCount, _ row: [PropertyValue]) throws {
    let (key, property) = (count.key, count.property)
    var values = row
    let mask = PropertyMask([property.slot])
    if property.policy == .counter, count.hasLater,
      let less = count.old.reduce(
        Optional(row[property.slot]),
        { value, delta in
          value.flatMap { CounterDelta.difference($0, delta.value) }
        })
    {
      values[property.slot] = less
      try transaction.update(key, mask, values: values, expectedVersion: nil)
      for delta in count.old {
        try transaction.dropDelta(of: key, property.name, transaction: delta.transaction)
      }
      return
    }
    // What a text or a list was before the later saves, where that is known: what they did to it stays, and is pending.
    if property.policy != .counter, count.hasLater, let last = count.old.last?.value, !last.isNull {
      try replaceBase(of: key, property, with: last)
      for delta in count.old {
        try transaction.dropDelta(of: key, property.name, transaction: delta.transaction)
      }
      return
    }
    guard let base = try baseValue(of: key, property) else {
      throw SyncError.logPurged(
        "what \(property.name) of \(count.entity.name) was before it was edited here is not known")
    }
    values[property.slot] = base
    try transaction.update(key, mask, values: values, expectedVersion: nil)
    setPending(key) { $0.clear(mask) }
    try dropBase(of: key, property)
  }
}

extension SyncError {
  fileprivate static func oldCounts(_ count: Int, _ names: [String]) -> SyncError {
    let more = count > names.count ? ", and \(count - names.count) more" : ""
    return SyncError(
      .oldCounts,
      "The zone's log was purged, and \(count) \(count == 1 ? "count, text or list was" : "counts, texts or lists were") edited "
        + "here before the saves that the zone still remembers (\(names.joined(separator: ", "))\(more)): whether another copy "
        + "of this store sent them nobody can tell. Nothing was changed.",
      suggestion:
        "Where no other copy of the store ever synced: syncctl sync --old-counts count-again, which sends them. Where one "
        + "did: syncctl sync --old-counts leave-out, which takes them out. The journal names each (syncctl conflicts)."
    )
  }
}
