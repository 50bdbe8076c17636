import Foundation
import SwiftProtobuf

/// Reads columns; what all columns together may claim is bounded.
struct ColumnReader {
  let objectCount: Int
  private var elementsLeft: Int

  init(objectCount: Int, elementsMax: Int) {
    self.objectCount = objectCount
    elementsLeft = elementsMax
  }

  /// - Throws: `ProtocolError` when the column does not hold exactly `rows` values of its kind.
  mutating func read(_ wire: WireColumn, rows: Int) throws(ProtocolError) -> Column {
    let nulls = wire.nulls.isEmpty ? nil : RowBitmap(bytes: Array(wire.nulls))
    if let nulls, nulls.end > rows { throw .malformed("A column has null rows beyond its end") }
    guard wire.kind != 0 else { throw .malformed("A column says no kind") }
    guard let kind = ColumnCodec.Kind(rawValue: wire.kind) else {
      guard wire.large.isEmpty else {
        throw .unsupported("A column of kind \(wire.kind) names large values")
      }
      return Column(.unknown(try unknown(wire, rows: rows)), nulls: nulls)
    }
    guard let values = try read(kind, wire, rows: rows, nulls: nulls) else {
      throw .malformed("A column of \(kind) is not in its format")
    }
    let large = wire.large.isEmpty ? nil : RowBitmap(bytes: Array(wire.large))
    let column = Column(values, nulls: nulls, large: large)
    if let problem = column.largeProblem {
      throw .malformed("A column of \(kind) is not in its format: \(problem)")
    }
    return column
  }

  /// Nil: not in its format.
  private mutating func read(
    _ kind: ColumnCodec.Kind, _ wire: WireColumn, rows: Int, nulls: RowBitmap?
  ) throws(ProtocolError) -> Column.Values? {
    switch kind {
    case .integers:
      return try integers(wire, rows: rows, nulls: nulls).map { .integers($0) }
    case .doubles:
      return DateTicks.values(ofBits: wire.numbers, count: rows).map { .doubles($0) }
    case .dates:
      return try dates(wire, rows: rows, nulls: nulls).map { .dates($0) }
    case .booleans:
      return Packing.readBits(wire.numbers, count: rows).map { .booleans($0) }
    case .bytes: return byteRows(wire, rows: rows).map { .bytes($0) }
    case .strings: return try texts(wire, rows: rows).map { .strings($0) }
    case .decimals: return try texts(wire, rows: rows).map { .decimals($0) }
    case .uris: return try texts(wire, rows: rows).map { .uris($0) }
    case .uuids: return wire.content.uuids(count: rows).map { .uuids($0) }
    case .references:
      return try references(wire, rows: rows, nulls: nulls).map { .references($0) }
    case .elements: return try elements(wire, rows: rows).map { .elements($0) }
    case .sealed: return byteRows(wire, rows: rows).map { .sealed($0) }
    }
  }

  private func unknown(_ wire: WireColumn, rows: Int) throws(ProtocolError) -> UnknownColumn {
    do {
      let message: Data = try wire.serializedBytes()
      return UnknownColumn(count: rows, kind: wire.kind, message: message)
    } catch {
      throw .malformed("A column of unknown kind cannot be kept: \(error)")
    }
  }

  // MARK: - Numbers

  private func integers(
    _ wire: WireColumn, rows: Int, nulls: RowBitmap?
  ) throws(ProtocolError) -> [Int64]? {
    switch wire.packing {
    case 0: return Packing.readZigzags(wire.numbers, count: rows)
    case 1:
      guard var numbers = Packing.readDeltas(wire.numbers, count: rows) else { return nil }
      if let nulls {
        for row in 0..<rows where nulls.contains(row) { numbers[row] = 0 }
      }
      return numbers
    default: throw Self.unsupported(packing: wire.packing)
    }
  }

  private func dates(
    _ wire: WireColumn, rows: Int, nulls: RowBitmap?
  ) throws(ProtocolError) -> [Double]? {
    guard wire.packing != 0 else { return DateTicks.values(ofBits: wire.numbers, count: rows) }
    guard let ticks = DateTicks(rawValue: wire.packing) else {
      throw Self.unsupported(packing: wire.packing)
    }
    guard let numbers = Packing.readDeltas(wire.numbers, count: rows) else { return nil }
    var dates = numbers.map { ticks.seconds($0) }
    if let nulls {
      for row in 0..<rows where nulls.contains(row) { dates[row] = 0 }
    }
    return dates
  }

  private func references(
    _ wire: WireColumn, rows: Int, nulls: RowBitmap?
  ) throws(ProtocolError) -> [Int32]? {
    guard let numbers = try integers(wire, rows: rows, nulls: nulls) else { return nil }
    var indexes: [Int32] = []
    indexes.reserveCapacity(rows)
    for (row, number) in numbers.enumerated() {
      let number = nulls?.contains(row) == true ? 0 : number
      guard number >= 0, number <= Int64(objectCount) else { return nil }
      indexes.append(Int32(truncatingIfNeeded: number &- 1))
    }
    return indexes
  }

  // MARK: - Texts, binary values

  private func byteRows(_ wire: WireColumn, rows: Int) -> ByteRows? {
    let size = wire.content.count
    guard size <= Int(Int32.max), rows <= wire.numbers.count else { return nil }
    var isWhole = false
    let ends = [Int32](capacity: rows) { buffer, initialized in
      var end: UInt64 = 0
      isWhole = Packing.readVarints(wire.numbers, count: rows) { row, length in
        guard length <= UInt64(size) &- end else { return false }
        end &+= length
        buffer[row] = Int32(truncatingIfNeeded: end)
        initialized = row &+ 1
        return true
      }
      isWhole = isWhole && end == UInt64(size)
    }
    return isWhole ? ByteRows(content: Array(wire.content), ends: ends) : nil
  }

  private func texts(_ wire: WireColumn, rows: Int) throws(ProtocolError) -> ByteRows? {
    guard let texts = byteRows(wire, rows: rows) else { return nil }
    guard texts.isUTF8 else { throw .malformed("A column of texts is not UTF-8") }
    return texts
  }

  // MARK: - Elements

  private mutating func elements(
    _ wire: WireColumn, rows: Int
  ) throws(ProtocolError) -> ElementRows? {
    let size = Packing.count(of: wire.content)
    guard size <= elementsLeft else {
      throw .tooLarge("The change set adds and removes too many elements (elementsMax)")
    }
    elementsLeft -= size
    guard let numbers = Packing.readDeltas(wire.content, count: size) else { return nil }
    var elements: [Int32] = []
    elements.reserveCapacity(size)
    for number in numbers {
      guard number >= 0, number < Int64(objectCount) else { return nil }
      elements.append(Int32(truncatingIfNeeded: number))
    }
    guard rows <= wire.numbers.count / 2 else { return nil }
    var addedEnds: [Int32] = []
    var removedEnds: [Int32] = []
    addedEnds.reserveCapacity(rows)
    removedEnds.reserveCapacity(rows)
    var end = 0
    let isWhole = Packing.readVarints(wire.numbers, count: rows * 2) { place, count in
      guard count <= UInt64(size &- end) else { return false }
      end &+= Int(count)
      if place % 2 == 0 {
        addedEnds.append(Int32(truncatingIfNeeded: end))
      } else {
        removedEnds.append(Int32(truncatingIfNeeded: end))
      }
      return true
    }
    guard isWhole, end == size else { return nil }
    return ElementRows(addedEnds: addedEnds, removedEnds: removedEnds, elements: elements)
  }

  private static func unsupported(packing: UInt32) -> ProtocolError {
    .unsupported("A column is packed in a way (\(packing)) that this version does not know")
  }
}

extension ByteRows {
  /// Whether each row is UTF-8: the content is, and no row begins within a character.
  var isUTF8: Bool {
    guard (try? UTF8Span(validating: content.span)) != nil else { return false }
    return ends.allSatisfy { end in
      end >= content.count || content[Int(end)] & 0b1100_0000 != 0b1000_0000
    }
  }
}

extension Packing {
  /// How many varints there are, when the bytes are varints.
  static func count(of data: Data) -> Int {
    data.withUnsafeBytes { bytes in bytes.reduce(0) { $0 &+ ($1 < 128 ? 1 : 0) } }
  }
}
