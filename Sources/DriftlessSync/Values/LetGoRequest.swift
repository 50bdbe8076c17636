import Driftless
import DriftlessSQLite
import Foundation

/// Which large values are to be let go of, as the store keeps it until an engine has done so.
struct LetGoRequest: Codable, Equatable {
  /// There while it waits: which ones.
  static let setting = "sync.values.letGo"
  /// There once it is done: what was done.
  static let doneSetting = "sync.values.letGone"
  /// What was done so far of what waits.
  static let begunSetting = "sync.values.letGoBegun"

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

  static func report(_ setting: String, _ transaction: ReadTransaction) throws -> LetGoReport? {
    guard case .text(let text)? = try transaction.setting(setting) else { return nil }
    return decodeReport(text)
  }

  /// Counts what is done of what waits, which may take several turns of several processes.
  static func add(_ report: LetGoReport, _ transaction: WriteTransaction) throws -> LetGoReport {
    var sum = try self.report(begunSetting, transaction) ?? LetGoReport()
    sum.add(report)
    try transaction.setSetting(begunSetting, try text(sum))
    return sum
  }

  /// How many values have gone of what was asked for last, done or not.
  static func gone(_ transaction: ReadTransaction) throws -> Int {
    try (report(doneSetting, transaction) ?? report(begunSetting, transaction))?.values ?? 0
  }

  static func text(_ value: some Encodable) throws -> SQLiteValue {
    .text(String(decoding: try JSONEncoder().encode(value), as: UTF8.self))
  }
}
