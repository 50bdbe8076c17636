import Driftless
import DriftlessSQLite
import Foundation

extension ReadTransaction {
  /// Hands over each change of local history after a transaction, in order; imports are passed
  /// over.
  ///
  /// - Returns: the newest transaction of history.
  func forEachLocalChange(
    after number: Int64, _ body: (Int64, ObjectKey, LocalChange) throws -> Void
  ) throws -> Int64 {
    let newest = max(number, try maximumTransactionNumber())
    guard newest > number else { return number }
    try forEachChange(after: number, passingOver: .imported) { header, type, key, mask in
      let change: LocalChange
      switch type {
      case .insert: change = .insert
      case .update: change = .update(mask ?? PropertyMask())
      case .delete: change = .delete
      }
      try body(header.number, key, change)
    }
    return newest
  }

  /// When and by whom a transaction was made.
  func transactionHeader(
    _ number: Int64
  ) throws -> (hybridTime: HybridTime, author: String?, contextName: String?) {
    guard number > 0 else {
      let origin = try StampOrigins.origin(of: number, on: connection)
      return (try editTime(number), origin?.author, origin?.contextName)
    }
    let (author, contextName) = try origin(ofTransaction: number)
    return (try editTime(number), author, contextName)
  }

  /// The newest change of a property in what history still holds.
  func lastChange(
    of key: ObjectKey, slot: Int
  ) throws -> (hybridTime: HybridTime, author: String?)? {
    var last: Int64?
    try forEachChange(after: 0) { header, type, changed, mask in
      guard changed == key, type == .insert || mask?.contains(slot) == true else { return }
      last = header.number
    }
    return try last.map { number in
      (try hybridTime(of: number), try origin(ofTransaction: number).author)
    }
  }
}
