public import Foundation

/// A place in the history of stores: for each the number of its last transaction that was seen.
///
/// It is a plain value: keep it with `Codable`, beside what was made of the history up to it.
public struct PersistentHistoryToken: Sendable, Codable {
  /// Transaction numbers by store identifier.
  public var numbers: [String: Int64]
  /// When those transactions were made, where that is known: after an older copy of the store was put back, others have
  /// their numbers.
  var times: [String: HybridTime]
  /// The names of those that have one, which say the same and never change.
  var names: [String: UInt64]

  /// A place by transaction numbers alone: an older copy that was put back is not told from it.
  ///
  /// - Parameter numbers: Transaction numbers by store identifier.
  public init(numbers: [String: Int64] = [:]) { self.init(numbers: numbers, times: [:]) }

  init(numbers: [String: Int64], times: [String: HybridTime], names: [String: UInt64] = [:]) {
    self.numbers = numbers
    self.times = times
    self.names = names
  }

  /// Takes over what another token says of its stores.
  public mutating func formUnion(_ other: PersistentHistoryToken) {
    numbers.merge(other.numbers) { $1 }
    for store in other.numbers.keys {
      times[store] = other.times[store]
      names[store] = other.names[store]
    }
  }

  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    numbers = try values.decode([String: Int64].self, forKey: .numbers)
    times = try values.decodeIfPresent([String: HybridTime].self, forKey: .times) ?? [:]
    names = try values.decodeIfPresent([String: UInt64].self, forKey: .names) ?? [:]
  }
}

/// Two are equal that mean the same place.
extension PersistentHistoryToken: Hashable {
  public static func == (left: PersistentHistoryToken, right: PersistentHistoryToken) -> Bool {
    left.numbers == right.numbers
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(numbers) }
}

/// What one save, or one import, changed.
public struct PersistentHistoryTransaction: Sendable {
  /// Its place in the store's history, ascending.
  public let transactionNumber: Int64
  /// The identifier of the store.
  public let storeID: String
  /// The host's time of day at the commit.
  public let timestamp: Date
  /// The time by which replicas order edits.
  public let hybridTime: HybridTime
  /// 0 for none.
  let name: UInt64
  /// Who made the changes: the context's `transactionAuthor`; `sync` for an import.
  public let author: String?
  /// The name of the context that saved.
  public let contextName: String?
  /// The application that wrote, where it has an identifier.
  public let bundleID: String?
  /// The name of the process that wrote.
  public let processID: String?
  /// Whether the change came from the zone's log.
  public let isImported: Bool
  /// Nil when only transactions were asked for.
  public internal(set) var changes: [PersistentHistoryChange]?

  /// The place just after this transaction.
  public var token: PersistentHistoryToken {
    PersistentHistoryToken(
      numbers: [storeID: transactionNumber],
      times: hybridTime.rawValue > 0 ? [storeID: hybridTime] : [:],
      names: name > 0 ? [storeID: name] : [:])
  }
}

/// What a transaction did to one object.
public struct PersistentHistoryChange: Sendable {
  /// Its place among all changes of the store's history, ascending.
  public let changeID: Int64
  /// What was done.
  public let changeType: ChangeType
  /// Nil for an object of an entity that the model no longer has.
  public let changedEntity: EntityDescription?
  /// The key of the object.
  public let changedObjectKey: ObjectKey
  /// The names of the changed properties of an update; nil otherwise. All that may have changed where Core Data recorded
  /// it: its files do not say in which order they count properties.
  public let updatedProperties: Set<String>?
  /// The values that a deleted object's entity preserves; nil otherwise.
  public let tombstone: [String: PropertyValue]?
  /// The transaction, without its changes, when changes alone were asked for.
  public internal(set) var transaction: PersistentHistoryTransaction?

  let storeID: String

  /// The name of the object's entity; empty when the model no longer has it.
  public var entityName: String { changedEntity?.name ?? "" }

  /// The ID of the object; it leads nowhere when the object is deleted. Nil without an entity.
  public var changedObjectID: ManagedObjectID? {
    changedEntity.map {
      ManagedObjectID(entity: $0, storeIdentifier: storeID, key: changedObjectKey)
    }
  }
}

/// Who reads a store's history, and how far: what comes after is not purged.
public struct PersistentHistoryReader: Hashable, Sendable {
  /// What the reader registered under.
  public let name: String
  /// The last transaction that it has read.
  public let transactionNumber: Int64
}
