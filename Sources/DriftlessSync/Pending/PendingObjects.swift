package import Driftless

/// The pending states of objects, by key.
///
/// Objects of one entity whose keys follow each other and that have one state are one run: what an import makes pending
/// takes the same memory at any size. An object whose state came to differ from its run's has an entry of its own.
package struct PendingObjects: Sendable {
  fileprivate struct Run: Sendable {
    var keys: Range<Int64>
    var object: PendingObject
    /// How many of the keys have an entry of their own.
    var ownCount = 0

    var count: Int { keys.count - ownCount }
  }

  /// By entity, ascending. A key above all of them begins a run or goes on with the last one.
  private var runs: [Int32: [Run]] = [:]
  /// Entries of their own; nil for an object of a run of which nothing is pending any more.
  private var own: [ObjectKey: PendingObject?] = [:]
  package private(set) var count = 0

  package init() {}

  package var isEmpty: Bool { count == 0 }

  package subscript(key: ObjectKey) -> PendingObject? {
    get {
      if !own.isEmpty, let entry = own[key] { return entry }
      guard let runs = runs[key.entity], let place = Self.place(of: key.key, in: runs) else {
        return nil
      }
      return runs[place].object
    }
    set {
      let place = runs[key.entity].flatMap { Self.place(of: key.key, in: $0) }
      if !own.isEmpty, let entry = own[key] {
        count += (newValue == nil ? 0 : 1) - (entry == nil ? 0 : 1)
        if newValue == nil, place == nil {
          own.removeValue(forKey: key)
        } else {
          own.updateValue(newValue, forKey: key)
        }
      } else if let place {
        guard newValue != runs[key.entity]?[place].object else { return }
        own.updateValue(newValue, forKey: key)
        runs[key.entity]?[place].ownCount += 1
        if newValue == nil { count -= 1 }
      } else if let newValue {
        append(key, newValue)
        count += 1
      }
    }
  }

  private mutating func append(_ key: ObjectKey, _ object: PendingObject) {
    assert(own[key] == nil, "an object has one state")
    // The last key that there is has none behind it, where its run would end.
    guard key.key < .max else { return _ = own.updateValue(object, forKey: key) }
    guard let last = runs[key.entity]?.last else {
      runs[key.entity, default: []].append(Run(keys: key.key..<key.key + 1, object: object))
      return
    }
    if last.keys.upperBound == key.key, last.object == object {
      let place = runs[key.entity, default: []].count - 1
      runs[key.entity]?[place].keys = last.keys.lowerBound..<key.key + 1
    } else if last.keys.upperBound <= key.key {
      runs[key.entity]?.append(Run(keys: key.key..<key.key + 1, object: object))
    } else {
      own.updateValue(object, forKey: key)
    }
  }

  /// The run that holds a key.
  private static func place(of key: Int64, in runs: [Run]) -> Int? {
    guard let last = runs.last, key < last.keys.upperBound else { return nil }
    var low = 0
    var high = runs.count
    while low < high {
      let middle = (low + high) / 2
      if runs[middle].keys.upperBound <= key { low = middle + 1 } else { high = middle }
    }
    return runs[low].keys.contains(key) ? low : nil
  }

  // MARK: States

  /// Hands over each state with the number of its entity and how many objects have it; one state may come again.
  package func forEachState(_ body: (Int32, PendingObject, _ count: Int) throws -> Void) rethrows {
    for (entity, runs) in runs {
      for run in runs where run.count > 0 { try body(entity, run.object, run.count) }
    }
    for case (let key, let object?) in own { try body(key.entity, object, 1) }
  }

  package func containsState(where isWanted: (Int32, PendingObject) throws -> Bool) rethrows -> Bool
  {
    for (entity, runs) in runs {
      for run in runs where run.count > 0 {
        if try isWanted(entity, run.object) { return true }
      }
    }
    for case (let key, let object?) in own {
      if try isWanted(key.entity, object) { return true }
    }
    return false
  }

  package func containsState(where isWanted: (PendingObject) throws -> Bool) rethrows -> Bool {
    try containsState { try isWanted($1) }
  }

  /// Changes each state by itself; an object whose state is empty then is forgotten.
  ///
  /// - Parameter kept: objects that keep the state that they have.
  package mutating func changeStates(
    except kept: Set<ObjectKey> = [], _ change: (Int32, inout PendingObject) -> Void
  ) {
    for key in kept { separate(key) }
    for entity in Array(runs.keys) {
      for place in runs[entity, default: []].indices {
        change(entity, &runs[entity, default: []][place].object)
      }
      runs[entity]?.removeAll { $0.object.isEmpty }
    }
    for case (let key, var object?) in own where !kept.contains(key) {
      change(key.entity, &object)
      own.updateValue(object.isEmpty ? nil : object, forKey: key)
    }
    // What is in no run needs no word that it is nothing.
    own = own.filter { key, object in
      object != nil || runs[key.entity].flatMap { Self.place(of: key.key, in: $0) } != nil
    }
    count = 0
    for runs in runs.values { for run in runs { count += run.count } }
    for object in own.values where object != nil { count += 1 }
    assert(count == reduce(0) { count, _ in count + 1 }, "as many objects as it counts")
  }

  /// Gives an object of a run an entry of its own.
  private mutating func separate(_ key: ObjectKey) {
    guard own[key] == nil, let runs = runs[key.entity],
      let place = Self.place(of: key.key, in: runs)
    else { return }
    own.updateValue(runs[place].object, forKey: key)
    self.runs[key.entity]?[place].ownCount += 1
  }

  // MARK: Order

  /// Hands over every object, by entity and key.
  package func forEachInOrder(_ body: (ObjectKey, PendingObject) throws -> Void) rethrows {
    let apart = own.keys.sorted { ($0.entity, $0.key) < ($1.entity, $1.key) }
    var next = 0
    /// Those with an entry of their own that come before a key of a run. Whether the key itself is one.
    func passOwn(upTo key: ObjectKey) throws -> Bool {
      while next < apart.count {
        let candidate = apart[next]
        guard (candidate.entity, candidate.key) <= (key.entity, key.key) else { return false }
        next += 1
        if case let object?? = own[candidate] { try body(candidate, object) }
        if candidate == key { return true }
      }
      return false
    }
    for (entity, runs) in runs.sorted(by: { $0.key < $1.key }) {
      for run in runs {
        for number in run.keys {
          let key = ObjectKey(entity: entity, key: number)
          if try !passOwn(upTo: key) { try body(key, run.object) }
        }
      }
    }
    _ = try passOwn(upTo: ObjectKey(entity: .max, key: .max))
  }
}

extension PendingObjects: Sequence {
  package struct Iterator: IteratorProtocol {
    fileprivate var runs: [(entity: Int32, run: PendingObjects.Run)]
    fileprivate var place = 0
    fileprivate var key: Int64
    fileprivate let own: [ObjectKey: PendingObject?]
    fileprivate var rest: Dictionary<ObjectKey, PendingObject?>.Iterator

    package mutating func next() -> (key: ObjectKey, value: PendingObject)? {
      while place < runs.count {
        let (entity, run) = runs[place]
        guard key < run.keys.upperBound else {
          place += 1
          if place < runs.count { key = runs[place].run.keys.lowerBound }
          continue
        }
        let object = ObjectKey(entity: entity, key: key)
        key += 1
        if run.ownCount == 0 || own[object] == nil { return (object, run.object) }
      }
      while let (key, object) = rest.next() {
        if let object { return (key, object) }
      }
      return nil
    }
  }

  /// In no order: `forEachInOrder` has one.
  package func makeIterator() -> Iterator {
    let all = runs.flatMap { entity, runs in runs.map { (entity: entity, run: $0) } }
    return Iterator(
      runs: all, key: all.first?.run.keys.lowerBound ?? 0, own: own, rest: own.makeIterator())
  }

  package var keys: some Sequence<ObjectKey> { lazy.map(\.key) }
}
