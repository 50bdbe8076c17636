import Foundation
import SwiftProtobuf

// What the index section says beside the changes: names and origins of transactions, what the
// change set relies on, claims and tombstones.

extension IndexCodec {
  // MARK: - Names and origins

  /// Empty when all are 0.
  static func drawnNames(_ names: [UInt64]) -> Data {
    guard names.contains(where: { $0 != 0 }) else { return Data() }
    var data = Data(capacity: names.count * 8)
    for name in names { withUnsafeBytes(of: name.littleEndian) { data.append(contentsOf: $0) } }
    return data
  }

  static func readDrawnNames(_ data: Data, count: Int) throws(ProtocolError) -> [UInt64] {
    guard data.count % 8 == 0, data.count / 8 == count else {
      throw .malformed("Names of transactions are not in their format")
    }
    return data.withUnsafeBytes { bytes in
      (0..<count).map {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self))
      }
    }
  }

  static func write(origins: [UUID?], to wire: inout WireTransactions) {
    guard origins.contains(where: { $0 != nil }) else { return }
    var replicas: [UUID] = []
    var places: [UUID: UInt64] = [:]
    let used = origins.map { origin -> UInt64 in
      guard let origin else { return 0 }
      if let place = places[origin] { return place }
      replicas.append(origin)
      places[origin] = UInt64(replicas.count)
      return UInt64(replicas.count)
    }
    wire.origins = Packing.varints(count: used.count) { used[$0] }
    wire.originReplicas = Data.of(replicas)
  }

  static func readOrigins(
    _ wire: WireTransactions, into transactions: inout [ChangeSetIndex.Transaction]
  ) throws(ProtocolError) {
    guard !wire.origins.isEmpty else { return }
    let count = wire.originReplicas.count / 16
    guard let replicas = wire.originReplicas.uuids(count: count) else {
      throw .malformed("The origins of transactions are not in their format")
    }
    let isWhole = Packing.readVarints(wire.origins, count: transactions.count) { place, origin in
      guard origin > 0 else { return true }
      guard origin <= UInt64(replicas.count) else { return false }
      transactions[place].origin = replicas[Int(origin) - 1]
      return true
    }
    guard isWhole else { throw .malformed("A transaction names an origin that is not there") }
  }

  static func covered(_ covered: [ChangeSetIndex.CoveredTransaction]) -> WireCovered {
    .with {
      $0.count = UInt32(clamping: covered.count)
      $0.drawnNames = drawnNames(covered.map(\.name))
      let partial = RowBitmap(covered.indices.lazy.filter { covered[$0].isPartial })
      $0.partial = Data(partial.bytes)
    }
  }

  static func covered(
    _ wire: WireCovered, limits: ChangeSetLimits
  ) throws(ProtocolError) -> [ChangeSetIndex.CoveredTransaction] {
    let count = Int(wire.count)
    guard count <= limits.transactionsMax else {
      throw .tooLarge("The change set covers \(count) transactions (transactionsMax)")
    }
    let partial = RowBitmap(bytes: Array(wire.partial))
    guard partial.end <= count else {
      throw .malformed("More transactions are covered in part than are covered")
    }
    let names = try readDrawnNames(wire.drawnNames, count: count)
    guard !names.contains(0) else { throw .malformed("A covered transaction has no name") }
    return names.enumerated().map { .init(name: $1, isPartial: partial.contains($0)) }
  }

  // MARK: - Reliances and claims

  static func reliance(_ reliance: ChangeSetIndex.Reliance) -> WireReliance {
    .with {
      $0.entity = UInt32(clamping: reliance.entity)
      $0.properties = varints(reliance.properties)
      $0.count = UInt32(clamping: reliance.objects.count)
      ($0.first, $0.objects) = objects(reliance.objects)
    }
  }

  static func relied(
    _ wire: [WireReliance], limits: ChangeSetLimits
  ) throws(ProtocolError) -> [ChangeSetIndex.Reliance] {
    var relied: [ChangeSetIndex.Reliance] = []
    relied.reserveCapacity(wire.count)
    var room = GroupRoom(limits)
    for reliance in wire {
      let properties = try readProperties(reliance.properties, room: room)
      try room.take(rows: Int(reliance.count), columns: properties.count)
      relied.append(
        .init(
          entity: Int(reliance.entity), properties: properties,
          objects: try readObjects(reliance.objects, reliance.first, count: reliance.count)))
    }
    return relied
  }

  static func claims(_ claims: ChangeSetIndex.KeyClaims) -> WireKeyClaims {
    .with {
      $0.entity = UInt32(clamping: claims.entity)
      $0.properties = varints(claims.properties)
      $0.keyID = claims.keyID
      $0.count = UInt32(clamping: claims.objects.count)
      ($0.first, $0.objects) = objects(claims.objects)
      var hashes = Data(capacity: claims.hashes.count * KeyHash.size)
      for hash in claims.hashes { hash.append(to: &hashes) }
      $0.hashes = hashes
    }
  }

  static func claims(
    _ wire: [WireKeyClaims], limits: ChangeSetLimits
  ) throws(ProtocolError) -> [ChangeSetIndex.KeyClaims] {
    var claims: [ChangeSetIndex.KeyClaims] = []
    claims.reserveCapacity(wire.count)
    var room = GroupRoom(limits)
    for claim in wire {
      let properties = try readProperties(claim.properties, room: room)
      try room.take(rows: Int(claim.count), columns: properties.count)
      claims.append(
        .init(
          entity: Int(claim.entity), properties: properties, keyID: claim.keyID,
          objects: try readObjects(claim.objects, claim.first, count: claim.count),
          hashes: try readHashes(claim.hashes, count: Int(claim.count))))
    }
    return claims
  }

  private static func readHashes(_ data: Data, count: Int) throws(ProtocolError) -> [KeyHash] {
    guard data.count % KeyHash.size == 0, data.count / KeyHash.size == count else {
      throw .malformed("Claims and their hashes differ in number")
    }
    return stride(from: 0, to: data.count, by: KeyHash.size).compactMap {
      KeyHash(bytes: data.dropFirst($0).prefix(KeyHash.size))
    }
  }

  // MARK: - Tombstones

  static func tombstones(_ tombstones: [ChangeSetIndex.Tombstone]) -> WireTombstones {
    .with {
      $0.count = UInt32(clamping: tombstones.count)
      $0.identities = Data.of(tombstones.map(\.identity))
      $0.entities = varints(tombstones.map(\.entity))
      $0.hybridTimes = Packing.deltas(tombstones.map { Int64(bitPattern: $0.hybridTime) })
    }
  }

  static func tombstones(
    _ wire: WireTombstones, limits: ChangeSetLimits
  ) throws(ProtocolError) -> [ChangeSetIndex.Tombstone] {
    let count = Int(wire.count)
    guard count <= limits.objectsMax else {
      throw .tooLarge("The change set has \(count) tombstones (objectsMax)")
    }
    guard let identities = wire.identities.uuids(count: count),
      let entities = Packing.readAllVarints(wire.entities, countMax: count),
      entities.count == count,
      let times = Packing.readDeltas(wire.hybridTimes, count: count)
    else { throw .malformed("The tombstones are not in their format") }
    return (0..<count).map {
      .init(
        identity: identities[$0], entity: Int(clamping: entities[$0]),
        hybridTime: UInt64(bitPattern: times[$0]))
    }
  }

  // MARK: - Shared with groups

  static func varints(_ numbers: [Int]) -> Data {
    Packing.varints(count: numbers.count) { UInt64(clamping: numbers[$0]) }
  }

  /// The fields `first` and `objects` of a message.
  static func objects(_ indexes: ObjectIndexes) -> (first: UInt32, objects: Data) {
    if let run = indexes.run { return (UInt32(clamping: run.lowerBound), Data()) }
    return (0, ascending(count: indexes.count) { UInt64(clamping: indexes[$0]) })
  }

  static func readObjects(
    _ objects: Data, _ first: UInt32, count: UInt32
  ) throws(ProtocolError) -> ObjectIndexes {
    let count = Int(count)
    guard !objects.isEmpty else { return ObjectIndexes(Int(first)..<Int(first) + count) }
    var list: [Int32] = []
    list.reserveCapacity(min(count, objects.count))
    var previous: UInt64 = 0
    let isWhole = Packing.readVarints(objects, count: count) { place, delta in
      guard delta <= UInt64(Int32.max), place == 0 || delta > 0 else { return false }
      previous += delta
      guard previous <= UInt64(Int32.max) else { return false }
      list.append(Int32(truncatingIfNeeded: previous))
      return true
    }
    guard isWhole else { throw .malformed("The objects of a group do not ascend") }
    return ObjectIndexes(list)
  }

  static func readProperties(_ data: Data, room: GroupRoom) throws(ProtocolError) -> [Int] {
    guard let properties = Packing.readAllVarints(data, countMax: room.columns) else {
      throw .malformed("The properties of a group are too many or not in their format")
    }
    return properties.map { Int(clamping: $0) }
  }
}
