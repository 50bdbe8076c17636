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

  // MARK: - Some at a time

  private func pending(_ transaction: ReadTransaction) throws -> PendingSet {
    try pendingSet(transaction, state: Self.state(on: transaction.connection, of: store))
  }

  private func download(
    _ places: [NamedPlace], _ progress: (ValueProgress) -> Void
  ) async throws -> DownloadReport {
    var report = DownloadReport()
    var told = ValueProgress()
    let asked = AskedValue.all(places) { $0 < $1 }
    guard !asked.isEmpty else { return report }
    told.valuesTotal = asked.count
    told.bytesTotal = asked.reduce(0) { $0.addingClamped(Int64(clamping: $1.value.length)) }
    try noteWanted(asked.map(\.value))
    valueLine.begin()
    var left = Set(asked.map(\.value))
    var first: (any Error)?
    do {
      for some in AskedValue.portions(of: asked) {
        let fetched = try await fetchTogether(some)
        for value in some.map(\.value) {
          switch fetched[value] ?? .unneeded {
          case .here:
            left.remove(value)
            report.values += 1
            report.bytes = report.bytes.addingClamped(Int64(clamping: value.length))
          case .not:
            left.remove(value)
            report.missing += 1
          case .unneeded: left.remove(value)
          case .unasked(nil): break
          // Those behind it may come, and smaller ones fit.
          case .refused(let error), .broken(let error), .unasked(let error?):
            first = first ?? Self.unreachable(error)
          case .noRoom(let bytes): first = first ?? noRoom(for: value, bytes)
          }
          told.values += 1
          told.bytes = told.bytes.addingClamped(Int64(clamping: value.length))
          progress(told)
        }
      }
    } catch {
      guard Task.isCancelled || error is CancellationError else { throw Self.unreachable(error) }
      // What others ask for, before or meanwhile, is wanted still.
      try bookkeep { try WantedValues.takeBack(left.sorted(), on: $0.connection) }
      tell(.valuesWanted)
      throw CancellationError()
    }
    if let first { throw first }
    return report
  }

  private func noteWanted(_ values: [LargeValue]) throws {
    try bookkeep { transaction in
      if try EngineTables.needCreation(transaction) { try EngineTables.create(in: transaction) }
      try transaction.setSetting(WantedValues.failureSetting, nil)
      try WantedValues.ask(values, in: transaction)
    }
    tell(.valuesWanted)
  }

  /// While another process syncs the store, that fetches what is asked for: it is woken, and goes on with what is noted. It is not
  /// waited for where its syncs fail, or where nothing comes.
  private func fetchTogether(_ asked: [AskedValue]) async throws -> [LargeValue: Fetched] {
    var rounds = 0
    var before: [Int] = []
    while true {
      do {
        return try await operation(telling: .contact) { try await self.fetchNow(asked) }
      } catch let error as StoreError where error.code == .syncLocked {
        let seen = try store.read { try self.look(at: asked, $0) }
        if seen.fetched.count == asked.count { return seen.fetched }
        if !seen.unnoted.isEmpty {
          try bookkeep { try WantedValues.askStill(seen.unnoted, in: $0) }
          tell(.valuesWanted)
        }
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

  /// What can be seen of values that another process fetches.
  private struct Look {
    /// What became of those that are not waited for any more.
    var fetched: [LargeValue: Fetched] = [:]
    /// Those of the others that are not noted as wanted.
    var unnoted: [LargeValue] = []
    var failure: SyncStatus.Failure?
    /// Another one each time that something came.
    var mark: [Int] = []
  }

  private func look(at asked: [AskedValue], _ transaction: ReadTransaction) throws -> Look {
    let connection = transaction.connection
    var look = Look()
    look.fetched = try outcomes(asked, transaction)
    var bytes = 0
    for value in asked.map(\.value) where look.fetched[value] == nil {
      bytes = bytes.addingClamped(try ValuePieces.size(of: value, on: connection))
      guard try WantedValues.contains(value.digest, on: connection) else {
        look.unnoted.append(value)
        continue
      }
      if let reason = try MissedValues.reason(value.digest, on: connection), reason != .room,
        try !WantedValues.isAskedAgain(value.digest, on: connection)
      {
        look.fetched[value] = .not(reason)
      }
    }
    let state = try Self.state(on: connection, of: store)
    look.failure = try Self.lastFailure(transaction, state, now: store.now)
    if look.failure == nil,
      case .text(let text)? = try transaction.setting(WantedValues.failureSetting)
    {
      look.failure = Self.decodeFailure(text)
    }
    look.mark = [
      look.fetched.count, bytes, try WantedValues.count(on: connection),
      try ValuePieces.count(on: connection), Int(clamping: state.cursor),
    ]
    return look
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
