import Driftless

/// The places of new objects in a change set's object table, by runs of keys; of a push in several parts in the tables of all
/// of them, one behind the other.
struct NewPlaces {
  private struct Run {
    var root: Int32
    var keys: ClosedRange<Int64>
    var place: Int

    func contains(_ root: Int32, _ key: Int64) -> Bool { self.root == root && keys.contains(key) }
  }

  /// As the table of the last part has them.
  private(set) var keyRuns: [KeyRun] = []
  private(set) var count = 0
  /// The place of the first object of the last part.
  private(set) var start = 0
  /// By root entity and key.
  private var runs: [Run] = []
  /// The run that was found last: keys that are asked for mostly lie near each other.
  private var last = 0

  init() {}

  init(_ keys: some Sequence<ObjectKey>, root: (ObjectKey) -> Int32) {
    append(keys, root: root)
  }

  /// - Parameter root: the number of the root entity of an object's entity.
  mutating func append(_ keys: some Sequence<ObjectKey>, root: (ObjectKey) -> Int32) {
    (start, keyRuns, last) = (count, [], 0)
    let before = runs.count
    for key in keys {
      if let run = keyRuns.last, run.entity == key.entity, run.first < key.key,
        run.first &+ run.count == key.key
      {
        keyRuns[keyRuns.count - 1].count += 1
        runs[runs.count - 1].keys = run.first...key.key
      } else {
        keyRuns.append(KeyRun(entity: key.entity, first: key.key, count: 1))
        runs.append(Run(root: root(key), keys: key.key...key.key, place: count))
      }
      count += 1
    }
    guard runs.count > before else { return }
    runs.sort { ($0.root, $0.keys.lowerBound) < ($1.root, $1.keys.lowerBound) }
  }

  mutating func place(root: Int32, key: Int64) -> Int32? {
    guard !runs.isEmpty else { return nil }
    if !runs[last].contains(root, key) {
      var low = 0
      var high = runs.count
      while low < high {
        let middle = (low + high) / 2
        let run = runs[middle]
        if (run.root, run.keys.upperBound) < (root, key) {
          low = middle + 1
        } else {
          high = middle
        }
      }
      guard low < runs.count, runs[low].contains(root, key) else { return nil }
      last = low
    }
    let run = runs[last]
    return Int32(truncatingIfNeeded: run.place)
      &+ Int32(truncatingIfNeeded: key &- run.keys.lowerBound)
  }
}
