// Values of rows and objects lie in memory that Swift does not look after: objects come and go by the hundred thousand, and an
// array for each would be an allocation, a count of references and a check of both at each look. All of that memory is in this
// file, behind handles that know how many values there are.
//
// A row knows its count in every build, for files and callers say what is looked for in it. The room of an object is one
// address, for that is what makes an object small; its count is that of the object's shape, and a debug build keeps it
// beside the address and looks at each use.

/// The values of one row by slot, to be read where they lie.
///
/// Whoever hands it out keeps them there for as long as it is used.
package struct ValueRow {
  private let start: UnsafePointer<PropertyValue>
  package let count: Int

  /// - Parameter start: the first of at least `count` values, which stay there while this is used.
  @inline(__always)
  fileprivate init(at start: UnsafePointer<PropertyValue>, count: Int) {
    assert(count >= 0, "a row has values, or none")
    self.start = start
    self.count = count
  }

  @inline(__always)
  package subscript(slot: Int) -> PropertyValue {
    _read {
      precondition(UInt(bitPattern: slot) < UInt(bitPattern: count), "a slot of another row")
      yield start[slot]
    }
  }

  /// A value whose slot was compared with the count before: for loops over many rows.
  @inline(__always)
  func checkedBefore(_ slot: Int) -> PropertyValue {
    assert(UInt(bitPattern: slot) < UInt(bitPattern: count), "a slot of another row")
    return start[slot]
  }

  /// A copy of them.
  var array: [PropertyValue] { Array(UnsafeBufferPointer(start: start, count: count)) }
}

/// A list that is lent: it is read where it lies, and reading it counts no references.
///
/// Whoever lends it keeps it there for as long as it is used.
struct LentList<Element> {
  private let elements: UnsafeBufferPointer<Element>

  @inline(__always)
  fileprivate init(_ elements: UnsafeBufferPointer<Element>) { self.elements = elements }

  @inline(__always) var count: Int { elements.count }

  @inline(__always)
  subscript(place: Int) -> Element {
    _read {
      assert(elements.indices.contains(place), "a place of another list")
      yield elements[place]
    }
  }
}

extension Array {
  /// Lends the elements.
  @inline(__always)
  func lend<Result>(_ body: (LentList<Element>) throws -> Result) rethrows -> Result {
    try withUnsafeBufferPointer { try body(LentList($0)) }
  }
}

/// Values of rows that all have as many slots: filled a column at a time, and read a row at a time.
package final class ValueTable {
  package let rowCount: Int
  package let slotCount: Int
  private let values: UnsafeMutablePointer<PropertyValue>

  /// A table of nulls.
  package init(rows: Int, slots: Int) {
    precondition(rows >= 0 && slots >= 0, "a table has rows and slots, or none")
    rowCount = rows
    slotCount = slots
    values = .allocate(capacity: rows * slots)
    values.initialize(repeating: .null, count: rows * slots)
  }

  deinit {
    values.deinitialize(count: rowCount * slotCount)
    values.deallocate()
  }

  /// A row, to be read as long as the table is there.
  package func row(_ row: Int) -> ValueRow {
    precondition(row >= 0 && row < rowCount, "a row of another table")
    return ValueRow(at: values + row * slotCount, count: slotCount)
  }

  /// The values of a slot, a row each, for as long as `body` runs.
  package func withColumn<Result>(
    _ slot: Int, _ body: (ValueColumn) throws -> Result
  ) rethrows -> Result {
    precondition(slot >= 0 && slot < slotCount, "a slot of another table")
    defer { withExtendedLifetime(self) {} }
    return try body(ValueColumn(values + slot, stride: slotCount, count: rowCount))
  }

  /// Has nulls in the first rows again.
  package func clear(rows: Int) {
    precondition(rows >= 0 && rows <= rowCount, "rows of another table")
    for place in 0..<rows * slotCount { values[place] = .null }
  }
}

/// The values of one slot in the rows of a table, from the first row on.
package struct ValueColumn {
  private let first: UnsafeMutablePointer<PropertyValue>
  private let stride: Int
  #if DEBUG
    private let count: Int
  #endif

  @inline(__always)
  fileprivate init(_ first: UnsafeMutablePointer<PropertyValue>, stride: Int, count: Int) {
    self.first = first
    self.stride = stride
    #if DEBUG
      self.count = count
    #endif
  }

  @inline(__always)
  package subscript(row: Int) -> PropertyValue {
    get {
      check(row)
      return first[row * stride]
    }
    nonmutating set {
      check(row)
      first[row * stride] = newValue
    }
  }

  @inline(__always)
  private func check(_ row: Int) {
    #if DEBUG
      precondition((0..<count).contains(row), "a row of another table")
    #endif
  }

  /// A variable as a column of one row.
  package static func ofOne(
    _ value: inout PropertyValue, _ body: (ValueColumn) throws -> Void
  ) rethrows {
    try withUnsafeMutablePointer(to: &value) { try body(ValueColumn($0, stride: 1, count: 1)) }
  }
}

extension [PropertyValue] {
  /// Lends the values as a row.
  @inline(__always)
  package func withRow<Result>(_ body: (ValueRow) throws -> Result) rethrows -> Result {
    try withUnsafeBufferPointer { values in
      guard let start = values.baseAddress else {
        // A row of none has no place, and nobody looks at it.
        return try withUnsafePointer(to: PropertyValue.null) {
          try body(ValueRow(at: $0, count: 0))
        }
      }
      return try body(ValueRow(at: start, count: values.count))
    }
  }

  /// Lends the values to be written over.
  @inline(__always)
  mutating func withRoom(_ body: (ValueRoom) throws -> Void) rethrows {
    try withUnsafeMutableBufferPointer { values in
      if let start = values.baseAddress { try body(ValueRoom(start, count: values.count)) }
    }
  }
}

/// Where the values of one object lie, or are to lie, one a slot.
///
/// Who has it says how many there are, and it is the same number each time.
struct ValueRoom {
  fileprivate let start: UnsafeMutablePointer<PropertyValue>
  #if DEBUG
    private let count: Int
  #endif

  @inline(__always)
  fileprivate init(_ start: UnsafeMutablePointer<PropertyValue>, count: Int) {
    self.start = start
    #if DEBUG
      self.count = count
    #endif
  }

  /// A room of its own, without values in it; `deallocate()` must follow.
  static func allocate(_ count: Int) -> ValueRoom {
    ValueRoom(.allocate(capacity: count), count: count)
  }

  /// Its values are gone.
  func deallocate() { start.deallocate() }

  @inline(__always)
  private func check(_ slot: Int) {
    #if DEBUG
      precondition((0..<count).contains(slot), "a slot of another object")
    #endif
  }

  @inline(__always)
  private func check(count other: Int) {
    #if DEBUG
      precondition((0...count).contains(other), "more values than there is room for")
    #endif
  }

  @inline(__always)
  subscript(slot: Int) -> PropertyValue {
    _read {
      check(slot)
      yield start[slot]
    }
    nonmutating _modify {
      check(slot)
      yield &start[slot]
    }
  }

  /// The values as a row.
  @inline(__always)
  func row(_ count: Int) -> ValueRow {
    check(count: count)
    return ValueRow(at: start, count: count)
  }

  /// Writes over a null, or where no value is yet: neither has anything to release.
  @inline(__always)
  func overwriteNull(_ slot: Int, with value: PropertyValue) {
    check(slot)
    (start + slot).initialize(to: value)
  }

  // MARK: Where no values are yet, or are no more

  @inline(__always)
  func fillWithNull(_ count: Int) {
    check(count: count)
    start.initialize(repeating: .null, count: count)
  }

  @inline(__always)
  func fill(from values: [PropertyValue]) {
    check(count: values.count)
    values.withUnsafeBufferPointer { values in
      guard let first = values.baseAddress else { return }
      start.initialize(from: first, count: values.count)
    }
  }

  @inline(__always)
  func fill(from other: ValueRoom, _ count: Int) {
    check(count: count)
    other.check(count: count)
    start.initialize(from: other.start, count: count)
  }

  /// The other room is without values then.
  @inline(__always)
  func take(from other: ValueRoom, _ count: Int) {
    check(count: count)
    other.check(count: count)
    start.moveInitialize(from: other.start, count: count)
  }

  /// The room is without values then.
  @inline(__always)
  func empty(_ count: Int) {
    check(count: count)
    start.deinitialize(count: count)
  }
}

/// Memory of rooms of one size: freed ones are used again.
///
/// The allocator would join and split its free memory around each object.
struct ValueSlabs: ~Copyable {
  private static let slabRooms = 64

  /// Values a room.
  private let size: Int
  private var slabs: [UnsafeMutableRawPointer] = []
  /// Rooms that were given back; each holds the address of the next.
  private var free: UnsafeMutableRawPointer?
  /// The rest of the newest slab.
  private var next: UnsafeMutableRawPointer
  private var rest: Int
  /// Rooms that somebody has.
  private(set) var taken = 0

  /// - Parameter size: values a room.
  init(size: Int) {
    // A free room has place for an address.
    self.size = max(1, size)
    rest = Self.slabRooms
    next = .allocate(
      byteCount: self.size * MemoryLayout<PropertyValue>.stride * Self.slabRooms,
      alignment: MemoryLayout<PropertyValue>.alignment)
    slabs.append(next)
  }

  deinit {
    assert(taken == 0, "an object outlives the memory of its values")
    for slab in slabs { slab.deallocate() }
  }

  /// A room without values in it.
  @inline(__always)
  mutating func take() -> ValueRoom {
    taken += 1
    if let room = free {
      free = room.load(as: UnsafeMutableRawPointer?.self)
      return bind(room)
    }
    if rest == 0 { addSlab() }
    let room = next
    next += bytes
    rest -= 1
    return bind(room)
  }

  /// Takes back a room whose values are gone.
  @inline(__always)
  mutating func give(_ room: ValueRoom) {
    taken -= 1
    assert(taken >= 0, "a room is given back once")
    let room = UnsafeMutableRawPointer(room.start)
    assert(slabs.contains { $0 <= room && room < $0 + bytes * Self.slabRooms }, "a room of others")
    room.storeBytes(of: free, as: UnsafeMutableRawPointer?.self)
    free = room
  }

  private mutating func addSlab() {
    next = .allocate(
      byteCount: bytes * Self.slabRooms, alignment: MemoryLayout<PropertyValue>.alignment)
    slabs.append(next)
    rest = Self.slabRooms
  }

  private func bind(_ room: UnsafeMutableRawPointer) -> ValueRoom {
    ValueRoom(room.bindMemory(to: PropertyValue.self, capacity: size), count: size)
  }

  private var bytes: Int { size * MemoryLayout<PropertyValue>.stride }
}
