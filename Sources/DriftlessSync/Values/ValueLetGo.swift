public import Driftless
import DriftlessProtocol
import DriftlessSQLite
public import Foundation
import Logging

/// What letting go of large values did.
public struct LetGoReport: Hashable, Sendable, Codable {
  /// Values of objects that are in the zone alone now.
  public var values = 0
  /// Bytes of those, as often as objects had them.
  public var bytes: Int64 = 0
  /// Values that were to go and stayed: the zone does not have them by themselves, or has not taken the edit that set them.
  public var kept = 0
  /// Bytes of those.
  public var bytesKept: Int64 = 0
  /// Those of them of which the zone did not say whether it has them by themselves, and this store does not know it: a program of
  /// before took them in. Asked again, it may.
  public var unknown: Int?
  /// Why nothing of what was asked for could be done: the model has no such entity or property any more, or the store no such object.
  /// Nil where it was done.
  public var refusal: String?
}

/// Which large values are to be let go of, as the store keeps it until an engine has done so.
struct LetGoRequest: Codable, Equatable {
  /// There while it waits: which ones.
  static let setting = "sync.values.letGo"
  /// There once it is done: what was done.
  static let doneSetting = "sync.values.letGone"

  var object: UUID?
  var entity: String?
  var property: String?
  var keeping: Int64 = 0
  /// Another one than all that wait have: one that is asked for again while it is done is done once more. Nil of a program of before.
  var number: Int64?

  /// What waits, in the order in which it was asked for; nil for a text that is none of it.
  static func decode(_ text: String) -> [LetGoRequest]? {
    let data = Data(text.utf8)
    if let one = try? JSONDecoder().decode(LetGoRequest.self, from: data) { return [one] }
    return try? JSONDecoder().decode([LetGoRequest].self, from: data)
  }

  /// One alone as a program of before has it, which may sync the store beside this one.
  static func text(waiting requests: [LetGoRequest]) throws -> SQLiteValue? {
    guard requests.count > 1 else { return try requests.first.map { try text($0) } }
    return try text(requests)
  }

  /// What waits in a store.
  static func waiting(_ transaction: ReadTransaction) throws -> [LetGoRequest] {
    guard case .text(let text)? = try transaction.setting(setting) else { return [] }
    return decode(text) ?? []
  }

  /// - Throws: `SyncError` (`unknownElement`) where the model, or the store, does not have what is named.
  func check(_ transaction: ReadTransaction, _ schema: SyncSchema) throws {
    try schema.requireKnown(entity: entity, property: property)
    guard let object else { return }
    try SyncEngine.requireObject(object, transaction)
  }

  /// Whether another one means the same values.
  func isLike(_ other: LetGoRequest) -> Bool {
    var other = other
    other.number = number
    return self == other
  }

  static func decodeReport(_ text: String) -> LetGoReport? {
    try? JSONDecoder().decode(LetGoReport.self, from: Data(text.utf8))
  }

  static func text(_ value: some Encodable) throws -> SQLiteValue {
    .text(String(decoding: try JSONEncoder().encode(value), as: UTF8.self))
  }
}

/// Letting go of large values that the zone has: their objects show them as in the zone, and fetch them again when somebody asks.
extension SyncEngine {
  /// Lets go of large values that are fetched on first use, so that they take no room here: those of all objects, or of those of an
  /// entity that a predicate finds. Contexts hear of it as of a merge, and no other replica does.
  ///
  /// ```swift
  /// let old = try FetchPredicate(format: "taken < %@", lastYear)
  /// try await engine.letGoValues(of: "Photo", where: old)
  /// ```
  /// A value goes only once the zone was asked and has it by itself, for its object, and only where nothing of it waits to be sent. What was encrypted stays,
  /// since the zone has it under a name that nobody keeps, and so does what no model or setting says is fetched on first use.
  ///
  /// - Parameters:
  ///   - entity: The name of an entity, with its subentities; nil for all.
  ///   - predicate: Which of its objects; nil for all.
  ///   - key: The name of the property; nil for all.
  ///   - bytesMax: So many bytes of what is meant stay, those of the objects that were made last here.
  /// - Returns: what went, and what was to go and stayed.
  /// - Throws: `SyncError` (`notEnrolled`, `unknownElement`), `ProtocolError`, `StoreError` (`syncLocked` while another process syncs the
  ///   store: ``askToLetGo(of:object:entity:key:keeping:)``), `FetchError`, `CancellationError`. What went until then is gone.
  @discardableResult
  public func letGoValues(
    of entity: String? = nil, where predicate: FetchPredicate? = nil, key: String? = nil,
    keeping bytesMax: Int64 = 0
  ) async throws -> LetGoReport {
    let meant = try store.read { try meantObjects(of: entity, where: predicate, $0) }
    return try await operation {
      try self.lock()
      // Beside no sync it goes to its end.
      return try await self.letGo(key, keeping: bytesMax) { meant?.contains($0) ?? true }
        ?? LetGoReport()
    }
  }

  /// Lets go of the large values of an object, or of one property of it.
  ///
  /// - Parameters:
  ///   - object: An object that was saved.
  ///   - key: The name of the property; nil for all.
  /// - Returns: what went, and what was to go and stayed.
  /// - Throws: as ``letGoValues(of:where:key:keeping:)``.
  @discardableResult
  public func letGo(_ object: ManagedObjectID, key: String? = nil) async throws -> LetGoReport {
    guard !object.isTemporaryID, object.storeIdentifier == store.identifier else {
      throw SyncError(
        .unknownElement, "\(object) is no object of the store \(store.label).",
        suggestion: "Save the object first, and ask the engine of its store.")
    }
    return try await operation {
      try self.lock()
      return try await self.letGo(key, keeping: 0) { $0 == object.key } ?? LetGoReport()
    }
  }

  /// Notes that large values are to be let go of: the next sync does so, whichever process does it, and after what was asked for before.
  ///
  /// - Parameters:
  ///   - store: the replica.
  ///   - object: the identity of an object; nil for all.
  ///   - entity: the name of an entity, without its subentities; nil for all.
  ///   - key: the name of the property; nil for all.
  ///   - bytesMax: so many bytes of what is meant stay, those of the objects that were made last here.
  /// - Throws: `SyncError` (`notEnrolled`, `unknownElement`), `StoreError`.
  public static func askToLetGo(
    of store: PersistentStore, object: UUID? = nil, entity: String? = nil, key: String? = nil,
    keeping bytesMax: Int64 = 0
  ) throws {
    let info = TransactionInfo(author: importAuthor, kind: .imported)
    var request = LetGoRequest(object: object, entity: entity, property: key, keeping: bytesMax)
    let schema = SyncSchema(store.schema)
    _ = try store.write(info) { transaction in
      guard try transaction.isReplica else { throw SyncError.notEnrolled(store.label) }
      try request.check(transaction, schema)
      let waiting = try LetGoRequest.waiting(transaction)
      let last = waiting.lazy.compactMap(\.number).max() ?? 0
      request.number = last < .max ? max(0, last) + 1 : 1
      try transaction.setSetting(
        LetGoRequest.setting,
        try LetGoRequest.text(waiting: waiting.filter { !$0.isLike(request) } + [request]))
      try transaction.setSetting(LetGoRequest.doneSetting, nil)
    }
    store.ring()
  }

  /// What was let go of as ``askToLetGo(of:object:entity:key:keeping:)`` asked since the last sync that did so; nil while none has.
  /// - Throws: `StoreError`.
  public static func letGoReport(of store: PersistentStore) throws -> LetGoReport? {
    guard case .text(let text)? = try store.read({ try $0.setting(LetGoRequest.doneSetting) })
    else { return nil }
    return LetGoRequest.decodeReport(text)
  }

  /// Does what somebody asked for, here or in another process. What cannot be done ends with its reason.
  func letGoAsked() async throws {
    var waiting = try store.read { try LetGoRequest.waiting($0) }
    var report = valueMemory.letGo
    while !waiting.isEmpty {
      var done: [LetGoRequest] = []
      for request in waiting {
        do {
          try store.read { try request.check($0, schema) }
          // The rest goes on with the next sync.
          guard let gone = try await letGo(as: request) else { break }
          report.add(gone)
        } catch let error as SyncError where error.code == .unknownElement {
          report.refusal = error.message
        }
        done.append(request)
      }
      let isAll = done.count == waiting.count
      waiting = try bookkeep { transaction in
        // Somebody may have asked for something meanwhile, also for the same once more.
        let rest = try LetGoRequest.waiting(transaction).filter { !done.contains($0) }
        try transaction.setSetting(
          LetGoRequest.setting, try LetGoRequest.text(waiting: rest))
        if rest.isEmpty {
          try transaction.setSetting(LetGoRequest.doneSetting, try LetGoRequest.text(report))
        }
        return rest
      }
      valueMemory.letGo = waiting.isEmpty ? LetGoReport() : report
      guard isAll else { return }
    }
  }

  private func letGo(as request: LetGoRequest) async throws -> LetGoReport? {
    let key = try store.read { transaction in
      try request.object.flatMap { try transaction.key(of: $0) }
    }
    let entity = schema.entities.first { $0.name == request.entity }
    return try await letGo(request.property, keeping: request.keeping) { meant in
      if let key, schema.rooted(key) != schema.rooted(meant) { return false }
      return entity == nil || meant.entity == entity?.number
    }
  }

  /// The objects of an entity that a predicate finds; nil for all.
  func meantObjects(
    of entity: String?, where predicate: FetchPredicate?, _ transaction: ReadTransaction
  ) throws -> Set<ObjectKey>? {
    guard let entity else { return nil }
    guard let description = store.schema.entities.first(where: { $0.name == entity }) else {
      throw SyncError(
        .unknownElement, "The model has no entity \(entity).",
        suggestion: "Its entities: \(schema.entities.map(\.name).joined(separator: ", ")).")
    }
    return try Set(transaction.keys(of: description, where: predicate))
  }

  // MARK: - One after the other

  private func letGo(
    _ key: String?, keeping bytesMax: Int64, of isMeant: (ObjectKey) -> Bool
  ) async throws -> LetGoReport? {
    try schema.requireKnown(entity: nil, property: key)
    let places = try store.read { transaction in
      try HeldPlace.all(
        key, keeping: bytesMax, bytesMin: options.largeValueBytesMin,
        ValueTiming(options, transaction), schema, transaction, of: isMeant)
    }
    var report = LetGoReport()
    guard !places.isEmpty else { return report }
    let generation = try replicaState().generation
    guard let unknown = try await learnNames(of: places) else { return nil }
    let lacking = try await lostValues(of: generation)
    var known: [LargeValue: Bool] = [:]
    var ready: [(place: HeldPlace, value: LargeValue)] = []
    for place in places {
      try Task.checkCancellation()
      var isHeld = false
      let named = try store.read { transaction in
        try place.value(
          pendingSet(transaction, state: Self.state(on: transaction.connection, of: store)),
          transaction)
      }
      if let named, !lacking.contains(named) {
        if let told = known[named] {
          isHeld = told
        } else {
          isHeld = try await zoneHas(named, generation)
          known[named] = isHeld
        }
      }
      guard let named, isHeld else {
        report.keep(place.bytes)
        if named == nil, unknown.contains(place.cell) { report.unknown = (report.unknown ?? 0) + 1 }
        continue
      }
      ready.append((place, named))
      if ready.count >= SyncTuning.letGoAtOnce { try letGo(&ready, generation, &report) }
    }
    try letGo(&ready, generation, &report)
    if report.values > 0 {
      log.notice("Let go of \(report.values) large values of \(report.bytes) bytes")
    }
    return report
  }

  /// Whether the zone has a value, whole: its last byte is there.
  private func zoneHas(_ value: LargeValue, _ generation: UUID) async throws -> Bool {
    let length = Int(clamping: value.length)
    do {
      let last = try await transport.value(
        value.digest, of: generation, range: length - 1..<length)
      return last.count == 1
    } catch let error as ProtocolError where error.code == .noValue {
      return false
    }
  }

  /// Puts names in the places of values, in one transaction. What was edited, or came, since it was looked at stays.
  private func letGo(
    _ ready: inout [(place: HeldPlace, value: LargeValue)], _ generation: UUID,
    _ report: inout LetGoReport
  ) throws {
    guard !ready.isEmpty else { return }
    let done = report
    report = try settling { applier, state -> LetGoReport in
      guard state.generation == generation else { throw SyncError.otherLog }
      var report = done
      for (place, value) in ready {
        let transaction = applier.transaction
        guard try place.value(applier.pending, transaction) == value else {
          report.keep(place.bytes)
          continue
        }
        try place.letGo(value, by: applier, at: state.cursor)
        report.values += 1
        report.bytes += place.bytes
      }
      return report
    }
    ready = []
  }
}

extension LetGoReport {
  fileprivate mutating func keep(_ count: Int64) {
    kept += 1
    bytesKept += count
  }

  fileprivate mutating func add(_ other: LetGoReport) {
    values += other.values
    bytes += other.bytes
    kept += other.kept
    bytesKept += other.bytesKept
    if let count = other.unknown { unknown = (unknown ?? 0) + count }
  }
}
