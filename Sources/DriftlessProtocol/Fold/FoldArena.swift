/// Pieces of a log in memory, and in the order of their keys when they are read.
struct FoldArena {
  private struct Slot {
    let key: FoldKey
    let start: Int
  }

  private var bytes = FoldBytes()
  private var slots: [Slot] = []

  var isEmpty: Bool { slots.isEmpty }

  /// What it takes of memory. Bytes.
  var size: Int { bytes.bytes.count + slots.count * MemoryLayout<Slot>.stride }

  mutating func append(_ key: FoldKey, _ atom: FoldAtom) {
    slots.append(Slot(key: key, start: bytes.bytes.count))
    var last: FoldTransaction?
    atom.write(to: &bytes, last: &last)
  }

  mutating func removeAll() {
    bytes.bytes.removeAll(keepingCapacity: true)
    slots.removeAll(keepingCapacity: true)
  }

  /// Pieces of one key stay in the order in which they came.
  mutating func sort() {
    slots.sort { ($0.key, $0.start) < ($1.key, $1.start) }
  }

  /// The key of the piece at a place; nil at the end.
  func key(at place: Int) -> FoldKey? { slots.indices.contains(place) ? slots[place].key : nil }

  /// Applies the pieces of one key, of which the first is at `place`, which moves behind the last.
  func take(at place: inout Int, into edit: inout FoldEdit) throws(ProtocolError) {
    guard let key = key(at: place) else { return }
    while place < slots.count, slots[place].key == key {
      var scan = FoldScanner(bytes.bytes, slots[place].start..<bytes.bytes.count)
      var last: FoldTransaction?
      edit.apply(try FoldAtom(&scan, last: &last))
      place += 1
    }
  }
}
