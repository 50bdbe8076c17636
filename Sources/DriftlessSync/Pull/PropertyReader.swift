import Driftless
import DriftlessProtocol
import Foundation

/// A column of a change set with the property of this model that it sets.
struct PropertyReader {
  let property: SyncSchema.Property
  /// What the change set calls it.
  let name: String
  /// Whether the column has values of another type than the attribute, each of which is set aside.
  let isOfOtherType: Bool
  /// Whether each value is the whole set: of a relationship that was to-one when it was sent, and is to-many by now.
  var saysWhole: Bool {
    guard case .elements = property.kind, case .references = column.values else { return false }
    return true
  }
  /// Whether the model may not hold some value of the column.
  var mayBeRefused: Bool {
    switch column.values {
    case .decimals, .uris, .sealed: true
    default:
      column.large != nil || isOfOtherType || widening != nil
        || property.standIn?.limitsValues == true
    }
  }
  /// Whether it says of an attribute that no object has a value.
  var saysNothing: Bool { column.isNothing }
  private let column: Column
  /// What the values of a type of before become, as they do where a store is migrated.
  private let widening: Widening?
  /// The column as it came, where it names large values: `column` has their bytes, as far as they are here.
  var told: Column?
  /// Whether it names large values, not sealed ones.
  var namesValues: Bool {
    guard case .bytes? = told?.values else { return false }
    return true
  }
  /// The large value that a row names.
  func named(_ row: Int) -> LargeValue? { namesValues ? told?.largeValue(at: row) : nil }
  /// Whether the bytes of a row's large value are here.
  func hasBytes(_ row: Int) -> Bool { column.large?.contains(row) != true }
  /// Of elements: objects that the row says nothing of, as indexes in the object table.
  var leftOut: Set<Int> = []
  /// Of elements, in a row of an entry that comes late: those that later entries name, by zone object numbers.
  var laterElements: Set<UInt64> = []

  /// Nil when the column cannot be about the property, a value for a relationship, say: the models
  /// differ, and the change is kept for later.
  ///
  /// - Parameter name: what the change set calls the property; nil for its name of now.
  init?(property: SyncSchema.Property, column: Column, name: String? = nil) {
    let fits = Self.fits(column.values, property.kind)
    widening = fits ? nil : Widening(column.values, property.kind)
    isOfOtherType = !fits && widening == nil
    if isOfOtherType {
      guard case .attribute = property.kind, ColumnKind(column.values) == .values else {
        return nil
      }
    }
    self.property = property
    self.name = name ?? property.name
    self.column = column
  }

  private static func fits(_ values: Column.Values, _ kind: SyncSchema.Property.Kind) -> Bool {
    switch (values, kind) {
    case (.references, .toOne), (.elements, .elements), (.references, .elements): true
    case (.integers, .place): true
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
    // Each cell says by itself what it is.
    case (.sealed, .attribute): true
    default: false
    }
  }

  typealias Kinds = (
    single: [PropertyReader], elements: [PropertyReader], places: [PropertyReader]
  )

  /// The readers of values of the row, those of elements, and those of places.
  static func split(_ readers: [PropertyReader]) -> Kinds {
    var single: [PropertyReader] = []
    var elements: [PropertyReader] = []
    var places: [PropertyReader] = []
    for reader in readers {
      switch reader.property.kind {
      case .elements: elements.append(reader)
      case .place: places.append(reader)
      case .attribute, .toOne: single.append(reader)
      }
    }
    return (single, elements, places)
  }

  /// The place of a row's object; nil when it has none.
  func place(_ row: Int) -> Int64? {
    if case .integer(let place) = value(row) { return place }
    return nil
  }

  /// The value of an attribute.
  func value(_ row: Int) -> PropertyValue {
    let value = column.value(at: row)
    if column.isSealed { return Widening.widened(value, property.kind) }
    return widening?.value(value) ?? value
  }

  /// The values of an attribute in some rows, into the first rows of a table.
  func read(_ rows: some Sequence<Int>, into values: ValueColumn) {
    column.read(rows, into: values)
    guard widening != nil || column.isSealed else { return }
    for (place, _) in rows.enumerated() {
      let value = values[place]
      values[place] = widening?.value(value) ?? Widening.widened(value, property.kind)
    }
  }

  /// The object that a to-one relationship refers to, as an index in the object table.
  func reference(_ row: Int) -> Int? {
    guard case .references(let values) = column.values, !column.isNull(at: row),
      values[row] != Column.noReference
    else { return nil }
    return Int(values[row])
  }

  /// The objects that a many-to-many relationship gained and lost, as indexes in the object table; of one that was to-one, all
  /// that it has.
  func elements(_ row: Int) -> (adds: [Int], removes: [Int]) {
    func named(_ all: [Int]) -> [Int] {
      leftOut.isEmpty ? all : all.filter { !leftOut.contains($0) }
    }
    if saysWhole { return (named(reference(row).map { [$0] } ?? []), []) }
    guard case .elements(let rows) = column.values else { return ([], []) }
    return (
      named(rows.added(at: row).map { Int($0) }), named(rows.removed(at: row).map { Int($0) })
    )
  }
}

extension Column {
  /// The value of an attribute.
  func value(at row: Int) -> PropertyValue {
    var value = PropertyValue.null
    ValueColumn.ofOne(&value) { read(CollectionOfOne(row), into: $0) }
    return value
  }

  /// The values of an attribute in some rows, into the first rows of a table.
  fileprivate func read(_ rows: some Sequence<Int>, into column: ValueColumn) {
    func fill(_ value: (Int) -> PropertyValue) {
      var place = 0
      for row in rows {
        column[place] = isNull(at: row) ? .null : value(row)
        place += 1
      }
    }
    switch self.values {
    case .integers(let values): fill { .integer(values[$0]) }
    case .doubles(let values): fill { .double(values[$0]) }
    case .dates(let values): fill { .date(Date(timeIntervalSinceReferenceDate: values[$0])) }
    case .booleans(let values): fill { .bool(values[$0]) }
    case .strings(let texts): fill { .string(texts.string(at: $0)) }
    case .bytes(let blobs): fill { .data(blobs.data(at: $0)) }
    // A text that is no number, or no address, is a value of another type.
    case .decimals(let texts):
      fill { row in
        if let short = texts.withBytes(at: row, { Decimal(shortText: $0) }) {
          return .decimal(short)
        }
        let text = texts.string(at: row)
        return Decimal(wholeText: text).map { .decimal($0) } ?? .string(text)
      }
    case .uris(let texts):
      fill { row in
        let text = texts.string(at: row)
        return URL(string: text).map { .uri($0) } ?? .string(text)
      }
    case .uuids(let values): fill { .uuid(values[$0]) }
    case .sealed(let cells):
      fill { row in CellOpener.value(cells.withBytes(at: row) { Array($0) }) }
    case .references, .elements, .unknown: fill { _ in .null }
    }
  }
}
