/// The memory of the values of one entity's objects in one context: freed rooms are used again.
///
/// Objects come and go by the hundred thousand, all of one size; the allocator would join and split its free memory
/// around each.
final class ValuePool {
  typealias Room = UnsafeMutablePointer<PropertyValue>

  private static let slabRooms = 64

  /// Where objects go that are let go of elsewhere than here.
  let departures: Departures
  /// Values a room.
  private let size: Int
  private var slabs: [UnsafeMutableRawPointer] = []
  /// Rooms that were given back; each holds the address of the next.
  private var free: UnsafeMutableRawPointer?
  /// The rest of the newest slab.
  private var next: UnsafeMutableRawPointer
  private var rest: Int
  /// Rooms that somebody has.
  private var taken = 0

  init(size: Int, _ departures: Departures) {
    self.departures = departures
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
  func take() -> Room {
    taken += 1
    if let room = free {
      free = room.load(as: UnsafeMutableRawPointer?.self)
      return room.bindMemory(to: PropertyValue.self, capacity: size)
    }
    if rest == 0 {
      next = .allocate(
        byteCount: bytes * Self.slabRooms, alignment: MemoryLayout<PropertyValue>.alignment)
      slabs.append(next)
      rest = Self.slabRooms
    }
    let room = next
    next += bytes
    rest -= 1
    return room.bindMemory(to: PropertyValue.self, capacity: size)
  }

  /// Takes back a room whose values are gone.
  func give(_ room: Room) {
    taken -= 1
    assert(taken >= 0, "a room is given back once")
    let room = UnsafeMutableRawPointer(room)
    room.storeBytes(of: free, as: UnsafeMutableRawPointer?.self)
    free = room
  }

  /// Whether nobody has a room.
  var isUnused: Bool { taken == 0 }

  private var bytes: Int { size * MemoryLayout<PropertyValue>.stride }
}
