import Driftless
import DriftlessProtocol

/// Which key each number of a snapshot has in this store, and whether its object lives: in runs, since numbers and keys mostly
/// follow each other.
struct SnapshotObjects {
  private struct Run {
    let first: UInt64
    var count: UInt64
    let key: ObjectKey
    let isAlive: Bool
    let existed: Bool

    func key(of number: UInt64) -> ObjectKey {
      ObjectKey(entity: key.entity, key: key.key &+ Int64(number &- first))
    }
  }

  /// Ascending, as the numbers came.
  private var runs: [Run] = []
  /// Living objects whose identity an earlier number had, by their root entity's key.
  private var anew: [ObjectKey: ObjectKey] = [:]
  /// Numbers whose objects are of entities that the model here does not have, ascending.
  private var leftOut: [(first: UInt64, count: UInt64)] = []
  /// How many live.
  private(set) var livingCount = 0

  /// - Parameters:
  ///   - number: greater than all before.
  ///   - root: its key of the root entity.
  ///   - living: of the object's own entity; nil of one that is dead.
  ///   - existed: an earlier number had the object's identity.
  mutating func append(_ number: UInt64, _ root: ObjectKey, living: ObjectKey?, existed: Bool) {
    let isAlive = living != nil
    let key = existed ? root : living ?? root
    if let living {
      livingCount += 1
      if existed { anew[root] = living }
    }
    if let last = runs.last, number == last.first &+ last.count, last.isAlive == isAlive,
      last.existed == existed, last.key(of: number) == key
    {
      runs[runs.count - 1].count += 1
    } else {
      runs.append(Run(first: number, count: 1, key: key, isAlive: isAlive, existed: existed))
    }
  }

  func has(_ number: UInt64) -> Bool { entry(of: number) != nil }

  /// Objects that have no key here.
  ///
  /// - Parameter first: greater than all before.
  mutating func leaveOut(_ first: UInt64, _ count: Int) {
    if let last = leftOut.last, last.first &+ last.count == first {
      leftOut[leftOut.count - 1].count += UInt64(count)
    } else {
      leftOut.append((first, UInt64(count)))
    }
  }

  func leavesOut(_ number: UInt64) -> Bool {
    var low = 0
    var high = leftOut.count
    while low < high {
      let middle = (low + high) / 2
      if leftOut[middle].first <= number { low = middle + 1 } else { high = middle }
    }
    return low > 0 && number &- leftOut[low - 1].first < leftOut[low - 1].count
  }

  /// The object of a number, as the change sets of the snapshot name it.
  ///
  /// - Parameter isOwn: the change set makes it.
  /// - Returns: nil for a number that was not appended.
  func entry(of number: UInt64, isOwn: Bool = false) -> ObjectTable.Entry? {
    var low = 0
    var high = runs.count
    while low < high {
      let middle = (low + high) / 2
      if runs[middle].first <= number { low = middle + 1 } else { high = middle }
    }
    guard low > 0, number &- runs[low - 1].first < runs[low - 1].count else { return nil }
    let run = runs[low - 1]
    let key = run.key(of: number)
    if isOwn {
      return .init(key: key, life: run.existed ? .unknown : .alive, existed: run.existed)
    }
    if run.isAlive, !run.existed { return .init(key: key, life: .alive, existed: true) }
    if let living = anew[key] { return .init(key: living, life: .alive, existed: true) }
    return .init(key: key, life: .dead, existed: true)
  }
}
