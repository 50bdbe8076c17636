import Driftless
import DriftlessProtocol
import Foundation

/// Makes a column of the wire from the cells of one property.
enum ColumnWriter {
  /// - Parameter place: the index of an object in the object table; nil when it is in no change set
  ///   yet.
  static func column(
    _ property: SyncSchema.Property, _ cells: [ChangeDraft.Cell], place: (ObjectKey) -> Int32?
  ) -> Column {
    var nulls = RowBitmap()
    for (row, cell) in cells.enumerated() {
      if case .value(.null) = cell { nulls.insert(row) }
    }
    let values: Column.Values
    switch property.kind {
    case .attribute(let type): values = attribute(type, cells)
    case .place: values = attribute(.integer64, cells)
    case .toOne:
      values = .references(
        cells.map { cell in
          guard case .value(.reference(let key)) = cell else { return Column.noReference }
          return place(key) ?? Column.noReference
        })
      // The column says by itself which rows refer to nothing.
      nulls = RowBitmap()
    case .elements: values = .elements(elements(cells, place: place))
    }
    return Column(values, nulls: nulls)
  }

  private static func attribute(
    _ type: AttributeType, _ cells: [ChangeDraft.Cell]
  ) -> Column.Values {
    switch type {
    case .integer16, .integer32, .integer64:
      .integers(cells.map { if case .value(.integer(let value)) = $0 { value } else { 0 } })
    case .double, .float:
      .doubles(cells.map { if case .value(.double(let value)) = $0 { value } else { 0 } })
    case .date:
      .dates(
        cells.map {
          if case .value(.date(let value)) = $0 { value.timeIntervalSinceReferenceDate } else { 0 }
        })
    case .boolean:
      .booleans(cells.map { if case .value(.bool(let value)) = $0 { value } else { false } })
    case .uuid:
      .uuids(cells.map { if case .value(.uuid(let value)) = $0 { value } else { noUUID } })
    case .decimal: .decimals(rows(cells))
    case .uri: .uris(rows(cells))
    case .string: .strings(rows(cells))
    case .binaryData, .transformable, .objectID, .undefined, .composite: .bytes(rows(cells))
    }
  }

  private static let noUUID = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

  private static func rows(_ cells: [ChangeDraft.Cell]) -> ByteRows {
    var rows = ByteRows()
    rows.reserveCapacity(rows: cells.count, bytes: cells.count * 16)
    for cell in cells {
      switch cell {
      case .value(.string(let text)): rows.append(text)
      case .value(.data(let data)): rows.append(data)
      case .value(.decimal(let number)): rows.append(number.description)
      case .value(.uri(let uri)): rows.append(uri.absoluteString)
      default: rows.appendEmpty()
      }
    }
    return rows
  }

  private static func elements(
    _ cells: [ChangeDraft.Cell], place: (ObjectKey) -> Int32?
  ) -> ElementRows {
    var rows = ElementRows()
    for cell in cells {
      guard case .elements(let elements) = cell else {
        rows.append(added: [], removed: [])
        continue
      }
      rows.append(
        added: elements.adds.compactMap(place), removed: elements.removes.compactMap(place))
    }
    return rows
  }
}
