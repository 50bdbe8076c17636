import DriftlessSQLite
import Foundation

/// The last sequence number that set each property of each object: the stale check, and what
/// follows from a push that passed it. One indexed read and one write an object.
///
/// An object that was never touched after its insert has no row: its insert set all of it, and
/// whether that was after a cursor follows from its number, since numbers rise with the log.
struct ObjectIndex {
  let connection: SQLiteConnection
  let properties: PropertyNames
  let zone: Int64
  let nextObject: UInt64
  let cursor: UInt64
  let head: UInt64
  let sequence: UInt64
  let own: OwnFrames

  /// The first object number given out after the cursor.
  private var firstUnseen: UInt64 = 0

  init(
    connection: SQLiteConnection, properties: PropertyNames, zone: Int64, nextObject: UInt64,
    cursor: UInt64, head: UInt64, sequence: UInt64, own: OwnFrames
  ) {
    self.connection = connection
    self.properties = properties
    self.zone = zone
    self.nextObject = nextObject
    self.cursor = cursor
    self.head = head
    self.sequence = sequence
    self.own = own
  }

  mutating func prepare() throws {
    firstUnseen = nextObject
    guard cursor < head else { return }
    let statement = try connection.prepare("SELECT first_object FROM log WHERE position = ?")
    defer { statement.reset() }
    statement.bind(LogPosition.of(zone: zone, number: cursor + 1), at: 1)
    if try statement.step() { firstUnseen = UInt64(clamping: statement.int64(0)) }
  }

  func apply(_ touch: Push.Touch) throws {
    let ids = try touch.properties.map { try properties.id(of: $0, in: connection) }
    let read = try connection.prepare(
      "SELECT base, deleted, properties FROM object WHERE position = ?")
    let write = try connection.prepare("INSERT OR REPLACE INTO object VALUES(?, ?, ?, ?)")
    for number in touch.objects {
      guard number > 0, number < nextObject else {
        throw ServerError(
          .malformed, "object number \(number) was never given out in this zone",
          suggestion: "Pull first; if it happens again, enrol the store again.")
      }
      let position = LogPosition.of(zone: zone, number: number)
      var state = try state(of: position, read)
      try check(state, number, touch.kind, ids)
      state.apply(touch.kind, ids, sequence)
      write.bind(position, at: 1)
      write.bind(Int64(clamping: state.base), at: 2)
      write.bind(Int64(clamping: state.deleted), at: 3)
      write.bind(state.properties.encoded, at: 4)
      try write.run()
      write.reset()
    }
  }

  private func state(of position: Int64, _ read: SQLiteStatement) throws -> ObjectState {
    defer { read.reset() }
    read.bind(position, at: 1)
    guard try read.step() else { return ObjectState() }
    return ObjectState(
      base: UInt64(clamping: read.int64(0)), deleted: UInt64(clamping: read.int64(1)),
      properties: try PropertySequences(encoded: read.data(2)))
  }

  private func check(
    _ state: ObjectState, _ number: UInt64, _ kind: Push.Touch.Kind, _ ids: [UInt64]
  ) throws {
    var isStale = isNews(state.deleted)
    switch kind {
    case .update:
      for id in ids where !isStale {
        isStale = state.properties.sequence(of: id).map(isNews) ?? isBaseNews(state, number)
      }
    case .delete, .revive:
      isStale =
        isStale || isBaseNews(state, number)
        || state.properties.pairs.contains { isNews($0.sequence) }
    }
    guard !isStale else {
      throw ServerError(
        .stale, "object \(number) changed after sequence number \(cursor)",
        suggestion: "Pull, then push again.", head: head)
    }
  }

  /// Whether a sequence number lies after what the pushing replica knows.
  private func isNews(_ sequence: UInt64) -> Bool {
    sequence > cursor && sequence != self.sequence && !own.contains(sequence: sequence)
  }

  private func isBaseNews(_ state: ObjectState, _ number: UInt64) -> Bool {
    if state.base > 0 { return isNews(state.base) }
    return number >= firstUnseen && !own.inserted(number)
  }
}

/// One row of the index.
struct ObjectState {
  /// The sequence number that set the whole row; 0: its insert.
  var base: UInt64 = 0
  /// The sequence number that deleted it; 0: alive.
  var deleted: UInt64 = 0
  var properties = PropertySequences()

  mutating func apply(_ kind: Push.Touch.Kind, _ ids: [UInt64], _ sequence: UInt64) {
    switch kind {
    case .update:
      for id in ids { properties.set(id, to: sequence) }
    case .delete, .revive:
      base = sequence
      deleted = kind == .delete ? sequence : 0
      properties.removeAll()
    }
  }
}
