import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Finds objects by zone object number, and numbers and identities by object, among the runs of identities.
///
/// What was found last is kept: sorted numbers and keys mostly fall into it.
struct ObjectDirectory {
  /// A stretch of a hierarchy's keys, with all the runs in it. Keys between them are objects made here that the zone does
  /// not know.
  private struct Stretch {
    var root: Int32 = 0
    var keys: Range<Int64> = 0..<0
    /// Ascending.
    var runs: [IdentityRun] = []

    func covers(_ root: Int32, _ key: Int64) -> Bool { self.root == root && keys.contains(key) }

    /// How many runs end at the key or before it.
    func place(of key: Int64) -> Int {
      var low = 0
      var high = runs.count
      while low < high {
        let middle = (low + high) / 2
        if runs[middle].end <= key { low = middle + 1 } else { high = middle }
      }
      return low
    }
  }

  private static let runsMax = 1024

  private let connection: SQLiteConnection
  private let readsAhead: Bool
  private var byNumber: IdentityRun?
  private var stretch = Stretch()
  /// How many runs the next read takes where it goes on after the last one.
  private var batch = 1

  /// - Parameter readsAhead: where keys go on beyond what was found, more and more runs are read at once: objects with
  ///   identities from outside have a run each. Only for what assigns none meanwhile.
  init(_ connection: SQLiteConnection, readsAhead: Bool = false) {
    self.connection = connection
    self.readsAhead = readsAhead
  }

  /// Forgets the runs: call it after numbers or identities were assigned.
  mutating func refresh() {
    byNumber = nil
    stretch = Stretch()
  }

  /// Whether both keys lie between two runs, so that their identities are as far apart as they are.
  func isMinted(root: Int32, _ first: Int64, _ second: Int64) -> Bool {
    guard stretch.covers(root, first), stretch.covers(root, second) else { return false }
    let place = stretch.place(of: max(first, second))
    guard place == stretch.place(of: min(first, second)) else { return false }
    return place == stretch.runs.count || stretch.runs[place].firstKey > max(first, second)
  }

  /// The root entity and key of the object with this number. Its row may be deleted.
  mutating func key(ofNumber number: UInt64) throws -> ObjectKey? {
    if let run = byNumber, let found = Self.key(ofNumber: number, in: run) { return found }
    if let run = try IdentityRuns.last(upToNumber: number, on: connection) { byNumber = run }
    return byNumber.flatMap { Self.key(ofNumber: number, in: $0) }
  }

  /// The number of an object, when the zone knows it.
  mutating func number(root: Int32, key: Int64) throws -> UInt64? {
    guard let run = try run(root: root, key: key), let first = run.number else { return nil }
    return first &+ UInt64(key &- run.firstKey)
  }

  /// The identity of an object that has a run; nil for one whose identity follows from its key.
  mutating func identity(root: Int32, key: Int64) throws -> UUID? {
    guard let run = try run(root: root, key: key) else { return nil }
    return run.identity?.advanced(by: UInt64(key &- run.firstKey))
  }

  private mutating func run(root: Int32, key: Int64) throws -> IdentityRun? {
    if !stretch.covers(root, key) { try read(root, key) }
    let place = stretch.place(of: key)
    guard place < stretch.runs.count, stretch.runs[place].firstKey <= key else { return nil }
    return stretch.runs[place]
  }

  /// Reads a stretch that covers a key.
  private mutating func read(_ root: Int32, _ key: Int64) throws {
    if readsAhead, stretch.root == root, key == stretch.keys.upperBound {
      batch = min(batch * 4, Self.runsMax)
      try read(root, from: key, batch)
      if stretch.covers(root, key) { return }
    }
    batch = 1
    if let before = try IdentityRuns.last(root: root, upToKey: key, on: connection),
      key < before.end
    {
      stretch = Stretch(root: root, keys: before.firstKey..<before.end, runs: [before])
    } else {
      try read(root, from: key, 1)
      // Where a run begins, the keys before it are covered.
      stretch.keys = key..<max(stretch.runs.first?.firstKey ?? .max, key &+ 1)
      stretch.runs = []
    }
  }

  /// Reads the runs that begin at a key or after it.
  private mutating func read(_ root: Int32, from key: Int64, _ count: Int) throws {
    let runs = try IdentityRuns.runs(root: root, fromKey: key, most: count, on: connection)
    let end = runs.count == count ? runs.last?.end ?? key : .max
    stretch = Stretch(root: root, keys: key..<Swift.max(end, key), runs: runs)
  }

  private static func key(ofNumber number: UInt64, in run: IdentityRun) -> ObjectKey? {
    guard let first = run.number, number >= first, number &- first < UInt64(max(0, run.count))
    else { return nil }
    return ObjectKey(entity: run.root, key: run.firstKey &+ Int64(number &- first))
  }
}
