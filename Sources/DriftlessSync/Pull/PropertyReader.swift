import Driftless
import DriftlessProtocol
import Foundation

/// A column of a change set with the property of this model that it sets.
struct PropertyReader {
  let property: SyncSchema.Property
  private let column: Column

  /// Nil when the column's kind does not fit the property: the models differ, and the change is
  /// kept for later.
  init?(property: SyncSchema.Property, column: Column) {
    guard Self.fits(column.values, property.kind) else { return nil }
    self.property = property
    self.column = column
  }

  private static func fits(_ values: Column.Values, _ kind: SyncSchema.Property.Kind) -> Bool {
    switch (values, kind) {
    case (.references, .toOne), (.elements, .elements): true
    case (.integers, .attribute(let type)):
      type == .integer16 || type == .integer32 || type == .integer64
    case (.doubles, .attribute(let type)): type == .double || type == .float
    case (.dates, .attribute(let type)): type == .date
    case (.booleans, .attribute(let type)): type == .boolean
    case (.strings, .attribute(let type)): type == .string
    case (.bytes, .attribute(let type)):
      type == .binaryData || type == .transformable || type == .objectID || type == .undefined
        || type == .composite
    case (.decimals, .attribute(let type)): type == .decimal
    case (.uris, .attribute(let type)): type == .uri
    case (.uuids, .attribute(let type)): type == .uuid
    default: false
    }
  }

  /// The readers of single values, and those of elements.
  static func split(_ readers: [PropertyReader]) -> ([PropertyReader], [PropertyReader]) {
    var single: [PropertyReader] = []
    var elements: [PropertyReader] = []
    for reader in readers {
      if case .elements = reader.property.kind {
        elements.append(reader)
      } else {
        single.append(reader)
      }
    }
    return (single, elements)
  }

  /// The value of an attribute.
  func value(_ row: Int) -> PropertyValue {
    if column.isNull(at: row) { return .null }
    return switch column.values {
    case .integers(let values): .integer(values[row])
    case .doubles(let values): .double(values[row])
    case .dates(let values): .date(Date(timeIntervalSinceReferenceDate: values[row]))
    case .booleans(let values): .bool(values[row])
    case .strings(let rows): .string(rows.string(at: row))
    case .bytes(let rows): .data(rows.data(at: row))
    case .decimals(let rows):
      Decimal(string: rows.string(at: row)).map { .decimal($0) } ?? .null
    case .uris(let rows): URL(string: rows.string(at: row)).map { .uri($0) } ?? .null
    case .uuids(let values): .uuid(values[row])
    case .references, .elements, .unknown: .null
    }
  }

  /// The object that a to-one relationship refers to, as an index in the object table.
  func reference(_ row: Int) -> Int? {
    guard case .references(let values) = column.values, !column.isNull(at: row),
      values[row] != Column.noReference
    else { return nil }
    return Int(values[row])
  }

  /// The objects that a many-to-many relationship gained and lost, as indexes in the object table.
  func elements(_ row: Int) -> (adds: [Int], removes: [Int]) {
    guard case .elements(let rows) = column.values else { return ([], []) }
    return (rows.added(at: row).map { Int($0) }, rows.removed(at: row).map { Int($0) })
  }
}
