import Driftless
import DriftlessSQLite
import Foundation

/// Tells deletes of a large part of the replica, which wait for a person's word: a zone that was
/// emptied or swapped by mistake looks like one whose objects were all deleted.
struct MassDeleteBrake {
  /// Deletes that pulls applied since the replica was last current: they come in entries, and count
  /// together.
  private static let deletedSetting = "sync.deleted"

  /// How many objects were deleted before those that are set aside, while they were not too many yet.
  static let beforeSetting = "sync.deletedBefore"

  /// The last key of each hierarchy from when something came to a replica that was current.
  static let heldSetting = EngineRows.heldNote

  /// More than any limit, and far from the end of a number.
  private static let tooMany = Int.max / 4

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

  /// Something comes to the store: what it holds by now is what deletes are counted of, until it is current again. What comes
  /// and goes until then nobody here ever had.
  func begin() throws {
    guard try transaction.setting(Self.heldSetting) == nil else { return }
    var held: [String: Int64] = [:]
    for entity in schema.entities where entity.number == entity.rootNumber {
      held[entity.name] = try transaction.lastKey(root: entity.number)
    }
    try transaction.setSetting(Self.heldSetting, .text(Self.encode(held)))
  }

  /// What was there to come has come.
  func end() throws {
    try transaction.setSetting(Self.heldSetting, nil)
    try transaction.setSetting(MadeMeanwhile.setting, nil)
  }

  /// What was made since the last import, while more was to come, was made here: the store holds it.
  func noteMade() throws { try noteMade { $0.add(through: $1, root: $2) } }

  /// What an import made is nothing that the store held.
  func noteCame() throws { try noteMade { $0.pass(through: $1, root: $2) } }

  private func noteMade(_ note: (inout MadeMeanwhile, Int64, String) -> Void) throws {
    guard try transaction.setting(Self.heldSetting) != nil else { return }
    let known = try MadeMeanwhile.load(transaction) ?? MadeMeanwhile()
    var made = known
    for entity in schema.entities where entity.number == entity.rootNumber {
      note(&made, try transaction.lastKey(root: entity.number), entity.name)
    }
    if made != known { try transaction.setSetting(MadeMeanwhile.setting, .text(made.text)) }
  }

  /// Which of the objects that live here were here when it began: keys are given out in order.
  func held() throws -> HeldObjects {
    guard let last = try lastKeys() else { return HeldObjects(last: nil) }
    let made = try MadeMeanwhile.load(transaction)
    let roots = schema.entities.filter { $0.number == $0.rootNumber }
    return HeldObjects(
      last: Dictionary(
        roots.map { ($0.number, last[$0.name] ?? .max) }, uniquingKeysWith: max),
      made: Dictionary(
        roots.map { ($0.number, made?.ranges(root: $0.name) ?? []) }, uniquingKeysWith: +))
  }

  /// Counts the deletes of one entry.
  ///
  /// - Parameter deletes: of objects that the store held (`held()`).
  /// - Returns: false when they are too many with those before. What comes until the replica is current is set aside with
  ///   them: a person is asked about all that followed from one mistake.
  func admits(_ deletes: Int) throws -> Bool {
    var before = 0
    if case .integer(let count)? = try transaction.setting(Self.deletedSetting) {
      before = Int(truncatingIfNeeded: count)
    }
    guard before < Self.tooMany else { return false }
    guard deletes > 0 else { return true }
    let total = before &+ deletes
    if total > min(limit.floor, limit.count) {
      guard try !isPassed(by: total, after: before) else {
        try noteBefore(before)
        try transaction.setSetting(Self.deletedSetting, .integer(Int64(Self.tooMany)))
        return false
      }
    }
    try transaction.setSetting(Self.deletedSetting, .integer(Int64(total)))
    return true
  }

  /// Deletes that wait for the head of the log are among those before, and their objects are still here: they count once. That takes a
  /// look at all that is known of the zone, and is asked only where it decides.
  private func isPassed(by total: Int, after before: Int) throws -> Bool {
    let held = try heldCount()
    // Of no more objects than there were, and of no fewer than are here.
    if limit.isPassed(by: total, of: held &+ before) { return true }
    guard limit.isPassed(by: total, of: held) else { return false }
    return limit.isPassed(by: total, of: held &+ before &- (try deferredCount()))
  }

  /// The objects that were here when it began, are here, and go when the pull has reached its head.
  private func deferredCount() throws -> Int {
    let held = try held()
    return try ZoneStates.deferred(on: transaction.connection).count { key in
      guard let living = try transaction.concreteKey(root: key) else { return false }
      return held.has(living.key, root: schema.root(of: living))
    }
  }

  /// Keeps how many were deleted before what is set aside from now on, which a person is told with those.
  private func noteBefore(_ count: Int) throws {
    let isFirst = try ZoneStates.braked(on: transaction.connection).isEmpty
    let total = try count &+ (isFirst ? 0 : Self.before(transaction))
    try transaction.setSetting(Self.beforeSetting, total > 0 ? .integer(Int64(total)) : nil)
  }

  /// How many objects went before those that are set aside.
  static func before(_ transaction: ReadTransaction) throws -> Int {
    guard case .integer(let count)? = try transaction.setting(beforeSetting) else { return 0 }
    return Int(clamping: count)
  }

  /// The objects that were here when it began, and still are.
  private func heldCount() throws -> Int {
    guard let last = try lastKeys() else { return try schema.objectCount(transaction) }
    let made = try MadeMeanwhile.load(transaction)
    var count = 0
    for entity in schema.entities where entity.number == entity.rootNumber {
      count += try transaction.objectCount(
        ofHierarchy: entity.description, through: last[entity.name] ?? .max)
      for range in made?.ranges(root: entity.name) ?? [] {
        count += try transaction.objectCount(
          ofHierarchy: entity.description, through: range.upperBound)
        count -= try transaction.objectCount(
          ofHierarchy: entity.description, through: range.lowerBound - 1)
      }
    }
    return count
  }

  private func lastKeys() throws -> [String: Int64]? {
    guard case .text(let text)? = try transaction.setting(Self.heldSetting) else { return nil }
    return Self.decode(text)
  }

  private static func encode(_ held: [String: Int64]) -> String {
    held.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: "\n")
  }

  /// Nil for what is damaged.
  static func decode(_ text: String) -> [String: Int64]? {
    var held: [String: Int64] = [:]
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: " ")
      guard parts.count == 2, let key = Int64(parts[1]), key >= 0 else { return nil }
      held[String(parts[0])] = key
    }
    return held
  }

  /// There when a person keeps what the brake set aside, until the next pull has settled it.
  static let keptSetting = "sync.keepsDeleted"

  /// Up to which place of the log deletes that are set aside were not meant.
  static func kept(_ transaction: ReadTransaction) throws -> UInt64? {
    guard case .integer(let place)? = try transaction.setting(keptSetting) else { return nil }
    return UInt64(exactly: place)
  }

  static func isCounting(_ transaction: ReadTransaction) throws -> Bool {
    try transaction.setting(deletedSetting) != nil || transaction.setting(heldSetting) != nil
  }

  /// The replica is current: what was deleted so far counts no more.
  static func release(_ transaction: WriteTransaction) throws {
    try transaction.setSetting(deletedSetting, nil)
    try transaction.setSetting(heldSetting, nil)
    try transaction.setSetting(MadeMeanwhile.setting, nil)
  }
}

/// The objects that a store had when the entries began to come that it has not read to their end.
struct HeldObjects {
  /// By the numbers of root entities; nil where that is not known, and all count.
  fileprivate let last: [Int32: Int64]?
  /// What was made here since.
  private let made: [Int32: [ClosedRange<Int64>]]

  fileprivate init(last: [Int32: Int64]?, made: [Int32: [ClosedRange<Int64>]] = [:]) {
    self.last = last
    self.made = made
  }

  /// - Parameter root: the number of its root entity.
  func has(_ key: Int64, root: Int32) -> Bool {
    guard let last else { return true }
    // A hierarchy that has another name since counts as a whole.
    return key <= last[root] ?? .max || made[root]?.contains { $0.contains(key) } == true
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
