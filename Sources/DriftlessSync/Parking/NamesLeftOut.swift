import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// What a snapshot has that the model here does not have, where there is no log that could be kept for a later model: the names
/// alone. The zone has the values, and a model that has the names takes them from there (`ZoneAnew`).
struct NamesLeftOut: Codable {
  static let setting = "sync.namesLeftOut"

  let generation: UUID
  /// Where the snapshot stood.
  let sequence: UInt64
  /// Seconds since 1970.
  let since: Double
  private let texts: [String]
  /// The format level of the program that took them from the zone last; -1: a person asks for another try. Nil of a program of
  /// before, which had the level then.
  private let triedLevel: Int64?

  /// Names of columns that the program did not know, and may know by now: their properties are taken from the zone anew.
  var untried: Set<String> {
    (triedLevel ?? Self.levelBefore) < Parking.level
      ? Set(names.filter { $0.kind == .unknown }.map(\.name)) : []
  }

  /// Of programs that wrote none.
  private static let levelBefore: Int64 = 3

  var names: Set<ParkedName> { Set(texts.map { ParkedName(text: $0) }) }

  init(
    _ names: Set<ParkedName>, generation: UUID, sequence: UInt64, at time: Date,
    triedLevel: Int64 = Parking.level
  ) {
    self.triedLevel = triedLevel
    self.generation = generation
    self.sequence = sequence
    since = time.timeIntervalSince1970
    texts = names.map(\.text).sorted()
  }

  /// Nil where a setting is damaged.
  static func decode(_ text: String) -> NamesLeftOut? {
    try? JSONDecoder().decode(Self.self, from: Data(text.utf8))
  }

  /// Nil where the snapshot that the store took last left nothing out.
  static func load(_ transaction: ReadTransaction) throws -> NamesLeftOut? {
    guard case .text(let text)? = try transaction.setting(setting), let left = decode(text),
      try ReplicaState.load(from: transaction.connection)?.generation == left.generation
    else { return nil }
    return left
  }

  /// Notes what a snapshot has that the model does not have. Entries of before it that are set aside for such names say nothing
  /// that it does not say.
  static func keep(
    _ unknown: Set<ParkedName>, of snapshot: Snapshot, at time: Date,
    _ transaction: WriteTransaction
  ) throws {
    let connection = transaction.connection
    let parked = try Parking.entries(on: connection)
    var names = parked.reduce(unknown) { $0.union($1.unknown) }
    if let left = try load(transaction) { names.formUnion(left.names) }
    for entry in parked { try Parking.forget(entry.sequence, on: connection) }
    try Parking.forgetStruck(on: connection)
    guard !names.isEmpty else { return }
    try Self(
      names, generation: snapshot.generation, sequence: snapshot.place.sequence, at: time
    ).save(transaction)
    // A place goes with the reference beside it.
    let plain = names.filter { PlaceName.property(ofPlace: $0.name) == nil }
    try ModelMeaning.Notes.add(
      gone: Set(plain.filter { $0.kind == nil }.map(\.name)),
      unmade: Set(plain.filter { $0.kind != nil }.map(\.name)), transaction)
  }

  /// The model has some of them by now, and they were taken from the zone.
  ///
  /// - Parameter stillUnknown: the columns that this program does not know either; nil where nothing was looked at.
  static func settle(
    _ schema: SyncSchema, stillUnknown: Set<ParkedName>?, _ transaction: WriteTransaction
  ) throws {
    guard let left = try load(transaction) else {
      return try transaction.setSetting(setting, nil)
    }
    let isTried = stillUnknown != nil || left.untried.isEmpty
    let names = left.names.filter { name in
      guard name.kind == .unknown, schema.property(parkedAs: name.name)?.property != nil else {
        return !schema.knows(name)
      }
      return stillUnknown?.contains(name) ?? true
    }
    let level = isTried ? Parking.level : left.triedLevel ?? levelBefore
    guard names != left.names || level != left.triedLevel ?? levelBefore else { return }
    guard !names.isEmpty else { return try transaction.setSetting(setting, nil) }
    try Self(
      names, generation: left.generation, sequence: left.sequence,
      at: Date(timeIntervalSince1970: left.since), triedLevel: level
    ).save(transaction)
  }

  /// Lets the next pull look again whether columns can be read that could not.
  ///
  /// - Parameter sequence: where the snapshot stood; nil for any.
  /// - Returns: whether there is something.
  static func ask(_ sequence: UInt64?, _ transaction: WriteTransaction) throws -> Bool {
    guard let left = try load(transaction), (sequence ?? left.sequence) == left.sequence else {
      return false
    }
    try Self(
      left.names, generation: left.generation, sequence: left.sequence,
      at: Date(timeIntervalSince1970: left.since), triedLevel: -1
    ).save(transaction)
    return true
  }

  private func save(_ transaction: WriteTransaction) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let text = String(decoding: try encoder.encode(self), as: UTF8.self)
    try transaction.setSetting(Self.setting, .text(text))
  }
}

extension SyncSchema {
  /// Whether the model has what is set aside under a name: an entity, or a property of the kind that the zone has.
  func knows(_ parked: ParkedName) -> Bool {
    let name = parked.name
    guard name.contains(".") else { return entity(namedNowOrBefore: name) != nil }
    guard let property = property(parkedAs: name)?.property else {
      return otherEnd(parkedAs: name) != nil && parked.kind?.saysRelationships ?? true
    }
    return parked.kind?.fits(property.kind) ?? true
  }
}
