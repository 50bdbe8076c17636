public import Driftless
import DriftlessSQLite
import Foundation

/// What of the parked parts of the log a person has accepted: it stays kept and is taken in once the model or the program has
/// caught up, and waits for nobody meanwhile.
///
/// A name is accepted for good: a model that is narrower on purpose meets it in every entry that others send.
struct AcceptedParking: Codable, Equatable {
  static let setting = "sync.acceptedParking"

  /// What the model here does not know: `Entity`, or `Entity.property`.
  private(set) var names: Set<String> = []
  /// Places all of which is accepted, as programs of before had it.
  private(set) var sequences: Set<UInt64> = []
  /// Entries that are parked for another reason than names, by their places.
  private(set) var entries: Set<UInt64> = []
  /// The same of logs that are gone, by their rows.
  private(set) var former: Set<Int64> = []
  /// Values of single objects.
  private(set) var values: Set<Value> = []

  /// A property of an object.
  struct Value: Codable, Hashable {
    var object: UUID
    var property: String
    /// The entry that says it: a later one is another value. Nil of one that is required and empty.
    var sequence: UInt64?

    init(object: UUID, property: String, sequence: UInt64? = nil) {
      self.object = object
      self.property = property
      self.sequence = sequence
    }

    /// Nil for what is accepted by its entry alone.
    init?(_ entry: ParkedEntry) {
      guard let object = entry.object, let property = entry.property else { return nil }
      self.init(
        object: object, property: property,
        sequence: entry.code == LackedValues.code ? nil : entry.sequence)
    }

    /// Whether no entry has it by its number, but other objects may share that.
    static func standsAlone(_ entry: ParkedEntry) -> Bool {
      [KeptKeys.code, LackedValues.code].contains(entry.code)
    }
  }

  private enum CodingKeys: CodingKey { case names, sequences, entries, former, values }

  init() {}

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    names = try container.decode(Set<String>.self, forKey: .names)
    sequences = try container.decode(Set<UInt64>.self, forKey: .sequences)
    // A version of before accepted none of these by themselves.
    entries = try container.decodeIfPresent(Set<UInt64>.self, forKey: .entries) ?? []
    former = try container.decodeIfPresent(Set<Int64>.self, forKey: .former) ?? []
    values = try container.decodeIfPresent(Set<Value>.self, forKey: .values) ?? []
  }

  var isEmpty: Bool {
    names.isEmpty && sequences.isEmpty && entries.isEmpty && former.isEmpty && values.isEmpty
  }

  static func load(_ transaction: ReadTransaction) throws -> AcceptedParking {
    guard case .text(let text)? = try transaction.setting(setting) else { return Self() }
    return decode(text) ?? Self()
  }

  /// Nil where a setting is damaged.
  static func decode(_ text: String) -> AcceptedParking? {
    try? JSONDecoder().decode(Self.self, from: Data(text.utf8))
  }

  /// - Parameter parked: all that is parked: sequences that are not any more are let go of.
  func save(_ parked: [ParkedEntry], _ transaction: WriteTransaction) throws {
    var kept = self
    kept.sequences.formIntersection(
      parked.lazy.filter { !Value.standsAlone($0) }.map(\.sequence))
    kept.entries.formIntersection(parked.lazy.filter(\.isEntry).map(\.sequence))
    kept.former.formIntersection(parked.compactMap(\.former))
    kept.values.formIntersection(parked.compactMap { Value($0) })
    try kept.save(transaction)
  }

  private func save(_ transaction: WriteTransaction) throws {
    guard !isEmpty else { return try transaction.setSetting(Self.setting, nil) }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let text = String(decoding: try encoder.encode(self), as: UTF8.self)
    try transaction.setSetting(Self.setting, .text(text))
  }

  /// The log is another one above a place: what was accepted there means nothing any more.
  static func forgetPlaces(above place: UInt64 = 0, _ transaction: WriteTransaction) throws {
    let accepted = try load(transaction)
    var kept = accepted
    kept.sequences = accepted.sequences.filter { $0 <= place }
    kept.entries = accepted.entries.filter { $0 <= place }
    kept.values = accepted.values.filter { $0.sequence ?? 0 <= place }
    guard kept != accepted else { return }
    try kept.save(transaction)
  }

  /// Values wait no more: what becomes of them later is another matter.
  static func forget(_ dropped: [Value], _ transaction: WriteTransaction) throws {
    guard !dropped.isEmpty else { return }
    var accepted = try load(transaction)
    guard !accepted.values.isDisjoint(with: dropped) else { return }
    accepted.values.subtract(dropped)
    try accepted.save(transaction)
  }

  func covers(_ entry: ParkedEntry) -> Bool {
    if let value = Value(entry) {
      if values.contains(value) { return true }
      if Value.standsAlone(entry) { return false }
    }
    if let id = entry.former, former.contains(id) { return true }
    return sequences.contains(entry.sequence)
      || entry.isEntry && entries.contains(entry.sequence)
      || !entry.names.isEmpty && names.isSuperset(of: entry.names)
  }

  mutating func accept(_ entry: ParkedEntry) {
    if let value = Value(entry) {
      values.insert(value)
    } else if !entry.names.isEmpty {
      names.formUnion(entry.names)
    } else if let id = entry.former {
      former.insert(id)
    } else {
      entries.insert(entry.sequence)
    }
  }

  /// - Parameter parked: all that is parked: what shares a place with the entry stays as it is.
  mutating func takeBack(_ entry: ParkedEntry, beside parked: [ParkedEntry]) {
    if let value = Value(entry) {
      values.remove(value)
      if Value.standsAlone(entry) { return }
    }
    if sequences.remove(entry.sequence) != nil {
      for other in parked
      where other.sequence == entry.sequence && other.lastingPart != entry.lastingPart
        && !Value.standsAlone(other)
      { accept(other) }
    }
    if let id = entry.former { former.remove(id) }
    if entry.isEntry { entries.remove(entry.sequence) }
    names.subtract(entry.names)
  }
}

extension SyncEngine {
  /// Has what is set aside wait for no person any more: it stays kept, and is taken in once the model or the program has
  /// caught up. What the model does not know is accepted in all entries to come as well. ``retryParked(of:sequence:part:)`` takes
  /// that back.
  ///
  /// ```swift
  /// try SyncEngine.acceptParked(of: store)
  /// ```
  /// - Parameters:
  ///   - store: the replica.
  ///   - sequence: one entry; nil for all.
  ///   - part: one of several with that number (`ParkedEntry.part`); nil for all of them.
  /// - Returns: how many entries and values that are.
  /// - Throws: `SyncError` (`unknownElement`) when the entry is not parked, `StoreError`.
  @discardableResult
  public static func acceptParked(
    of store: PersistentStore, sequence: UInt64? = nil, part: Int? = nil
  ) throws -> Int {
    let info = TransactionInfo(author: importAuthor, kind: .imported)
    return try store.write(info) { transaction in
      let parked = try parked(transaction, SyncSchema(store.schema))
      let meant = try named(sequence, part, among: parked, of: store)
      var accepted = try AcceptedParking.load(transaction)
      for entry in meant { accepted.accept(entry) }
      try accepted.save(parked, transaction)
      return meant.count
    }.0
  }
}

extension SyncError {
  static func notParked(
    _ sequence: UInt64, _ part: Int?, _ store: PersistentStore
  ) -> SyncError {
    SyncError(
      .unknownElement,
      "Entry \(sequence)\(part.map { ".\($0)" } ?? "") of the log is not set aside here.",
      suggestion: "Run: syncctl parked --store \(store.label.shellWord)")
  }
}
