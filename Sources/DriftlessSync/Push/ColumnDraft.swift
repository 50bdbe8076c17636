import Driftless
import DriftlessProtocol
import Foundation

/// A column of a change set while it is built: values as the wire has them, objects still by their keys.
struct ColumnDraft {
  enum Cell {
    case value(PropertyValue)
    /// Elements that a many-to-many relationship gained and lost.
    case elements(adds: [ObjectKey], removes: [ObjectKey])

    /// About as many as it takes on the wire, not compressed; of an element, which takes little there, half of what it does here.
    var bytes: Int {
      switch self {
      case .value(.string(let text)): text.utf8.count
      case .value(.data(let data)): data.count
      case .value: 8
      case .elements(let adds, let removes): 8 * (adds.count + removes.count)
      }
    }

    var isEmpty: Bool {
      switch self {
      case .value(let value): value.isNull
      case .elements(let adds, let removes): adds.isEmpty && removes.isEmpty
      }
    }
  }

  let property: SyncSchema.Property
  /// Whether no cell says anything.
  private(set) var isEmpty = true
  private(set) var count = 0
  private var nulls = RowBitmap()
  // What the property's kind uses is filled.
  private var integers: [Int64] = []
  private var doubles: [Double] = []
  private var booleans: [Bool] = []
  private var uuids: [UUID] = []
  private var rows = ByteRows()
  /// The values of an encrypted property: they are sealed when the column is made.
  private var sealed: [PropertyValue] = []
  /// References, a cell each, or elements, those that a cell adds before those that it removes.
  private var keys: [ObjectKey] = []
  private var elementCounts: [(adds: Int32, removes: Int32)] = []

  init(_ property: SyncSchema.Property) { self.property = property }

  mutating func append(_ cell: Cell) {
    if !cell.isEmpty { isEmpty = false }
    switch cell {
    case .value(let value): append(value)
    case .elements(let adds, let removes):
      keys += adds
      keys += removes
      elementCounts.append((Int32(clamping: adds.count), Int32(clamping: removes.count)))
    }
    count += 1
    assert(entryCount == count, "a cell has its entry, whatever is in it")
  }

  /// How many cells there is an entry for, of what the property's kind uses.
  private var entryCount: Int {
    switch property.kind {
    case .attribute where property.isSealed: sealed.count
    case .attribute(let type): entryCount(of: type)
    case .place: integers.count
    case .toOne: keys.count
    case .elements: elementCounts.count
    }
  }

  private func entryCount(of type: AttributeType) -> Int {
    switch type {
    case .integer16, .integer32, .integer64: integers.count
    case .double, .float, .date: doubles.count
    case .boolean: booleans.count
    case .uuid: uuids.count
    case .decimal, .uri, .string, .binaryData, .transformable, .objectID, .undefined, .composite:
      rows.count
    }
  }

  private mutating func append(_ value: PropertyValue) {
    switch property.kind {
    case .attribute where property.isSealed: sealed.append(value)
    case .attribute(let type): append(value, type)
    case .place: append(value, .integer64)
    case .toOne:
      if case .reference(let key) = value { keys.append(key) } else { keys.append(Self.nothing) }
      // The column says by itself which rows refer to nothing.
      return
    case .elements: elementCounts.append((0, 0))
    }
    if value.isNull { nulls.insert(count) }
  }

  private mutating func append(_ value: PropertyValue, _ type: AttributeType) {
    switch type {
    case .integer16, .integer32, .integer64:
      if case .integer(let value) = value { integers.append(value) } else { integers.append(0) }
    case .double, .float:
      if case .double(let value) = value { doubles.append(value) } else { doubles.append(0) }
    case .date:
      if case .date(let value) = value {
        doubles.append(value.timeIntervalSinceReferenceDate)
      } else {
        doubles.append(0)
      }
    case .boolean:
      if case .bool(let value) = value { booleans.append(value) } else { booleans.append(false) }
    case .uuid:
      if case .uuid(let value) = value { uuids.append(value) } else { uuids.append(Self.noUUID) }
    case .decimal, .uri, .string, .binaryData, .transformable, .objectID, .undefined, .composite:
      switch value {
      case .string(let text): rows.append(text)
      case .data(let data): rows.append(data)
      case .decimal(let number): rows.append(number.wholeText)
      case .uri(let uri): rows.append(uri.absoluteString)
      default: rows.appendEmpty()
      }
    }
  }

  /// Every object that a cell names.
  var targets: some Sequence<ObjectKey> { keys.lazy.filter { $0 != Self.nothing } }

  /// Hands over the objects that each cell names.
  func forEachTarget(_ body: (_ row: Int, ObjectKey) -> Void) {
    if case .elements = property.kind {
      var start = 0
      for (row, counts) in elementCounts.enumerated() {
        let end = start + Int(counts.adds) + Int(counts.removes)
        for key in keys[start..<end] { body(row, key) }
        start = end
      }
    } else {
      for (row, key) in keys.enumerated() where key != Self.nothing { body(row, key) }
    }
  }

  /// - Parameters:
  ///   - place: the index of an object in the object table; nil when it is in no change set yet.
  ///   - seal: the cell of a row's value.
  func column(
    place: (ObjectKey) -> Int32?, seal: (Int, PropertyValue) throws -> [UInt8]
  ) rethrows -> Column {
    switch property.kind {
    case .attribute where property.isSealed: try sealedColumn(seal)
    case .attribute(let type): Column(values(type), nulls: nulls)
    case .place: Column(.integers(integers), nulls: nulls)
    case .toOne:
      Column(
        .references(
          keys.map { $0 == Self.nothing ? Column.noReference : place($0) ?? Column.noReference }))
    case .elements: Column(.elements(elements(place)))
    }
  }

  private func sealedColumn(
    _ seal: (Int, PropertyValue) throws -> [UInt8]
  ) rethrows -> Column {
    var cells = ByteRows()
    for (row, value) in sealed.enumerated() {
      if value.isNull { cells.appendEmpty() } else { cells.append(Data(try seal(row, value))) }
    }
    return Column(.sealed(cells), nulls: nulls)
  }

  private func values(_ type: AttributeType) -> Column.Values {
    switch type {
    case .integer16, .integer32, .integer64: .integers(integers)
    case .double, .float: .doubles(doubles)
    case .date: .dates(doubles)
    case .boolean: .booleans(booleans)
    case .uuid: .uuids(uuids)
    case .decimal: .decimals(rows)
    case .uri: .uris(rows)
    case .string: .strings(rows)
    case .binaryData, .transformable, .objectID, .undefined, .composite: .bytes(rows)
    }
  }

  private func elements(_ place: (ObjectKey) -> Int32?) -> ElementRows {
    var rows = ElementRows()
    var start = 0
    for (adds, removes) in elementCounts {
      let middle = start + Int(adds)
      let end = middle + Int(removes)
      rows.append(
        added: keys[start..<middle].compactMap(place),
        removed: keys[middle..<end].compactMap(place))
      start = end
    }
    return rows
  }

  /// The column with its cells in another order.
  ///
  /// - Parameter order: the place that each cell has now.
  func reordered(_ order: [Int]) -> ColumnDraft {
    assert(order.count == count, "each cell has a place")
    var column = ColumnDraft(property)
    column.isEmpty = isEmpty
    column.count = count
    func permuted<Value>(_ values: [Value]) -> [Value] {
      values.isEmpty ? [] : order.map { values[$0] }
    }
    column.integers = permuted(integers)
    column.doubles = permuted(doubles)
    column.booleans = permuted(booleans)
    column.uuids = permuted(uuids)
    column.sealed = permuted(sealed)
    for (row, place) in order.enumerated() {
      if nulls.contains(place) { column.nulls.insert(row) }
      if rows.count > 0 { rows.withBytes(at: place) { column.rows.append($0) } }
    }
    guard case .elements = property.kind else {
      column.keys = permuted(keys)
      return column
    }
    column.elementCounts = permuted(elementCounts)
    var starts = [0]
    for (adds, removes) in elementCounts {
      starts.append(starts[starts.count - 1] + Int(adds) + Int(removes))
    }
    for place in order { column.keys += keys[starts[place]..<starts[place + 1]] }
    return column
  }

  /// In place of a reference's key: no entity has this number.
  private static let nothing = ObjectKey(entity: -1, key: 0)
  private static let noUUID = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
}

extension ReadTransaction {
  /// The place beside a reference, as it is sent.
  func placeValue(
    of key: ObjectKey, in relationship: RelationshipDescription
  ) throws -> PropertyValue {
    try place(of: key, in: relationship).map { .integer($0) } ?? .null
  }
}
