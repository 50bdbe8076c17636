import DriftlessProtocol
import Foundation

/// What becomes of the pieces of a large value that come, and of a value that was looked at.
///
/// A replica's pieces are its own until the value is whole and is what its digest says; then it is the zone's, once. One that no
/// entry names stays until its lease ends.
struct ValueIntake<Tables: ValueTables> {
  let tables: Tables
  let limits: ServerLimits
  let milliseconds: Int64

  private var zone: ZoneRecord { tables.zone }

  /// - Returns: also the upload, when all of it is there and was not looked at.
  func keep(
    _ piece: ValuePiece, token: String
  ) throws -> (state: ValueState, upload: Tables.Row?) {
    // What the log names and the zone lacks is taken whatever the limits are by now, and takes nobody's room.
    let isLost = try tables.isLost(piece.value)
    while true {
      let hasRoomMade = try tables.collect(at: milliseconds)
      guard isLost || limits.valueBytesMax > 0 else { throw ProtocolError.takesNoValues }
      try piece.check(bytesMax: isLost ? .max : limits.largestValue)
      do {
        // Who has just taken room for the value comes again, and writes.
        while true {
          let taken = try tables.transaction {
            try take(piece, isLost ? ValueLease.nobody : token)
          }
          if let taken { return taken }
        }
      } catch let error as ServerError
        where [.diskFull, .zoneFull].contains(error.code) && hasRoomMade
      {
        continue
      }
    }
  }

  /// Goes on with a value that is known; of another it takes the room, and writes nothing of it yet: all that begin look at the
  /// same sums one after the other, and wait for nobody's bytes meanwhile.
  ///
  /// - Returns: nil where it has taken room.
  private func take(
    _ piece: ValuePiece, _ token: String
  ) throws -> (state: ValueState, upload: Tables.Row?)? {
    try checkGeneration(of: piece)
    if let known = try goOn(with: piece) { return known }
    try tables.hold()
    // What another did while this one waited is seen from here on.
    try checkGeneration(of: piece)
    if let known = try goOn(with: piece) { return known }
    if token != ValueLease.nobody {
      try tables.holdAll()
      try checkRoom(for: piece.value, token: token)
    }
    let upload = try tables.begin(piece.value, replica: piece.replica, token: token)
    _ = try tables.renewLease(of: upload, until: lease)
    return nil
  }

  private func checkGeneration(of piece: ValuePiece) throws {
    guard try tables.generation() == piece.generation else {
      throw ServerError.generationChanged(zone: zone.name)
    }
  }

  private var lease: Int64 { milliseconds + Int64(limits.valueLeaseSeconds) * 1000 }

  /// - Returns: nil where the zone has nothing of the value that is whole, or this replica's.
  private func goOn(with piece: ValuePiece) throws -> (state: ValueState, upload: Tables.Row?)? {
    if let whole = try tables.row(of: piece.value, replica: nil) {
      // What others have sent of it nobody goes on with, and it would take their room.
      if try tables.hasUploads(of: piece.value.digest) {
        try tables.hold()
        try tables.dropUploads(of: piece.value.digest)
      }
      guard try tables.renewLease(of: whole.row, until: lease) else { return nil }
      return (ValueState(held: whole.held, isWhole: true), nil)
    }
    guard let upload = try tables.row(of: piece.value, replica: piece.replica) else { return nil }
    return try add(piece, to: upload.row, held: upload.held)
  }

  private func add(
    _ piece: ValuePiece, to upload: Tables.Row, held: Int
  ) throws -> (state: ValueState, upload: Tables.Row?) {
    var held = held
    if piece.first == held, !piece.bytes.isEmpty {
      try tables.add(piece.bytes, at: piece.first, of: upload)
      held += piece.bytes.count
    }
    _ = try tables.renewLease(of: upload, until: lease)
    let isComplete = held == Int(clamping: piece.value.length)
    return (ValueState(held: held, isWhole: false), isComplete ? upload : nil)
  }

  private func checkRoom(for value: LargeValue, token: String) throws {
    let length = Int(clamping: value.length)
    if let most = zone.limits.largeValueBytesMax {
      let held = Int(clamping: try tables.declaredBytes())
      guard length <= most - min(held, most) else {
        throw ServerError.zoneIsFull(
          zone, "largeValueBytesMax", "has \(held) bytes of large values, \(length) more would come"
        )
      }
    }
    let bounds: [(who: String, name: String, most: Int, inAll: Bool, token: String?)] = [
      ("the zone", "unnamedValueBytesPerZoneMax", limits.unnamedValueBytesPerZoneMax, false, nil),
      (
        "the token", "unnamedValueBytesPerTokenMax", limits.unnamedValueBytesPerTokenMax, false,
        token
      ),
      ("the server", "unnamedValueBytesMax", limits.unnamedValueBytesMax, true, nil),
    ]
    for bound in bounds {
      let used = try tables.unnamedBytes(inAll: bound.inAll, token: bound.token)
      guard length <= bound.most - min(used, bound.most) else {
        throw ServerError(
          .diskFull,
          "\(bound.who) has \(used) bytes of large values that no change set names so far; \(length) more "
            + "pass \(bound.most) (\(bound.name))",
          suggestion: "Push what names them, or try again when the others have gone; or have the "
            + "operator raise \(bound.name).")
      }
    }
  }

  // MARK: - What was looked at

  /// A replica's upload was read: it becomes the zone's value, or goes.
  func finish(_ upload: Tables.Row, of value: LargeValue, by replica: UUID, isGood: Bool) throws {
    try tables.transaction {
      try tables.hold()
      // Another request may have looked at it as well, and be done; its row may be another upload's by now.
      guard try tables.row(of: value, replica: replica)?.row == upload else { return }
      guard isGood, try tables.row(of: value, replica: nil) == nil else {
        return try tables.remove(upload)
      }
      try tables.makeWhole(upload)
      try tables.dropUploads(of: value.digest)
      // It may come in place of one that was lost, and that the log has named for long.
      guard try tables.isNamed(value.digest) else { return }
      try tables.keepNamed(value)
      try tables.forgetLost(value.digest)
    }
  }

  /// A whole value is not what its digest says: it goes, and the zone lacks it until a replica sends it again.
  ///
  /// - Returns: whether it was still there.
  func lose(_ row: Tables.Row, _ digest: Data, length: Int64) throws -> Bool {
    try tables.transaction {
      try tables.hold()
      guard try tables.whole(digest)?.row == row else { return false }
      try tables.remove(row)
      if let value = LargeValue(digest: digest, length: UInt64(clamping: length)),
        try tables.isNamed(digest)
      {
        try tables.noteLost(value)
      }
      return true
    }
  }

  /// Values that are named are not here, and nobody was told so: their rows are gone. From now on replicas hear that the zone
  /// lacks them.
  ///
  /// - Returns: those of which that is new: others may have noted or sent some meanwhile.
  func noteGone(_ values: [LargeValue]) throws -> [LargeValue] {
    try tables.transaction {
      try tables.hold()
      return try values.filter { value in
        let gone = try tables.gone(from: value.digest, through: value.digest, countMax: 1)
        if !gone.isEmpty { try tables.noteLost(value) }
        return !gone.isEmpty
      }
    }
  }
}
