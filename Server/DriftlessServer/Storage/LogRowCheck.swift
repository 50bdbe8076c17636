import DriftlessProtocol
import Foundation

/// What a database has beside an entry of a log.
struct LogRow {
  let digest: Data
  let size: Int64
  /// Bytes of the list of names.
  let namesSize: Int64
  /// The 16 bytes of the replica's ID; none where its number is not known.
  let replica: Data
  let number: UInt64
}

extension EntryCheck {
  /// What is wrong with an entry, or with what the database has beside it.
  ///
  /// - Parameters:
  ///   - place: that of the entry before it.
  ///   - nextObject: the number that the entry before it left for the next object.
  static func damages(
    of entry: LogEntry, beside row: LogRow, after place: LogMark, nextObject: UInt64
  ) -> [String] {
    if let damage = damage(of: entry, after: place) { return [damage] }
    var damages: [String] = []
    if Int64(entry.bytes.count) != row.size { damages.append("its size is not that of its bytes") }
    if ChangeSetHeader.storedDigest(of: entry.bytes) != row.digest {
      damages.append("the digest beside it is another one")
    }
    if entry.firstObjectNumber != nextObject {
      damages.append("its objects do not go on from number \(nextObject)")
    }
    if row.namesSize % 8 != 0 { damages.append("its list of names is cut off") }
    guard let header = try? ChangeSetDecoder().decodeHeader(entry.bytes) else {
      return damages + ["its header cannot be read"]
    }
    if header.replica.bytes != row.replica {
      damages.append("it is of replica \(header.replica.wireText), and the table says another one")
    }
    if header.pushNumber != row.number {
      damages.append("it is push \(header.pushNumber), and the table says \(row.number)")
    }
    return damages
  }
}
