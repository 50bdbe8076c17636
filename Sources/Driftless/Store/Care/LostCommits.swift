import DriftlessSQLite
public import Foundation

/// Saves that were acknowledged and that the store has not any more: its log was deleted, the disk went back to an older
/// state, or an older content was written into the file.
public struct LostCommits: Hashable, Sendable, Codable {
  /// How many transactions of the history are gone.
  public let count: Int64
  /// When it was found.
  public let found: Date
}

extension PersistentStore {
  /// What the store lost, as far as the commit mark beside it tells; nil when it lost nothing since
  /// ``forgetLostCommits()``.
  ///
  /// - Throws: ``StoreError`` where the store cannot be read.
  public func lostCommits() throws -> LostCommits? {
    try read { transaction in
      guard case .text(let text)? = try transaction.setting(LostCommits.setting) else { return nil }
      return LostCommits(text: text)
    }
  }

  /// Takes note that somebody knows of it.
  ///
  /// - Throws: ``StoreError`` where the store cannot be read or written.
  public func forgetLostCommits() throws {
    guard try lostCommits() != nil else { return }
    _ = try write(TransactionInfo()) { try $0.setSetting(LostCommits.setting, nil) }
  }
}

extension LostCommits {
  static let setting = "lostCommits"
  /// Seconds from 1970 that are still a date that can be shown.
  private static let timeBound = 1e11

  init?(text: String) {
    let parts = text.split(separator: " ")
    guard parts.count == 2, let count = Int64(parts[0]), let time = Double(parts[1]), count > 0,
      time.magnitude < Self.timeBound
    else { return nil }
    self.init(count: count, found: Date(timeIntervalSince1970: time))
  }

  fileprivate var text: String { "\(count) \(found.timeIntervalSince1970)" }
}

extension WriteTransaction {
  /// Adds to what nobody was told yet.
  func noteLostCommits(_ count: Int64, at date: Date) throws {
    var all = count
    if case .text(let text)? = try setting(LostCommits.setting),
      let before = LostCommits(text: text)
    {
      all = before.count.addingReportingOverflow(count).partialValue
    }
    try setSetting(LostCommits.setting, .text(LostCommits(count: all, found: date).text))
  }
}

/// How far a store's history had come at the last commit, written into the lock file beside the store. An older content
/// that was written back into the same file is recognised by it: its history ends before the mark.
///
/// It is written after the commit and not waited for, so it may be behind the store, which tells nothing. Only where the
/// store lost commits, as it may without full durability, is it ahead; then those commits are as lost as those of a store that
/// was put back, and the same follows.
struct CommitMark: Hashable {
  static let byteCount = 24

  let store: UUID
  let number: Int64

  init(store: String, number: Int64) {
    self.store = UUID(uuidString: store) ?? Self.unknown
    self.number = number
  }

  private static let unknown = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

  /// The store's UUID, and the number of the newest transaction, the lowest byte first.
  var bytes: [UInt8] {
    Array(store.networkBytes) + number.littleEndianBytes
  }

  init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount, let store = UUID(networkBytes: Data(bytes.prefix(16)))
    else { return nil }
    self.store = store
    let number = bytes.suffix(8).reversed().reduce(0) { $0 << 8 | Int64($1) }
    guard (0...ReadTransaction.greatestNumber).contains(number) else { return nil }
    self.number = number
  }
}
