import Foundation
import SwiftProtobuf

/// Reads the rows of a column of values as the bytes that a fold keeps: references as object numbers, what it does not know
/// as it is.
struct CellReader {
  let kind: UInt32
  private let column: Column
  private let number: (Int) -> UInt64
  /// Of a kind that this version does not know.
  private let unknown: ByteRows?

  /// - Parameters:
  ///   - name: The property's, for the error.
  ///   - number: The zone's number of an object of the table.
  /// - Throws: `ProtocolError` (`.unsupported`) when the column is of an unknown kind that does not tell its rows.
  init(
    _ column: Column, name: String, number: @escaping (Int) -> UInt64
  ) throws(ProtocolError) {
    self.column = column
    self.number = number
    var unknown: ByteRows?
    switch column.values {
    case .unknown(let values):
      kind = values.kind
      unknown = try UnknownRows.rows(of: values, name: name)
    default: kind = Self.kind(of: column.values).rawValue
    }
    self.unknown = unknown
  }

  private static func kind(of values: Column.Values) -> ColumnCodec.Kind {
    switch values {
    case .integers: .integers
    case .doubles: .doubles
    case .dates: .dates
    case .booleans: .booleans
    case .strings: .strings
    case .bytes, .unknown: .bytes
    case .decimals: .decimals
    case .uris: .uris
    case .uuids: .uuids
    case .references: .references
    case .elements: .elements
    case .sealed: .sealed
    }
  }

  func cell(_ row: Int) -> (isNull: Bool, bytes: [UInt8]) {
    let isNull = column.isNull(at: row)
    var out = FoldBytes()
    if case .references(let indexes) = column.values {
      // The column says by itself which rows refer to nothing.
      let isEmpty = isNull || indexes[row] == Column.noReference
      out.append(varint: isEmpty ? 0 : number(Int(indexes[row])))
      return (false, out.bytes)
    }
    guard !isNull else { return (true, []) }
    switch column.values {
    case .integers(let values): out.append(varint: Packing.zigzag(values[row]))
    case .doubles(let values), .dates(let values): out.append(values[row].bitPattern)
    case .booleans(let values): out.bytes.append(values[row] ? 1 : 0)
    case .strings(let rows), .bytes(let rows), .decimals(let rows), .uris(let rows),
      .sealed(let rows):
      rows.withBytes(at: row) { out.bytes.append(contentsOf: $0) }
    case .uuids(let values): out.append(values[row])
    case .unknown: unknown?.withBytes(at: row) { out.bytes.append(contentsOf: $0) }
    case .references, .elements: break
    }
    return (false, out.bytes)
  }
}

extension FoldValue {
  /// The number of the object that it refers to; nil when it refers to none, or is no reference.
  var target: UInt64? {
    get throws(ProtocolError) {
      guard kind == ColumnCodec.Kind.references.rawValue else { return nil }
      var scan = FoldScanner(bytes)
      let number = try scan.nextVarint()
      return number == 0 ? nil : number
    }
  }
}

/// Makes a column of what a fold kept of its rows.
struct CellWriter {
  private let kind: UInt32
  private var count = 0
  private var nulls = RowBitmap()
  private var large = RowBitmap()
  private var integers: [Int64] = []
  private var doubles: [Double] = []
  private var booleans: [Bool] = []
  private var uuids: [UUID] = []
  private var references: [Int32] = []
  private var rows = ByteRows()
  private var elements = ElementRows()

  init(kind: UInt32) { self.kind = kind }

  mutating func append(added: [Int32], removed: [Int32]) {
    elements.append(added: added, removed: removed)
    count += 1
  }

  /// - Parameter target: The place of what a reference names in the object table; nil when it names nothing.
  mutating func append(_ value: FoldValue, target: Int32?) throws(ProtocolError) {
    if value.isNull { nulls.insert(count) }
    if value.isLarge { large.insert(count) }
    count += 1
    var scan = FoldScanner(value.bytes)
    switch ColumnCodec.Kind(rawValue: kind) {
    case .integers:
      integers.append(value.isNull ? 0 : Packing.unzigzag(try scan.nextVarint()))
    case .doubles, .dates:
      doubles.append(value.isNull ? 0 : Double(bitPattern: try scan.nextNumber()))
    case .booleans: booleans.append(value.isNull ? false : try scan.nextByte() != 0)
    case .uuids: uuids.append(value.isNull ? Self.noUUID : try scan.nextUUID())
    case .references: references.append(target ?? Column.noReference)
    case .strings, .bytes, .decimals, .uris, .sealed, nil:
      value.bytes.withUnsafeBufferPointer { rows.append($0) }
    case .elements: throw .damagedFold
    }
  }

  func column() throws(ProtocolError) -> Column {
    let values: Column.Values
    switch ColumnCodec.Kind(rawValue: kind) {
    case .integers: values = .integers(integers)
    case .doubles: values = .doubles(doubles)
    case .dates: values = .dates(doubles)
    case .booleans: values = .booleans(booleans)
    case .strings: values = .strings(rows)
    case .bytes: values = .bytes(rows)
    case .decimals: values = .decimals(rows)
    case .uris: values = .uris(rows)
    case .uuids: values = .uuids(uuids)
    case .references: values = .references(references)
    case .elements: values = .elements(elements)
    case .sealed: values = .sealed(rows)
    case nil: values = .unknown(try UnknownRows.column(rows, kind: kind, nulls: nulls))
    }
    return Column(values, nulls: nulls, large: large)
  }

  private static let noUUID = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
}

/// Columns of kinds that this version does not know: they have nulls, the length of each row and the bytes of all rows, and
/// name no object by its place in a table, so that their rows can be put together anew.
enum UnknownRows {
  static func rows(of column: UnknownColumn, name: String) throws(ProtocolError) -> ByteRows {
    guard let wire = try? WireColumn(serializedBytes: column.message), wire.packing == 0,
      wire.unknownFields.data.isEmpty,
      let lengths = Packing.readAllVarints(wire.numbers, countMax: column.count),
      lengths.count == column.count
    else { throw opaque(column, name) }
    var rows = ByteRows()
    var start = 0
    let content = Array(wire.content)
    for length in lengths {
      guard length <= UInt64(content.count - start) else { throw opaque(column, name) }
      let end = start + Int(length)
      content.withUnsafeBufferPointer {
        rows.append(UnsafeBufferPointer(rebasing: $0[start..<end]))
      }
      start = end
    }
    guard start == content.count else { throw opaque(column, name) }
    return rows
  }

  private static func opaque(_ column: UnknownColumn, _ name: String) -> ProtocolError {
    .unsupported(
      "The values of \(name) are of kind \(column.kind), which does not tell where its rows begin")
  }

  static func column(
    _ rows: ByteRows, kind: UInt32, nulls: RowBitmap
  ) throws(ProtocolError) -> UnknownColumn {
    var wire = WireColumn()
    wire.kind = kind
    wire.nulls = Data(nulls.bytes)
    let ends = rows.ends
    wire.numbers = Packing.varints(count: ends.count) {
      UInt64(truncatingIfNeeded: ends[$0] &- ($0 == 0 ? 0 : ends[$0 - 1]))
    }
    wire.content = Data(rows.content)
    do {
      return UnknownColumn(count: rows.count, kind: kind, message: try wire.serializedBytes())
    } catch {
      throw .tooLarge("A column of kind \(kind) cannot be written: \(error)")
    }
  }
}
