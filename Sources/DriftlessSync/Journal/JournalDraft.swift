import Driftless
import DriftlessSQLite
import Foundation

/// Collects the conflicts that an import settles, and writes them in its transaction: at its end, and before that where their
/// values take much memory.
struct JournalDraft {
  private let transaction: WriteTransaction
  private var entries: [(entry: JournalEntry, values: Journal.Values)] = []
  /// What the values of these entries take.
  private var bytes = 0
  private static let bytesMax = 4 << 20

  /// The row that came last, whose object most entries that follow are about: it is kept once.
  private var lastRow: (object: UUID, values: [PropertyValue])?

  init(_ transaction: WriteTransaction) {
    self.transaction = transaction
  }

  /// What the journal says of a value that does not open here.
  static let sealedText = #""sealed""#
  /// What the journal says of a value that lay in a file which was gone: it has nothing else of it.
  static let lostText = #""lost""#

  /// Whether the journal has conflicts that wait for a person; asked when an object is deleted.
  private var hasWaiting: Bool?

  /// The zone deletes an object: what waits for a person's word on it keeps it.
  mutating func keepForWaiting(_ entity: SyncSchema.Entity, _ key: ObjectKey) throws {
    let connection = transaction.connection
    let isAsked = try hasWaiting ?? (Journal.waitingCount(on: connection) > 0)
    hasWaiting = isAsked
    guard isAsked, let row = try whole(transaction.knownOwnRow(key)?.values, entity, key) else {
      return
    }
    try Journal.keep(row, of: transaction.identity(of: key), on: connection)
  }

  mutating func add(
    _ conflict: PropertyConflict, _ verdict: Verdict, entity: SyncSchema.Entity,
    property: SyncSchema.Property, key: ObjectKey, sequence: UInt64
  ) throws {
    let (kept, outcome): (PropertyValue, JournalEntry.Outcome) =
      switch verdict.settlement {
      case .same, .remote: (conflict.remote, .remote)
      case .local, .sameButLater: (conflict.local, .local)
      case .combined(let value): (value, .combined)
      }
    let entry = JournalEntry(
      number: 0, object: try transaction.identity(of: key), entity: entity.name,
      property: property.name, policy: conflict.policy.text,
      base: try conflict.base.map(text), local: try text(conflict.local),
      remote: try text(conflict.remote), kept: try text(kept), outcome: outcome,
      origin: conflict.remoteReplica, localTime: conflict.localTime,
      remoteTime: conflict.remoteTime, transaction: 0, sequence: sequence,
      explanation: verdict.explanation(of: property.name, policy: conflict.policy))
    try append(entry, Journal.Values(local: conflict.local, remote: conflict.remote))
  }

  /// An object's place in a list, where that took somebody's order: each side is told by whom the object comes after.
  mutating func addPlace(
    _ conflict: PlaceConflicts.Conflict,
    after: (local: ObjectKey?, remote: ObjectKey?, kept: ObjectKey?)
  ) throws {
    let (sides, verdict) = (conflict.sides, conflict.verdict)
    let outcome: JournalEntry.Outcome =
      switch verdict.settlement {
      case .same, .remote: .remote
      case .local, .sameButLater: .local
      case .combined: .combined
      }
    func text(_ key: ObjectKey?) throws -> String {
      try PlaceText.text(after: key, transaction)
    }
    let entry = JournalEntry(
      number: 0, object: try transaction.identity(of: conflict.key), entity: conflict.entity.name,
      property: conflict.property.name, policy: sides.policy.text, base: nil,
      local: try text(after.local), remote: try text(after.remote), kept: try text(after.kept),
      outcome: outcome, origin: sides.remoteReplica, localTime: sides.localTime,
      remoteTime: sides.remoteTime, transaction: 0, sequence: conflict.sequence,
      explanation: verdict.explanation(of: conflict.property.words, policy: sides.policy))
    try append(entry, Journal.Values(local: sides.local, remote: sides.remote))
  }

  /// A value that lost a unique key to another object: the remote one stands.
  mutating func addKeyConflict(
    _ conflict: PropertyConflict, entity: SyncSchema.Entity, property: SyncSchema.Property,
    key: ObjectKey, sequence: UInt64, explanation: String
  ) throws {
    let entry = JournalEntry(
      number: 0, object: try transaction.identity(of: key), entity: entity.name,
      property: property.name, policy: conflict.policy.text, base: try conflict.base.map(text),
      local: try text(conflict.local), remote: try text(conflict.remote),
      kept: try text(conflict.remote), outcome: .remote, origin: conflict.remoteReplica,
      localTime: conflict.localTime, remoteTime: conflict.remoteTime, transaction: 0,
      sequence: sequence, explanation: explanation)
    try append(entry, Journal.Values(local: conflict.local, remote: conflict.remote))
  }

  /// A property value that a delete took, or that came for an object deleted here.
  ///
  /// - Parameters:
  ///   - elements: the set that a delete took, in place of a value.
  ///   - whole: the object as it was (`whole`), when it is deleted from now on.
  mutating func addDeleteConflict(
    entity: SyncSchema.Entity, property: SyncSchema.Property, key: ObjectKey,
    local: PropertyValue?, remote: PropertyValue?, elements: [ObjectKey]? = nil,
    outcome: JournalEntry.Outcome, localTime: HybridTime, side: RemoteSide,
    whole: [PropertyValue]? = nil, explanation: String
  ) throws {
    // What stands is the delete; what it took is the other side's.
    let set = try elements.map { try text($0, in: property) }
    let localText = try outcome == .local ? local.map(text) : set ?? local.map(text)
    let remoteText = try outcome == .local ? set ?? remote.map(text) : remote.map(text)
    let entry = JournalEntry(
      number: 0, object: try transaction.identity(of: key), entity: entity.name,
      property: property.name, policy: entity.description.deletePolicy.rawValue, base: nil,
      local: localText, remote: remoteText, kept: outcome == .local ? localText : remoteText,
      outcome: outcome, origin: side.origin, localTime: localTime, remoteTime: side.time,
      transaction: 0, sequence: side.sequence, explanation: explanation)
    try append(entry, Journal.Values(local: local, remote: remote, row: whole))
  }

  /// Two sets, of which neither is known to be what the other was made on.
  mutating func addSets(
    entity: SyncSchema.Entity, property: SyncSchema.Property, key: ObjectKey,
    local: [ObjectKey], remote: [ObjectKey], kept: [ObjectKey], outcome: JournalEntry.Outcome,
    localTime: HybridTime, side: RemoteSide, explanation: String
  ) throws {
    let entry = JournalEntry(
      number: 0, object: try transaction.identity(of: key), entity: entity.name,
      property: property.name, policy: property.policy.text, base: nil,
      local: try text(local, in: property), remote: try text(remote, in: property),
      kept: try text(kept, in: property), outcome: outcome, origin: side.origin,
      localTime: localTime, remoteTime: side.time, transaction: 0, sequence: side.sequence,
      explanation: explanation)
    try append(entry, Journal.Values())
  }

  /// A conflict about an object as a whole.
  ///
  /// - Parameters:
  ///   - policy: the rule that settled it; nil for that of the entity's deletes.
  ///   - row: the object as it was, when it is deleted from now on.
  ///   - cuts: what its delete had taken from it before (`PageApplier.formerCuts`).
  ///   - remote: a value of the other side that is no property's here.
  mutating func addWhole(
    entity: SyncSchema.Entity, key: ObjectKey, outcome: JournalEntry.Outcome,
    localTime: HybridTime, side: RemoteSide, policy: String? = nil, row: [PropertyValue]? = nil,
    cuts: [DeleteCuts.Cut] = [], remote: PropertyValue? = nil, explanation: String
  ) throws {
    let entry = JournalEntry(
      number: 0, object: try transaction.identity(of: key), entity: entity.name, property: nil,
      policy: policy ?? entity.description.deletePolicy.rawValue, base: nil, local: nil,
      remote: try remote.map(text), kept: nil, outcome: outcome, origin: side.origin,
      localTime: localTime,
      remoteTime: side.time, transaction: 0, sequence: side.sequence, explanation: explanation)
    try append(entry, Journal.Values(row: whole(row, entity, key, cuts)))
  }

  /// An edit that went with the state of the store.
  ///
  /// - Parameters:
  ///   - value: what is put back by who undoes it; of a count with a base what is added.
  ///   - elements: the set, in place of a value.
  ///   - base: what it was before, where that is told.
  ///   - local: what it was then, where that is not the value.
  ///   - decidedAt: when a person decided for the other side; nil where nobody did.
  mutating func addGivenUp(
    entity: SyncSchema.Entity, property: SyncSchema.Property, key: ObjectKey, value: PropertyValue,
    elements: [ObjectKey]?, time: HybridTime, row: [PropertyValue], explanation: String,
    outcome: JournalEntry.Outcome = .remote, base: PropertyValue? = nil,
    local: PropertyValue? = nil, decidedAt: Date? = nil
  ) throws {
    let side = RemoteSide.unknown
    var entry = JournalEntry(
      number: 0, object: try transaction.identity(of: key), entity: entity.name,
      property: property.name, policy: property.policy.text, base: try base.map(text),
      local: try elements.map { try text($0, in: property) } ?? text(local ?? value), remote: nil,
      kept: nil,
      outcome: outcome, origin: side.origin, localTime: time, remoteTime: side.time, transaction: 0,
      sequence: side.sequence, explanation: explanation)
    if let decidedAt { (entry.decision, entry.decidedAt) = (.remote, decidedAt) }
    try append(
      entry,
      Journal.Values(
        local: elements == nil ? value : nil, remote: nil, row: whole(row, entity, key)))
  }

  /// An edit at an end of a relationship that does not say it any more, which does not go over to the other one as a whole.
  ///
  /// - Parameter isCut: the last of `local` is deleted; else nobody here knows what the edit took out.
  mutating func addUncarried(
    entity: SyncSchema.Entity, end: OtherEnd, key: ObjectKey, local: [ObjectKey], isCut: Bool,
    time: HybridTime, sequence: UInt64
  ) throws {
    let names = try local.map {
      "\"\(try transaction.identity(of: $0).uuidString.lowercased())\""
    }
    let side = RemoteSide.unknown
    let reason =
      isCut
      ? "what this edit refers to is deleted, and cannot say it."
      : "what the zone had of it before this edit is not known here: what the edit put in is sent, and "
        + "what it took out is as the zone has it."
    let entry = JournalEntry(
      number: 0, object: try transaction.identity(of: key), entity: entity.name,
      property: end.name, policy: ConflictPolicy.lastWriterWins.text, base: nil,
      local: end.relationship.isToMany
        ? "[\(names.joined(separator: ","))]" : names.first ?? "null",
      remote: nil, kept: nil, outcome: .remote, origin: side.origin, localTime: time,
      remoteTime: side.time, transaction: 0, sequence: sequence,
      explanation: "\(end.name) is said by \(end.owner.name) of \(end.owner.entity?.name ?? "") "
        + "since the store has its model of now, and \(reason)")
    entries.append((entry, Journal.Values()))
  }

  /// A reference that would close a ring in a tree.
  mutating func addRing(
    entity: SyncSchema.Entity, property: SyncSchema.Property, key: ObjectKey,
    local: PropertyValue, kept: PropertyValue, time: HybridTime
  ) throws {
    let side = RemoteSide.unknown
    let entry = JournalEntry(
      number: 0, object: try transaction.identity(of: key), entity: entity.name,
      property: property.name, policy: RelationshipDescription.treeKey, base: nil,
      local: try text(local), remote: try text(kept), kept: try text(kept), outcome: .remote,
      origin: side.origin, localTime: time, remoteTime: side.time, transaction: 0,
      sequence: side.sequence,
      explanation: "\(property.name) would close a ring with what another replica changed: the "
        + "later edit gives way.")
    try append(entry, Journal.Values(local: local, remote: kept))
  }

  /// An object as it was: its values, with the members of its to-many relationships (`FormerMembers`), and behind them the places that
  /// it had in ordered relationships, which are no values of its own. It takes a look at each relationship: once an object.
  ///
  /// - Parameter cuts: what its delete had taken from it before (`PageApplier.formerCuts`).
  func whole(
    _ row: [PropertyValue]?, _ entity: SyncSchema.Entity, _ key: ObjectKey,
    _ cuts: [DeleteCuts.Cut] = []
  ) throws -> [PropertyValue]? {
    guard var row else { return nil }
    try markMissing(in: &row, entity, key)
    try FormerMembers.fill(&row, of: key, entity.description.layout, cuts: cuts, transaction)
    Self.bound(&row)
    return try row
      + entity.places.map { place -> PropertyValue in
        let own = try transaction.place(of: key, in: place.relationship)
        if let own { return .integer(own) }
        return try BaseValues.value(of: key, place.name, on: transaction.connection) ?? .null
      }
  }

  /// What stands in for a value that is set aside, and the null in place of one whose file is gone, are no values of the object:
  /// who brings it back would make edits of them.
  private func markMissing(
    in row: inout [PropertyValue], _ entity: SyncSchema.Entity, _ key: ObjectKey
  ) throws {
    let parked = try ParkedValues(transaction.connection)
    let lost =
      transaction.schema.mayHaveExternalData
      ? try transaction.knownOwnRow(key)?.lost ?? PropertyMask() : PropertyMask()
    guard parked.mayHaveAny || !lost.isEmpty else { return }
    for property in entity.properties where row.indices.contains(property.slot) {
      let slot = property.slot
      guard let standIn = property.standIn else { continue }
      if row[slot].isNull, lost.contains(slot) {
        row[slot] = MissingValue.lost
      } else if row[slot].isInZone {
        row[slot] = MissingValue.setAside(row[slot])
      } else if row[slot] == standIn.shown, let value = try parked.value(of: key, property.name) {
        row[slot] = MissingValue.setAside(value)
      }
    }
  }

  /// Adds an entry that was made elsewhere.
  mutating func add(_ entry: JournalEntry, _ values: Journal.Values) throws {
    try append(entry, values)
  }

  private mutating func append(_ entry: JournalEntry, _ values: Journal.Values) throws {
    var entry = entry
    var values = values
    JournalBounds().leaveOut(of: &entry, &values)
    if let row = values.row {
      if let lastRow, lastRow.object == entry.object, lastRow.values == row {
        values.row = nil
      } else {
        lastRow = (entry.object, row)
      }
    }
    bytes += values.byteCount
    entries.append((entry, values))
    if bytes > Self.bytesMax { try write() }
  }

  /// Leaves out the largest values of a row that one row of the journal cannot hold.
  private static func bound(_ row: inout [PropertyValue]) { JournalBounds().leaveOut(of: &row) }

  func identity(of key: ObjectKey) throws -> UUID { try transaction.identity(of: key) }

  /// A value, or a set, as text.
  func text(
    _ value: ZoneComparison.ZoneValue, of property: SyncSchema.Property
  ) throws -> String {
    switch value {
    case .value(let value): try text(value)
    case .elements(let elements): try text(elements, in: property)
    }
  }

  /// Writes what was collected under the number of the import's transaction.
  mutating func write() throws {
    for index in entries.indices { entries[index].entry.transaction = transaction.number }
    try Journal.append(entries.map { ($0.entry, $0.values) }, on: transaction.connection)
    entries.removeAll()
    bytes = 0
  }

  private func text(_ value: PropertyValue) throws -> String {
    if SealedValue.cell(in: value) != nil { return Self.sealedText }
    if value.byteCount > JournalBounds.toldBytesMax { return JournalBounds.text }
    var json = JSONText()
    if value.isInZone {
      ReplicaExport.appendInZone(value, to: &json)
      return String(decoding: json.bytes, as: UTF8.self)
    }
    try json.value(value) { key, json in json.uuid(try transaction.identity(of: key)) }
    return String(decoding: json.bytes, as: UTF8.self)
  }

  /// A set by identity; an ordered one in its order.
  private func text(
    _ elements: [ObjectKey], in property: SyncSchema.Property
  ) throws -> String {
    let identities = try elements.map {
      "\"" + (try transaction.identity(of: $0).uuidString.lowercased()) + "\""
    }
    let isOrdered = property.relationship?.isOrdered ?? false
    return "[" + (isOrdered ? identities : identities.sorted()).joined(separator: ",") + "]"
  }
}
