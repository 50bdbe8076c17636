public import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// How far a download of large values has come.
public struct ValueProgress: Hashable, Sendable {
  /// Values that came, or turned out not to be had.
  public var values = 0
  /// Of so many.
  public var valuesTotal = 0
  /// Bytes of them.
  public var bytes: Int64 = 0
  /// Of so many.
  public var bytesTotal: Int64 = 0
}

/// What a download of large values did.
public struct DownloadReport: Hashable, Sendable, Codable {
  /// Values that are here now and were not before, each once however many objects have it.
  public var values = 0
  /// Bytes of those.
  public var bytes: Int64 = 0
  /// Values that were asked for and were not to be had.
  public var missing = 0
}

extension SyncEngine {
  /// Fetches the large values of an object, or of one property of it: they are here when it returns. Contexts hear of them as of a
  /// merge.
  ///
  /// ```swift
  /// try await engine.download(photo.objectID, key: "image")
  /// ```
  /// What is here already is not fetched again, and who asks for one value at one time shares its bytes. Where the line breaks, or
  /// the process ends, the next call, or the next sync of any process, goes on at the piece where it was. A call whose task is
  /// cancelled asks no more.
  ///
  /// - Parameters:
  ///   - object: An object that was saved.
  ///   - key: The name of the property; nil for all.
  /// - Throws: `SyncError` with the codes `valueUnreachable` while the zone does not answer, `valueMissing` where it does not have the
  ///   value, and `unknownElement`; `StoreError` (`diskFull`); `CancellationError`.
  @discardableResult
  public func download(_ object: ManagedObjectID, key: String? = nil) async throws -> DownloadReport
  {
    let report = try await download([object], key: key)
    guard report.missing == 0 else {
      throw SyncError(
        .valueMissing,
        "The zone does not have \(key ?? "a value") of \(object), or what it has is damaged.",
        suggestion: "It comes once a replica that has it syncs: syncctl parked tells since when. "
          + "Or set it anew.")
    }
    return report
  }

  /// The same for one typed property.
  ///
  /// - Throws: `SyncError` (`valueMissing`, `valueUnreachable`), `StoreError`.
  @discardableResult
  public func download<Root, Value>(
    _ object: ManagedObjectID, _ key: Attribute<Root, Value>
  ) async throws -> DownloadReport {
    try await download(object, key: key.property.name)
  }

  /// Fetches the large values of several objects, one after the other.
  ///
  /// - Parameters:
  ///   - objects: Objects that were saved.
  ///   - key: The name of the property; nil for all.
  ///   - progress: Hears how far it has come, after each value.
  /// - Returns: what came; what the zone does not have is counted, and is no error.
  /// - Throws: as the one for one object, but for `valueMissing`.
  @discardableResult
  public func download(
    _ objects: [ManagedObjectID], key: String? = nil,
    progress: @Sendable (ValueProgress) -> Void = { _ in }
  ) async throws -> DownloadReport {
    let places = try store.read { transaction in
      let pending = try pending(transaction)
      return try objects.flatMap { object -> [NamedPlace] in
        guard !object.isTemporaryID, object.storeIdentifier == store.identifier else {
          throw SyncError(
            .unknownElement, "\(object) is no object of the store \(store.label).",
            suggestion: "Save the object first, and ask the engine of its store.")
        }
        return try NamedPlace.all(of: object.key, key, pending, transaction, schema)
      }
    }
    return try await download(places, progress)
  }

  /// Fetches the large values of all objects, or of those of an entity that a predicate finds.
  ///
  /// ```swift
  /// try await engine.downloadAll(of: "Photo", where: FetchPredicate(format: "album.name == %@", "Rome"))
  /// ```
  /// - Parameters:
  ///   - entity: The name of an entity, with its subentities; nil for all.
  ///   - predicate: Which of its objects; nil for all.
  ///   - key: The name of the property; nil for all.
  ///   - progress: Hears how far it has come, after each value.
  /// - Returns: what came; what the zone does not have is counted, and is no error.
  /// - Throws: as ``download(_:key:progress:)``, and `FetchError` for a predicate that does not fit the model.
  @discardableResult
  public func downloadAll(
    of entity: String? = nil, where predicate: FetchPredicate? = nil, key: String? = nil,
    progress: @Sendable (ValueProgress) -> Void = { _ in }
  ) async throws -> DownloadReport {
    let places = try store.read { transaction -> [NamedPlace] in
      let found = try meantObjects(of: entity, where: predicate, transaction)
      return try NamedPlace.all(pending(transaction), transaction, schema).filter {
        found?.contains($0.key) ?? true && key ?? $0.property == $0.property
      }
    }
    return try await download(places, progress)
  }

  // MARK: - One after the other

  private func pending(_ transaction: ReadTransaction) throws -> PendingSet {
    try pendingSet(transaction, state: Self.state(on: transaction.connection, of: store))
  }

  private func download(
    _ places: [NamedPlace], _ progress: (ValueProgress) -> Void
  ) async throws -> DownloadReport {
    var report = DownloadReport()
    var told = ValueProgress()
    let values = Dictionary(grouping: places, by: \.value)
    let order = values.keys.sorted()
    guard !order.isEmpty else { return report }
    told.valuesTotal = order.count
    told.bytesTotal = order.reduce(0) { $0.addingClamped(Int64(clamping: $1.length)) }
    let own = try noteWanted(order)
    var full: StoreError?
    do {
      for value in order {
        switch try await fetchTogether(value, values[value] ?? []) {
        case .here:
          report.values += 1
          report.bytes = report.bytes.addingClamped(Int64(clamping: value.length))
        case .not: report.missing += 1
        case .unneeded: break
        case .noRoom(let bytes):
          // Smaller ones may fit.
          full = full ?? noRoom(for: value, bytes)
        }
        told.values += 1
        told.bytes = told.bytes.addingClamped(Int64(clamping: value.length))
        progress(told)
      }
    } catch {
      guard Task.isCancelled || error is CancellationError else { throw Self.unreachable(error) }
      // What others asked for before is wanted still.
      try bookkeep { try WantedValues.remove(own, on: $0.connection) }
      tell(.valuesWanted)
      throw CancellationError()
    }
    if let full { throw full }
    return report
  }

  /// - Returns: those that nobody asked for before.
  private func noteWanted(_ values: [LargeValue]) throws -> [LargeValue] {
    let own = try bookkeep { transaction in
      // Who asks for what was not to be had wants it tried again.
      for value in values { try MissedValues.forget(value.digest, on: transaction.connection) }
      try transaction.setSetting(WantedValues.failureSetting, nil)
      return try WantedValues.add(values, on: transaction.connection)
    }
    tell(.valuesWanted)
    return own
  }

  private func noRoom(for value: LargeValue, _ bytes: Int) -> StoreError {
    StoreError(
      .diskFull,
      "There is no room for a value of \(value.length) bytes: it needs \(bytes) on the file system of "
        + "\(store.label), beside what is kept for saves.",
      suggestion: "Make room there; it comes with the next sync then, or ask again. "
        + "To ask for it no more: syncctl values take-back --store \(store.label.shellWord)")
  }

  /// While another process syncs the store, that fetches what is asked for: it is woken, and goes on with what is noted. It is not
  /// waited for where its syncs fail, or where nothing comes.
  private func fetchTogether(_ value: LargeValue, _ places: [NamedPlace]) async throws -> Fetched {
    var rounds = 0
    var before: [Int] = []
    while true {
      do {
        return try await operation { try await self.fetchNow(value, places) }
      } catch let error as StoreError where error.code == .syncLocked {
        let seen = try store.read { try self.look(at: value, places, $0) }
        if let outcome = seen.outcome { return outcome }
        if !seen.isWanted { _ = try noteWanted([value]) }
        if seen.mark != before { rounds = 0 }
        // It hears of what was noted before it was asked.
        if rounds == 0 { store.ring() }
        before = seen.mark
        rounds += 1
        if rounds >= SyncTuning.otherProcessRoundsFailing, let failure = seen.failure {
          throw SyncError(
            .valueUnreachable,
            "The value is in the zone, and the process that syncs the store does not get it: \(failure.message)",
            suggestion: "It is noted, and comes once that process can. \(failure.suggestion)")
        }
        guard rounds < SyncTuning.otherProcessRoundsMax else {
          throw SyncError(
            .valueUnreachable,
            "The value is in the zone, and the process that syncs the store has not fetched it so far.",
            suggestion: "It is noted, and comes with that process's next sync.")
        }
        try await Task.sleep(for: .milliseconds(SyncTuning.otherProcessMilliseconds))
      }
    }
  }

  /// What can be seen of a value that another process fetches.
  private struct Look {
    var outcome: Fetched?
    var isWanted = false
    var failure: SyncStatus.Failure?
    /// Another one each time that something came.
    var mark: [Int] = []
  }

  private func look(
    at value: LargeValue, _ places: [NamedPlace], _ transaction: ReadTransaction
  ) throws -> Look {
    let connection = transaction.connection
    if let outcome = try outcome(places, transaction) { return Look(outcome: outcome) }
    let wanted = try WantedValues.digests(on: connection)
    if let reason = try MissedValues.digests(on: connection)[value.digest], reason != .room {
      return Look(outcome: .not(reason))
    }
    let state = try Self.state(on: connection, of: store)
    var failure = try Self.lastFailure(transaction, state, now: store.now)
    if failure == nil, case .text(let text)? = try transaction.setting(WantedValues.failureSetting)
    {
      failure = Self.decodeFailure(text)
    }
    return Look(
      isWanted: wanted.contains(value.digest), failure: failure,
      mark: [wanted.count, try ValuePieces.byteCount(on: connection), Int(clamping: state.cursor)])
  }

  /// What became of a value that none of the places waits for any more; nil while one does.
  private func outcome(
    _ places: [NamedPlace], _ transaction: ReadTransaction
  ) throws -> Fetched? {
    let pending = try pending(transaction)
    if try places.contains(where: { try $0.isAwaited(pending, transaction, schema) }) {
      return nil
    }
    return try places.contains { try $0.isFilled(transaction) } ? .here : .unneeded
  }

  /// Fetches a value and puts it where it belongs, unless somebody else did meanwhile.
  private func fetchNow(_ value: LargeValue, _ places: [NamedPlace]) async throws -> Fetched {
    try lock()
    if let outcome = try store.read({ try outcome(places, $0) }) {
      try dropUnneeded(value)
      return outcome
    }
    var fetched = try await fetch(value, generation: replicaState().generation, beside: 0)
    switch fetched {
    case .here: fetched = try takeIn(value, places)
    case .not(let reason):
      try noteMissed(value, reason)
      tell(.valuesWanted)
    case .noRoom, .unneeded: break
    }
    return fetched
  }

  /// Puts a value that is here in each place where it belongs, one after the other, as far as there is room.
  private func takeIn(_ value: LargeValue, _ places: [NamedPlace]) throws -> Fetched {
    let all = try store.read { transaction in
      try NamedPlace.all(of: value, pending(transaction), transaction, schema)
    }
    // What an undo went back to, and the zone has taken, is noted nowhere.
    let known = Set(all.map(\.id))
    let bytes = Self.bytesToPlace(Int(clamping: value.length))
    for place in places.filter({ !known.contains($0.id) }) + all {
      guard hasRoom(for: bytes) else { return try full(value, bytes) }
      do {
        try settling { applier, _ -> Void in
          let transaction = applier.transaction
          guard try place.isAwaited(applier.pending, transaction, schema) else { return }
          try applier.takeIn(place.row(by: applier))
        }
      } catch let error as StoreError where error.code == .diskFull {
        return try full(value, bytes)
      }
    }
    try dropUnneeded(value)
    tell(.valuesWanted)
    return try store.read { try outcome(places, $0) } ?? .not(.damaged)
  }

  /// What has come makes room: it comes again once there is some.
  private func full(_ value: LargeValue, _ bytes: Int) throws -> Fetched {
    try dropPieces(of: value)
    return .noRoom(bytes)
  }

  /// Nobody waits any more for what no object waits for.
  ///
  /// - Parameter value: of one value; nil for all.
  private func dropUnneeded(_ value: LargeValue? = nil) throws {
    try bookkeep { transaction in
      let connection = transaction.connection
      let wanted = try value.map { [$0.digest] } ?? WantedValues.digests(on: connection)
      let named = try Set(
        NamedPlace.all(of: value, pending(transaction), transaction, schema).map(\.value.digest))
      for digest in wanted.subtracting(named) {
        try WantedValues.remove(digest, on: connection)
      }
      guard let value else { return try ValuePieces.trim(transaction) }
      if named.isEmpty { try ValuePieces.dropUnneeded(value, on: connection) }
    }
  }

  /// Goes on with what somebody asked for, here or in another process.
  func fetchWanted() async throws {
    let (wanted, missed, places) = try store.read { transaction in
      let connection = transaction.connection
      let wanted = try WantedValues.digests(on: connection)
      let places =
        wanted.isEmpty
        ? []
        : try NamedPlace.all(pending(transaction), transaction, schema).filter {
          wanted.contains($0.value.digest)
        }
      return (wanted, try MissedValues.digests(on: connection), places)
    }
    guard !wanted.isEmpty else { return }
    if !wanted.subtracting(places.map(\.value.digest)).isEmpty { try dropUnneeded() }
    var bytes = 0
    var full: StoreError?
    for (value, places) in Dictionary(grouping: places, by: \.value)
      .sorted(by: { $0.key < $1.key })
    where bytes < SyncTuning.mendedValueBytesMax {
      // What was asked for in vain comes once the zone says that it has it, or in an hour.
      if let reason = missed[value.digest], reason != .room,
        valueMemory.lacking.contains(value) || !valueMemory.mayAsk(for: value)
      {
        continue
      }
      switch try await fetchNow(value, places) {
      case .noRoom(let needed): full = full ?? noRoom(for: value, needed)
      case .not: valueMemory.noteInVain(value)
      case .here, .unneeded: bytes = bytes.addingClamped(Int(clamping: value.length))
      }
    }
    if let full { throw full }
    try bookkeep { try $0.setSetting(WantedValues.failureSetting, nil) }
  }

  /// Keeps what holds up what was asked for, for who waits for it.
  func noteWantedFailure(_ error: any Error) throws {
    let failure = SyncFailure(error)
    let fresh = SyncStatus.Failure(
      kind: failure.kind, code: failure.code, message: failure.message,
      suggestion: failure.suggestion, since: store.now)
    let text = String(decoding: try JSONEncoder().encode(fresh), as: UTF8.self)
    try bookkeep { try $0.setSetting(WantedValues.failureSetting, .text(text)) }
  }

  /// What keeps a value from coming, where that is the way to the zone.
  private static func unreachable(_ error: any Error) -> any Error {
    if error is SyncError || error is StoreError || error is ProtocolError || error is FetchError {
      return error
    }
    let failure = SyncFailure(error)
    guard failure.isTransient else { return error }
    return SyncError(
      .valueUnreachable, "The value is in the zone, which cannot be reached: \(failure.message)",
      suggestion: "It is noted, and comes with the next sync. \(failure.suggestion)")
  }
}
