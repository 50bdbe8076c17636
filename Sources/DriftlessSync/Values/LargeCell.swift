import Driftless
import DriftlessProtocol
import Foundation

/// A large value whose bytes are not here, as a value on its way through the engine: what a row has in its place (`ValueInZone`), where
/// its attribute shows it, and what is parked until its bytes can be fetched.
enum LargeCell {
  /// - Parameter isSealed: whether it stood in a column of sealed cells, whatever the model here says of its property.
  static func row(for value: LargeValue, isSealed: Bool) -> [UInt8] {
    ValueInZone(name: value.bytes, isSealed: isSealed)?.bytes ?? []
  }

  /// The large value that a row of a column, or a value, stands for; nil for any other.
  static func value(ofRow row: some Collection<UInt8>) -> LargeValue? {
    ValueInZone(row).flatMap { LargeValue(bytes: $0.name) }
  }

  /// Whether its bytes are those of a sealed cell.
  static func isSealed(_ value: PropertyValue) -> Bool { ValueInZone(value)?.isSealed ?? false }

  static func value(in value: PropertyValue) -> LargeValue? {
    ValueInZone(value).flatMap { LargeValue(bytes: $0.name) }
  }

  /// Why it is parked, and what to do.
  static func reason(_ value: LargeValue) -> String {
    "The zone does not have its \(value.length) bytes (SHA-256 \(value.name)), or they are damaged there. "
      + "They are asked for again by: syncctl parked retry. A replica that has the value can set it anew."
  }

  /// The same where it is known why.
  static func reason(_ value: LargeValue, _ reason: MissedValues.Reason) -> String {
    let bytes = "\(value.length) bytes (SHA-256 \(value.name))"
    let again = "They are asked for again by: syncctl parked retry."
    return switch reason {
    case .lost, .absent:
      "The zone does not have its \(bytes). A replica that has them sends them when it syncs. \(again)"
    case .damaged:
      "What comes of its \(bytes) is not what their name says: it is changed on the way, or damaged at the server, "
        + "which driftless-server verify tells. \(again)"
    case .refused:
      "The server does not give its \(bytes), and gives others: its log says why. They are asked for again each hour. \(again)"
    case .room:
      "Its \(bytes) are in the zone, and this host's disk had no room for them. Make room there. They are asked for "
        + "again each hour, and by: syncctl parked retry."
    case .left:
      "Its \(bytes) are in a zone that the store has left. They come once it is enrolled there again."
    }
  }

  /// Why it is kept where nobody asked for its bytes yet.
  static func reasonInZone(_ value: LargeValue) -> String {
    "Its \(value.length) bytes (SHA-256 \(value.name)) are in the zone, and are fetched when somebody asks for them."
  }

  /// The code of what is parked so.
  static let code = "missing-value"
}

extension PageApplier {
  /// A value that the zone tells by its name: what the row has of it stays.
  ///
  /// - Parameter local: what the row has. Of a sealed value nobody knows by its name that it is the same.
  func present(_ value: PropertyValue, beside local: PropertyValue?) -> PropertyValue {
    guard case .data(let bytes)? = local, !LargeCell.isSealed(value),
      let named = LargeCell.value(in: value), UInt64(bytes.count) == named.length,
      LargeValue(of: bytes) == named
    else { return value }
    return .data(bytes)
  }

  /// The row has a value that the zone tells by its name.
  func noteNamedCell(_ reader: PropertyReader, row: Int, of key: ObjectKey) throws {
    guard let large = reader.named(row), reader.property.standIn?.showsNames == true else {
      return
    }
    try parkedValues.named.note(large, of: key, reader.property.name)
  }

  /// Whether a property may have the bytes of a value that entries name which are applied together, or wait for others of their push.
  func mayDisplaceNamed(_ property: SyncSchema.Property) -> Bool {
    property.standIn?.showsNames == true && !(namedInPage.isEmpty && namedByStaged.isEmpty)
  }

  /// The bytes of a value that an entry displaces, and another one of the same page names: they need not come once more.
  func keepDisplaced(_ local: PropertyValue?) throws {
    guard case .data(let bytes)? = local, !bytes.isEmpty,
      namedInPage.hasOne(of: bytes.count) || namedByStaged.hasOne(of: bytes.count),
      let value = LargeValue(of: bytes),
      namedInPage.contains(value) || namedByStaged.contains(value)
    else { return }
    try ValuePieces.put(bytes, as: value, on: transaction.connection)
  }
}

/// The row of an object before it is written: it is read once, where something of it is asked for.
struct FormerRow {
  /// Of an object that has none.
  static let none = FormerRow([])

  private var values: [PropertyValue]?

  init(_ values: [PropertyValue]? = nil) { self.values = values }

  mutating func value(
    at slot: Int, of key: ObjectKey, _ transaction: ReadTransaction
  ) throws -> PropertyValue? {
    let values = try self.values ?? transaction.knownOwnRow(key)?.values ?? []
    self.values = values
    return values.indices.contains(slot) ? values[slot] : nil
  }
}

extension ValuePieces {
  /// A column with the large values in it that are here. A row whose value is not stands for it (`LargeCell`), and is still
  /// large.
  static func filled(_ column: Column, _ transaction: ReadTransaction) throws -> Column {
    guard let large = column.large else { return column }
    func rows(_ named: ByteRows, isSealed: Bool) throws -> (ByteRows, RowBitmap) {
      var rows = ByteRows()
      var missing = RowBitmap()
      for row in 0..<named.count {
        guard large.contains(row), let value = column.largeValue(at: row) else {
          named.withBytes(at: row) { rows.append($0) }
          continue
        }
        if let bytes = try bytes(of: value, on: transaction.connection) {
          rows.append(bytes)
        } else {
          rows.append(Data(LargeCell.row(for: value, isSealed: isSealed)))
          missing.insert(row)
        }
      }
      return (rows, missing)
    }
    switch column.values {
    case .bytes(let named):
      let (rows, missing) = try rows(named, isSealed: false)
      return Column(.bytes(rows), nulls: column.nulls, large: missing)
    case .sealed(let named):
      let (rows, missing) = try rows(named, isSealed: true)
      return Column(.sealed(rows), nulls: column.nulls, large: missing)
    default: return column
    }
  }
}
