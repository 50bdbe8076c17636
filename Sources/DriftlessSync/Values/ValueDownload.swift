public import Driftless
import DriftlessProtocol
import DriftlessSQLite
public import Foundation

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

/// A large value of an object that is not here.
public struct AwaitedValue: Hashable, Sendable, Codable {
  /// The identity of the object.
  public var object: UUID
  /// The name of its entity.
  public var entity: String
  /// The name of the property.
  public var property: String
  /// How many bytes the zone has.
  public var bytes: Int64
  /// The SHA-256 of what the zone has, as hexadecimal digits.
  public var digest: String
  /// Whether somebody asked for it, and it has not come yet.
  public var isWanted: Bool
  /// Since when it is not to be had; nil for one that can be fetched, as far as is known.
  public var missingSince: Date?
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
      try objects.flatMap { object -> [NamedPlace] in
        guard !object.isTemporaryID, object.storeIdentifier == store.identifier else {
          throw SyncError(
            .unknownElement, "\(object) is no object of the store \(store.label).",
            suggestion: "Save the object first, and ask the engine of its store.")
        }
        return try NamedPlace.all(of: object.key, key, transaction, schema)
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
      return try ParkedValues.nameRows(on: transaction.connection).compactMap { row in
        guard found?.contains(row.key) ?? true, key ?? row.property == row.property else {
          return nil
        }
        return try NamedPlace.all(of: row.key, row.property, transaction, schema).first
      }
    }
    return try await download(places, progress)
  }

  /// The large values that are not here, in the order of the log.
  ///
  /// - Throws: `StoreError`; `SyncError` (`damagedState`) where what is set aside cannot be read.
  public static func awaitedValues(of store: PersistentStore) throws -> [AwaitedValue] {
    let schema = SyncSchema(store.schema)
    return try store.read { transaction in
      let connection = transaction.connection
      let wanted = try WantedValues.digests(on: connection)
      return try ParkedValues.nameRows(on: connection).compactMap { row in
        guard let value = LargeCell.value(in: row.value),
          let entity = schema.entity(numbered: row.key.entity)
        else { return nil }
        return AwaitedValue(
          object: try transaction.identity(of: row.key), entity: entity.name,
          property: row.property, bytes: Int64(clamping: value.length), digest: value.name,
          isWanted: wanted.contains(value.digest),
          missingSince: try MissedValues.since(value.digest, on: connection))
      }
    }
  }

  /// Notes that large values are wanted: the next syncs fetch them, whichever process does them.
  ///
  /// - Parameters:
  ///   - store: the replica.
  ///   - object: the identity of an object; nil for all.
  ///   - entity: the name of an entity, without its subentities; nil for all.
  ///   - key: the name of the property; nil for all.
  /// - Returns: how many values are wanted now, each once however many objects have it.
  /// - Throws: `StoreError`; `SyncError` (`notEnrolled`, `damagedState`).
  @discardableResult
  public static func wantValues(
    of store: PersistentStore, object: UUID? = nil, entity: String? = nil, key: String? = nil
  ) throws -> Int {
    let info = TransactionInfo(author: importAuthor, kind: .imported)
    let meant = try awaitedValues(of: store).filter {
      object ?? $0.object == $0.object && entity ?? $0.entity == $0.entity
        && key ?? $0.property == $0.property
    }
    let values = Set(
      meant.compactMap { value in
        LargeValue.digest(named: value.digest)
          .flatMap { LargeValue(digest: $0, length: UInt64(clamping: value.bytes)) }
      })
    return try store.write(info) { transaction in
      guard try transaction.isReplica else { throw SyncError.notEnrolled(store.label) }
      try EngineTables.create(in: transaction)
      try WantedValues.add(values.sorted(), on: transaction.connection)
      // Who asks for what was not to be had wants it tried again.
      for value in values { try MissedValues.forget(value.digest, on: transaction.connection) }
      return try WantedValues.digests(on: transaction.connection).count
    }.0
  }

  /// How many large values somebody asked for have not come yet.
  /// - Throws: `StoreError`.
  public static func wantedValues(of store: PersistentStore) throws -> Int {
    try store.read { try WantedValues.digests(on: $0.connection).count }
  }

  // MARK: - One after the other

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
    try bookkeep { try WantedValues.add(order, on: $0.connection) }
    tell(.valuesWanted)
    do {
      for value in order {
        switch try await fetchTogether(value, values[value] ?? []) {
        case .here:
          report.values += 1
          report.bytes = report.bytes.addingClamped(Int64(clamping: value.length))
        case .not: report.missing += 1
        case .noRoom(let bytes):
          throw StoreError(
            .diskFull,
            "There is no room for a value of \(value.length) bytes: it needs \(bytes) on the file system of "
              + "\(store.label), beside what is kept for saves.",
            suggestion: "Make room there; it comes with the next sync then, or ask again.")
        }
        told.values += 1
        told.bytes = told.bytes.addingClamped(Int64(clamping: value.length))
        progress(told)
      }
    } catch {
      guard Task.isCancelled || error is CancellationError else { throw Self.unreachable(error) }
      try bookkeep { try WantedValues.remove(order, on: $0.connection) }
      tell(.valuesWanted)
      throw CancellationError()
    }
    return report
  }

  /// While another process syncs the store, that fetches what is asked for: it goes on with what is noted.
  private func fetchTogether(_ value: LargeValue, _ places: [NamedPlace]) async throws -> Fetched {
    while true {
      do {
        return try await operation { try await self.fetchNow(value, places) }
      } catch let error as StoreError where error.code == .syncLocked {
        let (isWanted, missed) = try store.read { transaction in
          (
            try WantedValues.digests(on: transaction.connection).contains(value.digest),
            try MissedValues.digests(on: transaction.connection)[value.digest]
          )
        }
        if !isWanted { return missed.map { .not($0) } ?? .here }
        try await Task.sleep(for: .milliseconds(SyncTuning.otherProcessMilliseconds))
      }
    }
  }

  /// Fetches a value and puts it where it belongs, unless somebody else did meanwhile.
  private func fetchNow(_ value: LargeValue, _ places: [NamedPlace]) async throws -> Fetched {
    try lock()
    let isAwaited = try store.read { transaction in
      try places.contains { try $0.isAwaited(transaction, schema) }
    }
    guard isAwaited else {
      try bookkeep { try WantedValues.remove([value], on: $0.connection) }
      return .here
    }
    let fetched = try await fetch(value, generation: replicaState().generation, beside: 0)
    switch fetched {
    case .here: try takeIn(value, places)
    case .not(let reason):
      try noteMissed(value, reason)
      // The next syncs look whether the zone has it by now.
      try bookkeep {
        try $0.setSetting(Self.missingSetting, .integer(1))
        try WantedValues.remove([value], on: $0.connection)
      }
      tell(.valuesWanted)
    case .noRoom: break
    }
    return fetched
  }

  private func takeIn(_ value: LargeValue, _ places: [NamedPlace]) throws {
    try settling { applier, _ -> Void in
      let connection = applier.transaction.connection
      let rows = try ParkedValues.nameRows(on: connection).filter {
        LargeCell.value(in: $0.value) == value
      }
      for row in rows { try applier.takeIn(row) }
      // What an undo went back to may be noted nowhere.
      for place in places where try place.isAwaited(applier.transaction, schema) {
        try applier.takeIn(place.row(by: applier))
      }
      try WantedValues.remove([value], on: connection)
    }
    try bookkeep { try ValuePieces.trim(on: $0.connection) }
  }

  /// Goes on with what somebody asked for, here or in another process.
  func fetchWanted() async throws {
    let rows = try store.read { transaction -> [ParkedValues.Row] in
      let wanted = try WantedValues.digests(on: transaction.connection)
      guard !wanted.isEmpty else { return [] }
      return try ParkedValues.nameRows(on: transaction.connection).filter {
        LargeCell.value(in: $0.value).map { wanted.contains($0.digest) } ?? false
      }
    }
    var bytes = 0
    for (value, rows) in Dictionary(grouping: rows, by: { LargeCell.value(in: $0.value) }) {
      guard let value, bytes < SyncTuning.mendedValueBytesMax else { continue }
      bytes = bytes.addingClamped(Int(clamping: value.length))
      let places = rows.compactMap { NamedPlace($0, schema) }
      if case .noRoom = try await fetchNow(value, places) { return }
    }
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

/// A property of an object whose value is not here.
private struct NamedPlace {
  let key: ObjectKey
  let property: String
  let slot: Int
  let named: PropertyValue
  let value: LargeValue

  init?(_ row: ParkedValues.Row, _ schema: SyncSchema) {
    guard let value = LargeCell.value(in: row.value),
      let property = schema.entity(numbered: row.key.entity)?.property(named: row.property)
    else { return nil }
    self.init(
      key: row.key, property: property.name, slot: property.slot, named: row.value, value: value)
  }

  private init(
    key: ObjectKey, property: String, slot: Int, named: PropertyValue, value: LargeValue
  ) {
    self.key = key
    self.property = property
    self.slot = slot
    self.named = named
    self.value = value
  }

  /// Those of an object.
  ///
  /// - Parameter name: of one property; nil for all.
  static func all(
    of key: ObjectKey, _ name: String?, _ transaction: ReadTransaction, _ schema: SyncSchema
  ) throws -> [NamedPlace] {
    guard let row = try transaction.knownRow(key),
      let entity = schema.entity(numbered: row.key.entity)
    else { return [] }
    if let name, entity.property(named: name) == nil {
      throw SyncError(
        .unknownElement, "\(entity.name) has no property \(name) that syncs.",
        suggestion: "Its properties: \(entity.properties.map(\.name).joined(separator: ", ")).")
    }
    let parked = try ParkedValues(transaction.connection)
    return try entity.properties.compactMap { property in
      guard name ?? property.name == property.name, case .attribute = property.kind else {
        return nil
      }
      let shown = row.values[property.slot]
      let named = shown.isInZone ? shown : try parked.value(of: row.key, property.name)
      guard let named, let value = LargeCell.value(in: named) else { return nil }
      return NamedPlace(
        key: row.key, property: property.name, slot: property.slot, named: named, value: value)
    }
  }

  func isAwaited(_ transaction: ReadTransaction, _ schema: SyncSchema) throws -> Bool {
    try Self.all(of: key, property, transaction, schema).contains { $0.value == value }
  }

  func row(by applier: PageApplier) -> ParkedValues.Row {
    ParkedValues.Row(
      key: key, property: property, value: named, sequence: 0, sender: applier.replica, reason: "",
      since: applier.now, bytes: 0)
  }
}
