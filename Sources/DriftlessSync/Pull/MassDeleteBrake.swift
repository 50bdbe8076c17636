import Driftless
import DriftlessSQLite
import Foundation

/// Tells deletes of a large part of the replica, which wait for a person's word: a zone that was
/// emptied or swapped by mistake looks like one whose objects were all deleted.
struct MassDeleteBrake {
  /// Deletes that pulls applied since the replica was last current: they come in entries, and count
  /// together.
  private static let deletedSetting = "sync.deleted"

  /// More than any limit, and far from the end of a number.
  private static let tooMany: Int64 = .max / 4

  private let transaction: WriteTransaction
  private let schema: SyncSchema
  private let limit: SyncOptions.MassDeleteLimit

  init(
    _ transaction: WriteTransaction, schema: SyncSchema, limit: SyncOptions.MassDeleteLimit
  ) {
    self.transaction = transaction
    self.schema = schema
    self.limit = limit
  }

  /// Counts the deletes of one entry.
  ///
  /// - Returns: false when they are too many with those before. What comes until the replica is current is set aside with
  ///   them: a person is asked about all that followed from one mistake.
  func admits(_ deletes: Int) throws -> Bool {
    guard deletes > 0 else { return true }
    var before = 0
    if case .integer(let count)? = try transaction.setting(Self.deletedSetting) {
      before = Int(truncatingIfNeeded: count)
    }
    let total = before &+ deletes
    if total > min(limit.floor, limit.count) {
      let objects = try schema.objectCount(transaction) &+ before
      guard !limit.isPassed(by: total, of: objects) else {
        try transaction.setSetting(Self.deletedSetting, .integer(Self.tooMany))
        return false
      }
    }
    try transaction.setSetting(Self.deletedSetting, .integer(Int64(total)))
    return true
  }

  /// There while deletes of a log that is gone are told to another one, which a person had meant.
  static let meantSetting = "sync.meantDeletes"

  /// The log is another one: what was meant in the former one is told to it with that word.
  static func keepWord(of log: LostEdits, _ transaction: WriteTransaction) throws {
    try transaction.setSetting(meantSetting, log.hasMeantDeletes ? .integer(1) : nil)
  }

  /// Whether a person's word goes with the deletes of a window: all of them were told to a log that is gone.
  static func isMeant(_ window: PendingObjects, _ transaction: ReadTransaction) throws -> Bool {
    guard try transaction.setting(meantSetting) != nil else { return false }
    return !window.containsState {
      $0.whole == .delete && EditStamp.time($0.wholeTransaction) == nil
    }
  }

  /// There when a person keeps what the brake set aside, until the next pull has settled it.
  static let keptSetting = "sync.keepsDeleted"

  /// Up to which place of the log deletes that are set aside were not meant.
  static func kept(_ transaction: ReadTransaction) throws -> UInt64? {
    guard case .integer(let place)? = try transaction.setting(keptSetting) else { return nil }
    return UInt64(exactly: place)
  }

  static func isCounting(_ transaction: ReadTransaction) throws -> Bool {
    try transaction.setting(deletedSetting) != nil
  }

  /// The replica is current: what was deleted so far counts no more.
  static func release(_ transaction: WriteTransaction) throws {
    try transaction.setSetting(deletedSetting, nil)
  }
}

extension SyncSchema {
  /// How many objects a store has.
  func objectCount(_ transaction: ReadTransaction) throws -> Int {
    var count = 0
    for root in Set(entities.map(\.rootNumber)) {
      guard let entity = transaction.schema.entity(numbered: root) else { continue }
      count += try transaction.objectCount(ofHierarchy: entity)
    }
    return count
  }
}
