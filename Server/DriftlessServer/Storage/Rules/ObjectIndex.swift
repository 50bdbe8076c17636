import DriftlessProtocol
import Foundation

/// The last sequence number that set each property of each object: the stale check, and what
/// follows from a push that passed it. One indexed read and one write an object.
///
/// An object that was never touched after its insert has no row: its insert set all of it, and
/// whether that was after a cursor follows from its number, since numbers rise with the log.
struct ObjectIndex<Tables: ZoneTables> {
  let tables: Tables
  let zone: Int64
  let nextObject: UInt64
  let cursor: UInt64
  let head: UInt64
  let sequence: UInt64
  /// The row of the pushing replica.
  let replica: Int64
  let own: OwnFrames
  let limits: ServerLimits

  /// The first object number given out after the cursor.
  private var firstUnseen: UInt64 = 0

  init(
    tables: Tables, zone: Int64, nextObject: UInt64, cursor: UInt64, head: UInt64,
    sequence: UInt64, replica: Int64, own: OwnFrames, limits: ServerLimits
  ) {
    self.limits = limits
    self.tables = tables
    self.zone = zone
    self.nextObject = nextObject
    self.cursor = cursor
    self.head = head
    self.sequence = sequence
    self.replica = replica
    self.own = own
  }

  mutating func prepare() throws {
    firstUnseen = nextObject
    guard cursor < head else { return }
    firstUnseen = try tables.firstObject(of: cursor + 1, zone: zone) ?? nextObject
  }

  /// What is done to objects: checked and written, one read and one write an object, however many touches name it.
  func apply(_ touches: [Push.Touch], stale: inout StaleObjects) throws {
    var held = HeldObjects(touches)
    for touch in touches {
      let ids = try ids(of: touch.properties)
      for number in touch.objects {
        try checkNumber(number)
        var state = try held.take(number) ?? tables.object(number, zone: zone)
        state.name(sequence, by: replica)
        if isStale(state, number, touch.kind, ids) { try add(number, to: &stale) }
        state.apply(touch.kind, ids, sequence)
        guard state.properties.count <= limits.propertiesPerObjectMax else {
          throw ServerError.tooManyProperties(limits.propertiesPerObjectMax)
        }
        if !held.keep(state, of: number) { try tables.set(number, to: state, zone: zone) }
      }
    }
    for (number, state) in held.states { try tables.set(number, to: state, zone: zone) }
  }

  /// The small numbers of properties, ascending.
  private func ids(of names: [String]) throws -> [UInt64] {
    let ids = try names.map {
      try tables.property($0, zone: zone, most: limits.propertiesPerZoneMax)
    }.sorted()
    return ids.indices.filter { $0 == 0 || ids[$0] != ids[$0 - 1] }.map { ids[$0] }
  }

  /// Objects that the push names and does nothing to.
  func name(_ objects: [UInt64], stale: inout StaleObjects) throws {
    for number in objects {
      try checkNumber(number)
      let deleted = try tables.name(number, zone: zone, sequence: sequence, by: replica)
      if isNews(deleted) { try add(number, to: &stale) }
    }
  }

  /// What the push builds on; looked at before anything of the push is written.
  func check(_ reliance: Push.Reliance, stale: inout StaleObjects) throws {
    let ids = try ids(of: reliance.properties)
    for number in reliance.objects {
      try checkNumber(number)
      let state = try tables.object(number, zone: zone)
      if isStale(state, number, .update, ids) { try add(number, to: &stale) }
    }
  }

  private func checkNumber(_ number: UInt64) throws {
    guard number > 0, number < nextObject else {
      throw ServerError(
        .malformed, "object number \(number) was never given out in this zone",
        suggestion: "Pull first; if it happens again, enrol the store again.")
    }
  }

  private func isStale(
    _ state: ObjectState, _ number: UInt64, _ kind: Push.Touch.Kind, _ ids: [UInt64]
  ) -> Bool {
    if isNews(state.deleted) { return true }
    switch kind {
    case .update:
      return ids.contains {
        state.properties.sequence(of: $0).map(isNews) ?? isBaseNews(state, number)
      }
    case .delete, .revive:
      return isBaseNews(state, number)
        || state.properties.pairs.contains { isNews($0.sequence) }
        // This push has named it by now.
        || state.namedBefore > cursor
    }
  }

  /// Whether an object was made after what the pushing replica knows.
  func isInsertNews(_ number: UInt64) -> Bool { number >= firstUnseen && !own.inserted(number) }

  /// Whether anything of an object is news to the pushing replica.
  func hasNews(of number: UInt64) throws -> Bool {
    if isInsertNews(number) { return true }
    let state = try tables.object(number, zone: zone)
    return [state.base, state.deleted, state.named, state.namedBefore].contains(where: isNews)
      || state.properties.pairs.contains { isNews($0.sequence) }
  }

  /// More objects than an answer lists need not be looked for.
  private func add(_ number: UInt64, to stale: inout StaleObjects) throws {
    stale.add(number, "object \(number) changed after sequence number \(cursor)")
    if stale.isFull { try stale.throwIfAny() }
  }

  /// Whether a sequence number lies after what the pushing replica knows.
  private func isNews(_ sequence: UInt64) -> Bool {
    sequence > cursor && sequence != self.sequence && !own.contains(sequence: sequence)
  }

  private func isBaseNews(_ state: ObjectState, _ number: UInt64) -> Bool {
    state.base > 0 ? isNews(state.base) : isInsertNews(number)
  }
}

/// One row of the index: what the rules know of an object that was touched or named after its insert. A new one stands for one that
/// was not.
public struct ObjectState: Sendable, Equatable {
  /// The sequence number that set the whole row; 0: its insert.
  public var base: UInt64 = 0
  /// The sequence number that deleted it; 0: alive.
  public var deleted: UInt64 = 0
  /// The properties that were set later than the rest.
  public var properties = PropertySequences()
  /// The last entry whose table names it; 0: none.
  public var named: UInt64 = 0
  /// The number of the replica that made that (``KnownReplica/id``); 0: none.
  public var namedBy: Int64 = 0
  /// The last one by another replica.
  public var namedBefore: UInt64 = 0

  /// A row; without arguments one that was not touched.
  public init(
    base: UInt64 = 0, deleted: UInt64 = 0, properties: PropertySequences = PropertySequences(),
    named: UInt64 = 0, namedBy: Int64 = 0, namedBefore: UInt64 = 0
  ) {
    self.base = base
    self.deleted = deleted
    self.properties = properties
    self.named = named
    self.namedBy = namedBy
    self.namedBefore = namedBefore
  }

  /// An entry names the object.
  ///
  /// - Parameter replica: the number of the one that made the entry.
  public mutating func name(_ sequence: UInt64, by replica: Int64) {
    if namedBy != replica { namedBefore = named }
    named = sequence
    namedBy = replica
  }

  mutating func apply(_ kind: Push.Touch.Kind, _ ids: [UInt64], _ sequence: UInt64) {
    switch kind {
    case .update: properties.set(ids, to: sequence)
    case .delete, .revive:
      base = sequence
      deleted = kind == .delete ? sequence : 0
      properties.removeAll()
    }
  }
}

/// Rows of those objects that several touches of a push name: between them they are not written.
private struct HeldObjects {
  /// More are written between touches, so that a push takes no memory that grows with it.
  private static let countMax = 100_000

  private let numbers: Set<UInt64>
  private var held: [UInt64: ObjectState] = [:]

  init(_ touches: [Push.Touch]) {
    var (seen, several) = (Set<UInt64>(), Set<UInt64>())
    if touches.count > 1 {
      for touch in touches {
        for number in touch.objects where !seen.insert(number).inserted {
          if several.count < Self.countMax { several.insert(number) }
        }
      }
    }
    numbers = several
  }

  /// What is held of an object; nil where it is to be read.
  mutating func take(_ number: UInt64) -> ObjectState? { held.removeValue(forKey: number) }

  /// - Returns: whether the object is held; else it is to be written.
  mutating func keep(_ state: ObjectState, of number: UInt64) -> Bool {
    guard numbers.contains(number) else { return false }
    held[number] = state
    return true
  }

  /// What was held, ascending.
  var states: [(number: UInt64, state: ObjectState)] {
    held.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}

extension ServerError {
  static func tooManyProperties(_ most: Int) -> ServerError {
    ServerError(
      .tooLarge, "an object has more than \(most) properties that were set after its insert",
      suggestion: "Set fewer, or ask the operator to raise propertiesPerObjectMax.")
  }

  /// What a storage says of one more name of a property than a zone may have.
  public static func tooManyNames(_ most: Int) -> ServerError {
    ServerError(
      .zoneFull, "the zone would have more than \(most) names of properties",
      suggestion: "Use names that the zone has, or ask the operator to raise propertiesPerZoneMax.")
  }
}
