import DriftlessProtocol
import Foundation

/// Large values that a zone lacks, taken from a file that has them: what `restore` put aside, or a backup.
///
/// After a restore replicas bring back entries whose values the copy has not, and send those that they have. One that a replica has let
/// go of, since the server had it, is nowhere but in the database that was there before.
struct ValueRescue<Tables: ValueTables> {
  let tables: Tables
  let milliseconds: Int64
  /// Runs a transaction, with what else who writes has to hold.
  let write: (() throws -> Void) throws -> Void
  /// Called between transactions, with the bytes that the last one wrote: others write then.
  var giveWay: (_ bytes: Int) -> Void = { _ in }

  /// In place of a replica, so that a command that was stopped goes on with what is here of a value.
  private static var sender: UUID {
    UUID(uuid: (0x74, 0x61, 0x6b, 0x65, 0x2d, 0x66, 0x72, 0x6f, 0x6d, 0, 0, 0, 0, 0, 0, 1))
  }
  /// For so long one stays that nothing names yet: replicas that bring back the entries that name it may be away.
  private static var leaseMilliseconds: Int64 { 30 * 86_400_000 }

  private var lease: Int64 { milliseconds + Self.leaseMilliseconds }

  /// What became of a value in one transaction.
  private enum Step {
    /// The zone has all of it.
    case isThere
    /// Its next piece is here; or another command has brought one meanwhile.
    case goesOn
    /// All of its bytes are here.
    case isComplete(Tables.Row)
    /// The file does not have it as it has to be.
    case isDamaged
    /// What was here of it could never become whole, and is let go of.
    case begunAnew
  }

  /// - Parameter piece: the bytes of the value from a place on, as they lie in pieces; empty at its end, and where they are not to be had.
  /// - Returns: whether the zone has it now; not where its bytes are not what its digest says, or lie in pieces that no server writes.
  /// - Throws: `ServerError` (`.noZone`) where the zone was deleted meanwhile.
  func take(_ value: LargeValue, piece: (_ first: Int) throws -> Data) throws -> Bool {
    let length = Int(clamping: value.length)
    var isBegunAnew = false
    while true {
      let held = try tables.row(of: value, replica: Self.sender)?.held ?? 0
      // Read before anybody waits for the writer.
      let bytes = held < length ? try piece(held) : Data()
      let step = try add(bytes, at: held, of: value)
      giveWay(bytes.count)
      switch step {
      case .goesOn: continue
      case .isThere: return true
      case .isDamaged: return false
      case .isComplete(let upload): return try finish(upload, of: value)
      case .begunAnew:
        guard !isBegunAnew else { return false }
        isBegunAnew = true
      }
    }
  }

  private func add(_ bytes: Data, at held: Int, of value: LargeValue) throws -> Step {
    let (length, size) = (Int(clamping: value.length), LargeValue.pieceBytesMax)
    var step = Step.goesOn
    try write {
      step = try tables.transaction {
        try tables.hold()
        if let whole = try tables.row(of: value, replica: nil) {
          _ = try tables.renewLease(of: whole.row, until: lease)
          return .isThere
        }
        let known = try tables.row(of: value, replica: Self.sender)
        guard known?.held ?? 0 == held else { return .goesOn }
        if let known, held > length || held < length && held % size != 0 {
          try tables.remove(known.row)
          return .begunAnew
        }
        // A file that has it so now is no better tomorrow.
        guard bytes.count == min(size, length - held) else {
          if let known { try tables.remove(known.row) }
          return .isDamaged
        }
        let row =
          try known?.row ?? tables.begin(value, replica: Self.sender, token: ValueLease.nobody)
        _ = try tables.renewLease(of: row, until: lease)
        if !bytes.isEmpty { try tables.add(bytes, at: held, of: row) }
        return held + bytes.count == length ? .isComplete(row) : .goesOn
      }
    }
    return step
  }

  private func finish(_ upload: Tables.Row, of value: LargeValue) throws -> Bool {
    let length = Int(clamping: value.length)
    var found = LargeValue.Digest()
    while found.count < length {
      let piece = try tables.piece(of: upload, first: Int(clamping: found.count))
      // Of others the bytes could not be fetched, whatever they come to together.
      let count = min(LargeValue.pieceBytesMax, length - Int(clamping: found.count))
      guard piece.count == count else { break }
      found.add(piece)
    }
    let isGood = found.isOf(value)
    try write {
      try ValueIntake(tables: tables, limits: ServerLimits(), milliseconds: milliseconds)
        .finish(upload, of: value, by: Self.sender, isGood: isGood)
    }
    giveWay(0)
    return isGood
  }

  /// Values that the zone has, and that nothing names yet, stay as long as those that are taken.
  func keep(_ values: [LargeValue]) throws {
    guard try !tables.unnamed(values).isEmpty else { return }
    try write {
      try tables.transaction {
        try tables.hold()
        for row in try tables.unnamed(values) { _ = try tables.renewLease(of: row, until: lease) }
      }
    }
    giveWay(0)
  }
}
