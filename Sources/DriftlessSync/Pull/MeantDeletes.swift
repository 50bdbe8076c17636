import Driftless
import DriftlessSQLite
import Foundation

/// Deletes of a large part of a replica that a person had meant, in a log that is gone: they are told to another one with that
/// word, also by replicas that had but taken them.
///
/// They are known by their times, which whoever took them keeps.
struct MeantDeletes {
  /// There while there may be some to tell.
  static let setting = "sync.meantDeletes"

  private let times: Set<UInt64>
  /// A program of before noted that there were some, and not which.
  private let areAll: Bool

  init(_ transaction: ReadTransaction) throws {
    let kept = try transaction.setting(Self.setting)
    if case .blob(let bytes)? = kept {
      times = Set(bytes.littleEndianNumbers)
      areAll = false
    } else {
      times = []
      areAll = kept != nil
    }
  }

  /// The log is another one: what was meant in it is told to the next one with that word. So is what was meant in a log before
  /// it and not told to it yet.
  static func keep(
    of log: LostEdits, beside pending: PendingSet, _ transaction: WriteTransaction
  ) throws {
    let known = try MeantDeletes(transaction)
    var times = Set(log.meantDeletes.map(\.rawValue))
    for object in pending.objects.map(\.value) where known.has(object) {
      guard let time = EditStamp.time(object.wholeTransaction) else { continue }
      times.insert(time.rawValue)
    }
    var bytes = Data()
    for time in times.sorted() { bytes.append(littleEndian: time) }
    try transaction.setSetting(setting, bytes.isEmpty ? nil : .blob(bytes))
  }

  var isEmpty: Bool { times.isEmpty && !areAll }

  func has(_ object: PendingObject) -> Bool {
    guard !isEmpty, object.whole == .delete,
      let time = EditStamp.time(object.wholeTransaction)
    else { return false }
    return areAll || times.contains(time.rawValue)
  }

  /// Whether the word goes with the deletes of a window: some are meant, and what else was told to be deleted in the log that is
  /// gone is too little to ask about.
  func areIn(_ window: PendingObjects) -> Bool {
    !isEmpty && window.containsState(where: has)
      && !window.containsState { $0.whole == .delete && !$0.isToldDelete }
  }

  /// Whether some are pending beside deletes that no log was told: the word is said of a change set, so they go in one of their
  /// own.
  func goApart(_ pending: PendingSet) -> Bool {
    !isEmpty && pending.objects.containsState(where: has)
      && pending.objects.containsState { $0.whole == .delete && !$0.isToldDelete }
  }
}

extension PendingObject {
  /// Whether it was told to be deleted in a log that is gone, here or by another replica (`OfferedDeletes`).
  var isToldDelete: Bool { whole == .delete && EditStamp.time(wholeTransaction) != nil }
}
