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
  /// Why something that was asked for could not be done: the model has no such entity or property any more, or the store no such object.
  /// Nil where all was done.
  public var refusal: String?
  /// Whether none of what was meant is fetched on first use on this replica, by its model or a setting: then all of it is kept here.
  /// Nil where some of it is.
  public var keepsAll: Bool?
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
    return try await operation(telling: .contact) {
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
    return try await operation(telling: .contact) {
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
    let asked = LetGoRequest(object: object, entity: entity, property: key, keeping: bytesMax)
    let schema = SyncSchema(store.schema)
    try noting("which large values are to be let go of", in: store) { transaction in
      var request = asked
      guard try transaction.isReplica else { throw SyncError.notEnrolled(store.label) }
      try request.check(transaction, schema)
      let waiting = try LetGoRequest.waiting(transaction)
      let last = waiting.lazy.compactMap(\.number).max() ?? 0
      request.number = last < .max ? max(0, last) + 1 : 1
      try transaction.setSetting(
        LetGoRequest.setting,
        try LetGoRequest.text(waiting: waiting.filter { !$0.isLike(request) } + [request]))
      try transaction.setSetting(LetGoRequest.doneSetting, nil)
      // A program of before, which counts by itself, may have done what waited.
      if waiting.isEmpty { try transaction.setSetting(LetGoRequest.begunSetting, nil) }
    }
    store.ring()
  }

  /// What was let go of as ``askToLetGo(of:object:entity:key:keeping:)`` asked since the last sync that did so; nil while none has.
  /// - Throws: `StoreError`.
  public static func letGoReport(of store: PersistentStore) throws -> LetGoReport? {
    try store.read { try LetGoRequest.report(LetGoRequest.doneSetting, $0) }
  }

  /// What was let go of so far of what ``askToLetGo(of:object:entity:key:keeping:)`` asked for and is not done; nil for nothing.
  /// - Throws: `StoreError`.
  package static func letGoSoFar(of store: PersistentStore) throws -> LetGoReport? {
    try store.read { try LetGoRequest.report(LetGoRequest.begunSetting, $0) }
  }

  /// Does what somebody asked for, here or in another process. What cannot be done ends with its reason.
  func letGoAsked() async throws {
    var waiting = try store.read { try LetGoRequest.waiting($0) }
    guard !waiting.isEmpty else { return }
    valueTurn.restart(ofParts: 2)
    while !waiting.isEmpty {
      var done: [LetGoRequest] = []
      var report = LetGoReport()
      for request in waiting {
        do {
          try store.read { try request.check($0, schema) }
          // The rest goes on with the next sync.
          guard var stays = try await letGo(as: request) else { break }
          stays.keepsAll = stays.keepsAll ?? false
          report.add(stays)
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
        var sum = try LetGoRequest.add(report, transaction)
        if rest.isEmpty {
          if sum.keepsAll == false { sum.keepsAll = nil }
          try transaction.setSetting(LetGoRequest.doneSetting, try LetGoRequest.text(sum))
          try transaction.setSetting(LetGoRequest.begunSetting, nil)
        }
        return rest
      }
      guard isAll else { return }
    }
    valueMemory.notInZone = []
  }

  /// - Returns: what stays; what goes is counted as it does. Nil where the rest goes on with the next sync.
  private func letGo(as request: LetGoRequest) async throws -> LetGoReport? {
    let key = try store.read { transaction in
      try request.object.flatMap { try transaction.key(of: $0) }
    }
    let entity = schema.entities.first { $0.name == request.entity }
    if try keepsAll(of: request.entity, request.property) { return LetGoReport(keepsAll: true) }
    let report = try await letGo(request.property, keeping: request.keeping, isAsked: true) {
      if let key, schema.rooted(key) != schema.rooted($0) { return false }
      return entity == nil || $0.entity == entity?.number
    }
    return report?.stays
  }

  /// Whether no value of an entity, or of a property, may wait in the zone; nil for any.
  private func keepsAll(of entity: String?, _ property: String?) throws -> Bool {
    let timing = try store.read { try ValueTiming(options, $0) }
    return !schema.entities.contains {
      (entity ?? $0.name) == $0.name
        && $0.properties.contains { (property ?? $0.name) == $0.name && timing.waits($0) }
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

  /// - Parameter isAsked: whether what goes is counted for who asked for it.
  /// - Returns: nil where the rest goes on with the next sync.
  private func letGo(
    _ key: String?, keeping bytesMax: Int64, isAsked: Bool = false, of isMeant: (ObjectKey) -> Bool
  ) async throws -> LetGoReport? {
    try schema.requireKnown(entity: nil, property: key)
    let places = try store.read { transaction in
      try HeldPlace.all(
        key, keeping: bytesMax, bytesMin: options.largeValueBytesMin,
        ValueTiming(options, transaction), schema, transaction, of: isMeant)
    }
    guard !places.isEmpty else {
      return LetGoReport(keepsAll: try keepsAll(of: nil, key) ? true : nil)
    }
    // Others read as much.
    valueTurn.restart(ofParts: 2)
    let generation = try replicaState().generation
    guard let unknown = try await learnNames(of: places),
      let lacking = try await askInTurn({ try await self.lostValues(of: generation) })
    else { return letGoLater() }
    // One value at least goes on, whatever it took to hear that.
    valueTurn.restart()
    var course = LetGoCourse(isAsked: isAsked, generation: generation, lacking: lacking)
    for place in places {
      try Task.checkCancellation()
      let named = try store.read { transaction in
        try place.value(
          pendingSet(transaction, state: Self.state(on: transaction.connection, of: store)),
          transaction)
      }
      guard let named else {
        course.report.keep(place.bytes)
        if unknown.contains(place.cell) {
          course.report.unknown = (course.report.unknown ?? 0) + 1
        }
        continue
      }
      guard let isHeld = try await isHeld(named, &course) else {
        try letGo(&course)
        return letGoLater()
      }
      guard isHeld else {
        course.report.keep(place.bytes)
        continue
      }
      course.ready.append((place, named))
      if course.ready.count >= SyncTuning.letGoAtOnce { try letGo(&course) }
    }
    try letGo(&course)
    return course.report
  }

  private func letGoLater() -> LetGoReport? {
    valueTurn.noteLetGoLeft()
    return nil
  }

  /// Whether the zone has a value, whole: its last byte is there. What it has not is remembered for the turns that follow.
  ///
  /// - Returns: nil where the turn of the sync is over.
  private func isHeld(_ value: LargeValue, _ course: inout LetGoCourse) async throws -> Bool? {
    if let told = course.known[value] { return told }
    guard !course.lacking.contains(value), !valueMemory.notInZone.contains(value) else {
      return false
    }
    let last = Int(clamping: value.length) - 1
    let (transport, generation) = (transport, course.generation)
    do {
      let byte = try await askInTurn {
        try await transport.value(value.digest, of: generation, range: last..<last + 1)
      }
      guard let byte else { return nil }
      course.known[value] = byte.count == 1
      return byte.count == 1
    } catch let error as ProtocolError where error.code == .noValue {
      if course.isAsked { valueMemory.notInZone.insert(value) }
      course.known[value] = false
      return false
    }
  }

  /// Puts names in the places of values. Where the disk has no room for so many at once, it is fewer: what went before has made
  /// some.
  private func letGo(_ course: inout LetGoCourse) throws {
    var count = course.ready.count
    var isTriedAgain = false
    while !course.ready.isEmpty {
      do {
        let gone = try letGo(first: count, &course)
        giveBackRoom(of: gone.bytes)
        isTriedAgain = false
      } catch let error as StoreError where error.code == .diskFull {
        // The log has given back what it had.
        guard count > 1 || !isTriedAgain else { throw error }
        isTriedAgain = count == 1
        count = max(1, count / 2)
      }
    }
  }

  /// Those of some places, in one transaction. What was edited, or came, since it was looked at stays.
  private func letGo(first count: Int, _ course: inout LetGoCourse) throws -> LetGoReport {
    let ready = course.ready.prefix(count)
    let (isAsked, generation) = (course.isAsked, course.generation)
    let now = try settling { applier, state -> LetGoReport in
      guard state.generation == generation else { throw SyncError.otherLog }
      var report = LetGoReport()
      let transaction = applier.transaction
      for (place, value) in ready {
        guard try place.value(applier.pending, transaction) == value else {
          report.keep(place.bytes)
          continue
        }
        // The zone has it.
        try transaction.connection.leavingPages {
          try place.letGo(value, by: applier, at: state.cursor)
        }
        report.values += 1
        report.bytes += place.bytes
      }
      if isAsked { _ = try LetGoRequest.add(report.gone, transaction) }
      return report
    }
    course.ready.removeFirst(ready.count)
    course.report.add(now)
    log.notice("Let go of \(now.values) large values of \(now.bytes) bytes")
    return now
  }
}

/// How far it has come.
private struct LetGoCourse {
  let isAsked: Bool
  let generation: UUID
  /// What the zone says that it lacks.
  let lacking: Set<LargeValue>
  /// What it says of others.
  var known: [LargeValue: Bool] = [:]
  var ready: [(place: HeldPlace, value: LargeValue)] = []
  var report = LetGoReport()
}

extension LetGoReport {
  /// What went, alone.
  fileprivate var gone: LetGoReport { LetGoReport(values: values, bytes: bytes) }

  /// The rest.
  fileprivate var stays: LetGoReport {
    var stays = self
    (stays.values, stays.bytes) = (0, 0)
    return stays
  }

  fileprivate mutating func keep(_ count: Int64) {
    kept += 1
    bytesKept += count
  }

  mutating func add(_ other: LetGoReport) {
    values += other.values
    bytes += other.bytes
    kept += other.kept
    bytesKept += other.bytesKept
    if let count = other.unknown { unknown = (unknown ?? 0) + count }
    refusal = other.refusal ?? refusal
    // Of several that were asked for, one that does not keep all is enough; one that says nothing of it was not done, or is not yet.
    if let other = other.keepsAll { keepsAll = (keepsAll ?? true) && other }
  }
}
