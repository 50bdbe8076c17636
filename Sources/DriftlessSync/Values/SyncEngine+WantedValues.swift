import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// A large value that somebody asked for, with the places for which it was.
struct AskedValue {
  let value: LargeValue
  let places: [NamedPlace]

  /// The values of some places, each once, in an order.
  static func all(
    _ places: [NamedPlace], by isBefore: (LargeValue, LargeValue) -> Bool
  ) -> [AskedValue] {
    Dictionary(grouping: places, by: \.value).map { AskedValue(value: $0, places: $1) }
      .sorted { isBefore($0.value, $1.value) }
  }

  /// As many as are fetched before they go where they belong: a few, or one that is large.
  static func portions(of asked: [AskedValue]) -> [[AskedValue]] {
    var portions: [[AskedValue]] = []
    var bytes = 0
    for one in asked {
      let length = Int(clamping: one.value.length)
      bytes = bytes.addingClamped(length)
      if let last = portions.last, last.count < SyncTuning.placesAtOnce,
        bytes <= SyncTuning.placedBytesAtOnce
      {
        portions[portions.count - 1].append(one)
      } else {
        portions.append([one])
        bytes = length
      }
    }
    return portions
  }
}

/// Large values that somebody asked for, and all engines of the store go on with.
extension SyncEngine {
  /// Fetches values and puts them where they belong, unless somebody else did meanwhile.
  ///
  /// - Returns: what became of each. One that fails holds up no other.
  func fetchNow(_ asked: [AskedValue]) async throws -> [LargeValue: Fetched] {
    try lock()
    var fetched = try store.read { try outcomes(asked, $0) }
    let open = asked.filter { fetched[$0.value] == nil }
    var here: [AskedValue] = []
    do {
      let generation = try replicaState().generation
      var waiting = 0
      for one in open {
        var outcome = try await fetch(one.value, generation: generation, beside: waiting)
        if case .noRoom = outcome, !here.isEmpty {
          // What has come takes less room where it belongs.
          fetched.merge(try putInPlace(here)) { $1 }
          (here, waiting) = ([], 0)
          outcome = try await fetch(one.value, generation: generation, beside: waiting)
        }
        fetched[one.value] = outcome
        switch outcome {
        case .here:
          here.append(one)
          waiting = waiting.addingClamped(
            Self.bytesToPlace(Int(clamping: one.value.length))
              .multipliedClamped(by: one.places.count))
        case .noRoom: noteNoRoom(for: one.value)
        case .not, .refused, .broken, .unasked, .unneeded: break
        }
      }
    } catch {
      // What has come goes where it belongs, whatever became of those behind it.
      if !here.isEmpty, !Task.isCancelled { _ = try? putInPlace(here) }
      throw error
    }
    fetched.merge(try putInPlace(here)) { $1 }
    let tried = open.map(\.value).filter { value in
      if case .unasked? = fetched[value] { false } else { true }
    }
    try settleWanted(asked.map(\.value), tried: tried)
    tell(.valuesWanted)
    return fetched
  }

  /// What became of those values that none of their places waits for any more.
  func outcomes(
    _ asked: [AskedValue], _ transaction: ReadTransaction
  ) throws -> [LargeValue: Fetched] {
    let pending = try pendingSet(
      transaction, state: Self.state(on: transaction.connection, of: store))
    var outcomes: [LargeValue: Fetched] = [:]
    for one in asked {
      if try one.places.contains(where: { try $0.isAwaited(pending, transaction, schema) }) {
        continue
      }
      outcomes[one.value] =
        try one.places.contains { try $0.isFilled(transaction) } ? .here : .unneeded
    }
    return outcomes
  }

  /// Puts values that are here in each place where they belong.
  private func putInPlace(_ asked: [AskedValue]) throws -> [LargeValue: Fetched] {
    guard !asked.isEmpty else { return [:] }
    let all = try store.read { try namedPlaces(of: Set(asked.map(\.value)), $0) }
    // What an undo went back to, and the zone has taken, is noted nowhere.
    let known = Set(all.map(\.id))
    let failed = try takeIn(asked.flatMap(\.places).filter { !known.contains($0.id) } + all)
    var outcomes = try store.read { try self.outcomes(asked, $0) }
    for value in asked.map(\.value) where outcomes[value] == nil && failed[value] == nil {
      // What came is not what the key here opens.
      outcomes[value] = .not(.damaged)
      try noteMissed(value, .damaged)
    }
    for (value, outcome) in failed {
      if case .refused(let error) = outcome { valueMemory.noteBrokenAlone(value, error) }
    }
    return outcomes.merging(failed) { $1 }
  }

  /// Nobody waits any more for what no object waits for.
  ///
  /// - Parameter tried: those that were asked for just now.
  private func settleWanted(_ values: [LargeValue], tried: [LargeValue]) throws {
    try bookkeep { transaction in
      let connection = transaction.connection
      let named = Set(try namedPlaces(of: Set(values), transaction).map(\.value))
      let unnamed = values.filter { !named.contains($0) }
      try WantedValues.remove(unnamed, on: connection)
      try WantedValues.noteTried(tried.filter(named.contains), on: connection)
      try dropPieces(of: unnamed, transaction)
    }
  }

  /// The same of all that is wanted.
  private func dropUnneeded() throws {
    try bookkeep { transaction in
      let connection = transaction.connection
      let pending = try pendingSet(transaction, state: Self.state(on: connection, of: store))
      let named = try Set(NamedPlace.all(pending, transaction, schema).map(\.value.digest))
      for digest in try WantedValues.digests(on: connection).subtracting(named) {
        try WantedValues.remove(digest, on: connection)
      }
      try trimPieces(transaction)
    }
  }

  /// Goes on with what somebody asked for, here or in another process.
  ///
  /// - Parameter missing: what is missing, though nobody had to ask for it.
  /// - Throws: why one of them does not come, once all others were asked for.
  func fetchWanted(beside missing: MissingValues) async throws {
    let (wanted, asked) = try store.read { transaction -> (Set<Data>, [AskedValue]) in
      let connection = transaction.connection
      let wanted = try WantedValues.digests(on: connection)
      guard !wanted.isEmpty else { return ([], []) }
      let pending = try pendingSet(transaction, state: Self.state(on: connection, of: store))
      let places = try NamedPlace.all(pending, transaction, schema).filter {
        wanted.contains($0.value.digest)
      }
      return (wanted, AskedValue.all(places, by: valueMemory.isBefore))
    }
    guard !wanted.isEmpty else {
      if let error = brokenWay(to: missing) { throw error }
      return try forgetWantedFailure()
    }
    if !wanted.subtracting(asked.map(\.value.digest)).isEmpty { try dropUnneeded() }
    let (due, broken, isRefused) = try dueNow(asked)
    valueTurn.restart()
    var bytes = 0
    var first: (any Error)?
    for some in AskedValue.portions(of: due) {
      guard bytes < mendedValueBytesMax, !valueTurn.isOver() else {
        valueTurn.noteLeft()
        break
      }
      if let error = valueLine.stop() {
        first = first ?? error
        break
      }
      let fetched = try await fetchNow(some)
      for value in some.map(\.value) {
        switch fetched[value] ?? .unneeded {
        case .noRoom(let needed): first = first ?? noRoom(for: value, needed)
        case .refused(let error), .broken(let error), .unasked(let error?): first = first ?? error
        case .not, .unasked(nil): break
        case .here, .unneeded: bytes = bytes.addingClamped(Int(clamping: value.length))
        }
      }
    }
    if let first = first ?? brokenWay(to: missing) ?? broken { throw first }
    // What the server refused a while ago keeps its reason until it is asked again.
    if !isRefused { try forgetWantedFailure() }
  }

  private func forgetWantedFailure() throws {
    guard try store.read({ try $0.setting(WantedValues.failureSetting) }) != nil else { return }
    try bookkeep { try $0.setSetting(WantedValues.failureSetting, nil) }
  }

  /// Those that are asked for now: what was asked for in vain comes once the zone says that it has it, once somebody asks again, or in
  /// an hour; that at which the way broke, and at others not, sooner.
  ///
  /// - Returns: also why the way to one of the others broke when it was asked for last, and whether the server refused one.
  private func dueNow(
    _ asked: [AskedValue]
  ) throws -> (due: [AskedValue], broken: (any Error)?, isRefused: Bool) {
    try store.read { transaction in
      let connection = transaction.connection
      var broken: (any Error)?
      var isRefused = false
      let due = try asked.filter { one in
        let digest = one.value.digest
        if try WantedValues.isAskedAgain(digest, on: connection) { return true }
        guard !valueMemory.lacking.contains(one.value) else { return false }
        let reason = try MissedValues.reason(digest, on: connection)
        let failure = valueMemory.broken(one.value)
        // What the zone said of it before is not its word any more.
        let isOpen = reason == nil && failure == nil
        if isOpen || reason == .room || valueMemory.mayAsk(for: one.value) { return true }
        if reason == .refused { isRefused = true }
        broken = broken ?? failure
        return false
      }
      return (due, broken, isRefused)
    }
  }

  /// - Parameter isAsked: whether somebody asked for it; else the store fetches all.
  func noRoom(for value: LargeValue, _ bytes: Int, isAsked: Bool = true) -> StoreError {
    let file = store.label.shellWord
    return StoreError(
      .diskFull,
      "There is no room for a value of \(value.length) bytes: it needs \(bytes) on the file system of "
        + "\(store.label), beside what is kept for saves.",
      suggestion: isAsked
        ? "Make room there; it comes with the next sync then, or ask again. "
          + "To ask for it no more: syncctl values take-back --store \(file)"
        : "Make room there; it comes with the next sync then. To fetch values only when somebody asks for them: "
          + "syncctl enroll --values first-use --store \(file)")
  }

  /// Keeps what holds up what was asked for, for who waits for it.
  func noteWantedFailure(_ error: any Error) throws {
    let failure = SyncFailure(error)
    var fresh = SyncStatus.Failure(
      kind: failure.kind, code: failure.code, message: failure.message,
      suggestion: failure.suggestion, since: store.now)
    if let before = try Self.wantedFailure(of: store) {
      fresh.since = before.since
      // It is the same still.
      if fresh == before { return }
      fresh.since = store.now
    }
    let text = String(decoding: try JSONEncoder().encode(fresh), as: UTF8.self)
    try bookkeep { try $0.setSetting(WantedValues.failureSetting, .text(text)) }
  }
}
