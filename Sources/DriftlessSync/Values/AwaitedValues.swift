public import Driftless
import DriftlessProtocol
import DriftlessSQLite
public import Foundation

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
  /// Why it did not come, where it was asked for in vain: `lost` where the zone lacks it, `absent` where the zone has no bytes of it
  /// and was not told its name, `damaged` where what comes is not what its name says, `refused` where the server does not give it, `room`
  /// where the store's disk had none, `left` where the store left its zone.
  public var reason: String?
}

extension SyncEngine {
  /// The large values that are not here and that objects wait for, in the order of the log. What was set here over one has no need
  /// of it.
  ///
  /// - Throws: `StoreError`; `SyncError` (`damagedState`) where what is set aside cannot be read.
  public static func awaitedValues(of store: PersistentStore) throws -> [AwaitedValue] {
    let schema = SyncSchema(store.schema)
    return try store.read { transaction in
      let connection = transaction.connection
      let wanted = try WantedValues.digests(on: connection)
      let missed = try MissedValues.digests(on: connection)
      return try awaitedPlaces(transaction, schema).compactMap { place in
        guard let entity = schema.entity(numbered: place.key.entity) else { return nil }
        let reason = missed[place.value.digest]
        return AwaitedValue(
          object: try transaction.identity(of: place.key), entity: entity.name,
          property: place.property, bytes: Int64(clamping: place.value.length),
          digest: place.value.name, isWanted: wanted.contains(place.value.digest),
          missingSince: try MissedValues.since(place.value.digest, on: connection),
          reason: reason?.rawValue)
      }
    }
  }

  static func awaitedPlaces(
    _ transaction: ReadTransaction, _ schema: SyncSchema
  ) throws -> [NamedPlace] {
    guard let state = try ReplicaState.load(from: transaction.connection) else {
      return try NamedPlace.all(PendingSet(), transaction, schema)
    }
    let pending = try PendingLoader.load(
      transaction, schema: schema, acknowledged: state.acknowledged)
    return try NamedPlace.all(pending, transaction, schema)
  }

  /// Notes that large values are wanted: the next syncs fetch them, whichever process does them.
  ///
  /// - Parameters:
  ///   - store: the replica.
  ///   - object: the identity of an object; nil for all.
  ///   - entity: the name of an entity, without its subentities; nil for all.
  ///   - key: the name of the property; nil for all.
  /// - Returns: how many values are wanted now, each once however many objects have it.
  /// - Throws: `StoreError`; `SyncError` (`notEnrolled`, `unknownElement`, `damagedState`).
  @discardableResult
  public static func wantValues(
    of store: PersistentStore, object: UUID? = nil, entity: String? = nil, key: String? = nil
  ) throws -> Int {
    let values = try meantValues(of: store, object: object, entity: entity, key: key)
    if values.isEmpty { return try wantedCount(of: store) }
    let count = try noteWanted(of: store) { transaction in
      try WantedValues.ask(values.sorted(), in: transaction)
    }
    store.ring()
    return count
  }

  /// Takes back that large values are wanted: no sync fetches them until somebody asks again.
  ///
  /// - Parameters:
  ///   - store: the replica.
  ///   - object: the identity of an object; nil for all.
  ///   - entity: the name of an entity, without its subentities; nil for all.
  ///   - key: the name of the property; nil for all.
  /// - Returns: how many values are wanted still, each once however many objects have it.
  /// - Throws: `StoreError`; `SyncError` (`notEnrolled`, `unknownElement`, `damagedState`).
  @discardableResult
  public static func takeBackWanted(
    of store: PersistentStore, object: UUID? = nil, entity: String? = nil, key: String? = nil
  ) throws -> Int {
    let isAll = object == nil && entity == nil && key == nil
    let values = try meantValues(of: store, object: object, entity: entity, key: key)
    let count = try wantedCount(of: store)
    let waitsForRoom = try store.read { transaction in
      try values.contains {
        try MissedValues.reason($0.digest, on: transaction.connection) == .room
      }
    }
    // Nothing is to be written, for which a full disk may have no room.
    if count == 0, !waitsForRoom { return 0 }
    return try noteWanted(of: store) { transaction in
      let connection = transaction.connection
      // What nobody asks for waits for no room. What the store fetches by itself says so again.
      for value in values {
        guard try MissedValues.reason(value.digest, on: connection) == .room else { continue }
        try MissedValues.forget(value.digest, on: connection)
      }
      if isAll { return try WantedValues.forgetAll(on: connection) }
      try WantedValues.remove(values, on: connection)
    }
  }

  private static func noteWanted(
    of store: PersistentStore, _ body: (WriteTransaction) throws -> Void
  ) throws -> Int {
    try noting("which large values are asked for", in: store) { transaction in
      guard try transaction.isReplica else { throw SyncError.notEnrolled(store.label) }
      try EngineTables.create(in: transaction)
      try body(transaction)
      return try WantedValues.count(on: transaction.connection)
    }
  }

  /// How many values somebody asked for that have not come.
  private static func wantedCount(of store: PersistentStore) throws -> Int {
    try store.read { transaction in
      guard try transaction.isReplica else { throw SyncError.notEnrolled(store.label) }
      return try WantedValues.digests(on: transaction.connection).count
    }
  }

  /// - Throws: `SyncError` (`unknownElement`) where the model, or the store, does not have what is named.
  private static func meantValues(
    of store: PersistentStore, object: UUID?, entity: String?, key: String?
  ) throws -> Set<LargeValue> {
    try SyncSchema(store.schema).requireKnown(entity: entity, property: key)
    if let object { try store.read { try requireObject(object, $0) } }
    let meant = try awaitedValues(of: store).filter {
      object ?? $0.object == $0.object && entity ?? $0.entity == $0.entity
        && key ?? $0.property == $0.property
    }
    return Set(
      meant.compactMap { value in
        LargeValue.digest(named: value.digest)
          .flatMap { LargeValue(digest: $0, length: UInt64(clamping: value.bytes)) }
      })
  }

  /// - Throws: `SyncError` (`unknownElement`) where the store does not have the object.
  static func requireObject(_ object: UUID, _ transaction: ReadTransaction) throws {
    let key = try transaction.key(of: object)
    guard try key.flatMap({ try transaction.concreteKey(root: $0) }) == nil else { return }
    throw SyncError(
      .unknownElement, "There is no object \(object.uuidString.lowercased()) here.",
      suggestion: "syncctl values list shows those whose values are not here.")
  }

  /// How many large values somebody asked for, and objects wait for, have not come yet, each once however many objects have it.
  /// - Throws: `StoreError`; `SyncError` (`damagedState`).
  public static func wantedValues(of store: PersistentStore) throws -> Int {
    let schema = SyncSchema(store.schema)
    return try store.read { transaction in
      let wanted = try WantedValues.digests(on: transaction.connection)
      guard !wanted.isEmpty else { return 0 }
      return try Set(awaitedPlaces(transaction, schema).map(\.value.digest))
        .intersection(wanted).count
    }
  }

  /// What kept large values from coming that somebody asked for, or that come with the change that names them, in the last sync; nil
  /// where nothing did.
  /// - Throws: `StoreError`.
  public static func wantedFailure(of store: PersistentStore) throws -> SyncStatus.Failure? {
    guard
      case .text(let text)? = try store.read({ try $0.setting(WantedValues.failureSetting) })
    else { return nil }
    return decodeFailure(text)
  }

  /// How many bytes of large values are here that are not where they belong: of what is being fetched, and of what is being sent.
  /// - Throws: `StoreError`.
  package static func valueBytesUnderWay(of store: PersistentStore) throws -> Int {
    try store.read { try ValuePieces.byteCount(on: $0.connection) }
  }

  /// Those of some values that their objects have by now.
  /// - Throws: `StoreError`.
  public static func arrived(
    _ values: [AwaitedValue], in store: PersistentStore
  ) throws -> [AwaitedValue] {
    let schema = SyncSchema(store.schema)
    return try store.read { transaction in
      try values.filter { value in
        guard let key = try transaction.key(of: value.object),
          let row = try transaction.knownRow(key),
          let slot = schema.entity(numbered: row.key.entity)?.property(named: value.property)?.slot
        else { return false }
        let shown = row.values[slot]
        if case .data(let data) = shown, !shown.isInZone { return Int64(data.count) == value.bytes }
        return !shown.isNull && !shown.isInZone
      }
    }
  }
}

extension SyncSchema {
  /// - Throws: `SyncError` (`unknownElement`) where the model does not have what is named.
  func requireKnown(entity: String?, property: String?) throws {
    func unknown(_ what: String, _ names: [String]) -> SyncError {
      SyncError(
        .unknownElement, what, suggestion: "There are: \(names.sorted().joined(separator: ", ")).")
    }
    let meant = entities.filter { (entity ?? $0.name) == $0.name }
    if let entity, meant.isEmpty {
      throw unknown("The model has no entity \(entity).", entities.map(\.name))
    }
    guard let property, !meant.contains(where: { $0.property(named: property) != nil }) else {
      return
    }
    throw unknown(
      "\(entity ?? "No entity") has \(entity == nil ? "a" : "no") property \(property) that syncs.",
      Array(Set(meant.flatMap { $0.properties.map(\.name) })))
  }
}
