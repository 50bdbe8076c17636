import Foundation
import SwiftProtobuf

/// The index section: `IndexSection` of `ChangeSet.proto`.
///
/// `ChangeSetRules` checks what the numbers mean; this checks that they can be read within bounds.
enum IndexCodec {
  // MARK: - Writing

  static func encode(_ index: ChangeSetIndex) throws(ProtocolError) -> [UInt8] {
    var section = WireIndexSection()
    section.entities = index.entities.map { entity in
      .with {
        $0.name = entity.name
        $0.properties = entity.properties
      }
    }
    section.newObjects = index.newObjects.map { run in
      .with {
        $0.entity = UInt32(clamping: run.entity)
        $0.count = UInt32(clamping: run.count)
        $0.identities = bytes(of: run.identities)
        $0.isGiven = run.isGiven
        $0.makers = drawnNames(run.makers)
      }
    }
    section.knownCount = UInt32(clamping: index.knownNumbers.count)
    section.knownNumbers = ascending(count: index.knownNumbers.count) { index.knownNumbers[$0] }
    section.transactions = transactions(index.transactions)
    if index.isPartial { section.transactions.isPartial = true }
    section.groups = index.groups.map(group)
    section.relied = index.relied.map(reliance)
    section.claims = index.claims.map(claims)
    if !index.covered.isEmpty { section.covered = covered(index.covered) }
    if !index.tombstones.isEmpty { section.tombstones = tombstones(index.tombstones) }
    section.values = Data(index.values.flatMap(\.bytes))
    do {
      return try section.serializedBytes()
    } catch {
      throw .tooLarge("The index section cannot be written: \(error)")
    }
  }

  private static func bytes(of identities: ChangeSetIndex.Identities) -> Data {
    switch identities {
    case .range(let first, _):
      return withUnsafeBytes(of: first.uuid) { Data($0) }
    case .listed(let identities):
      return Data.of(identities)
    }
  }

  static func ascending(count: Int, _ number: (Int) -> UInt64) -> Data {
    Packing.varints(count: count) { $0 == 0 ? number(0) : number($0) &- number($0 &- 1) }
  }

  private static func transactions(
    _ transactions: [ChangeSetIndex.Transaction]
  ) -> WireTransactions {
    var names: [String] = []
    var places: [String: UInt64] = [:]
    func place(of name: String?) -> UInt64 {
      guard let name else { return 0 }
      if let place = places[name] { return place }
      names.append(name)
      places[name] = UInt64(names.count)
      return UInt64(names.count)
    }
    let used = transactions.map { (place(of: $0.author), place(of: $0.contextName)) }
    return .with {
      $0.count = UInt32(clamping: transactions.count)
      $0.hybridTimes = Packing.deltas(transactions.map { Int64(bitPattern: $0.hybridTime) })
      $0.names = names
      $0.authors = Packing.varints(count: used.count) { used[$0].0 }
      $0.contexts = Packing.varints(count: used.count) { used[$0].1 }
      $0.drawnNames = drawnNames(transactions.map(\.name))
      write(origins: transactions.map(\.origin), to: &$0)
    }
  }

  private static func group(_ group: ChangeSetIndex.Group) -> WireGroup {
    .with {
      $0.kind = UInt32(group.kind.rawValue)
      $0.entity = UInt32(clamping: group.entity)
      $0.properties = varints(group.properties)
      $0.count = UInt32(clamping: group.objects.count)
      ($0.first, $0.objects) = objects(group.objects)
      let runs = group.transactionRuns
      guard runs.count != 1 || runs[0].transaction != 0 else { return }
      $0.transactionRuns = Packing.varints(count: runs.count * 2) {
        let run = runs[$0 / 2]
        return UInt64(clamping: $0 % 2 == 0 ? run.transaction : run.count)
      }
    }
  }
}

extension Data {
  /// 16 bytes each.
  static func of(_ identities: [UUID]) -> Data {
    var data = Data(capacity: identities.count * 16)
    for identity in identities {
      Swift.withUnsafeBytes(of: identity.uuid) { data.append(contentsOf: $0) }
    }
    return data
  }

  /// - Returns: Nil when the bytes are not `count` UUIDs.
  func uuids(count: Int) -> [UUID]? {
    guard self.count % 16 == 0, self.count / 16 == count else { return nil }
    return withUnsafeBytes { bytes in
      (0..<count).map {
        UUID(uuid: bytes.loadUnaligned(fromByteOffset: $0 * 16, as: uuid_t.self))
      }
    }
  }
}
