/// One row of a fetch that gives dictionaries: values by name, those that are missing left out.
///
/// ```swift
/// for row in try context.fetchRows(request) { print(row["title", as: String.self] ?? "untitled") }
/// ```
public struct FetchedRow: Sendable {
  /// Some hundred rows that lie in memory together, which costs a fraction of a dictionary for each.
  private let block: FetchedRowBlock
  private let row: Int

  init(_ block: FetchedRowBlock, row: Int) {
    self.block = block
    self.row = row
  }

  /// The values by name. A to-one relationship's value is a `.reference`; see ``objectID(_:)``.
  public var values: [String: PropertyValue] {
    block.columns.reduce(into: [:]) { result, column in
      let value = block.value(row, column.value)
      if !value.isNull { result[column.key] = value }
    }
  }

  /// The value of that name; nil where it is null, and where the fetch asked for no value of that name.
  public subscript(name: String) -> PropertyValue? {
    guard let column = block.columns[name] else { return nil }
    let value = block.value(row, column)
    return value.isNull ? nil : value
  }

  /// The value as a Swift type; nil where it is null or was not asked for, is not here yet, or is of another type.
  public subscript<Value: AttributeConvertible>(name: String, as type: Value.Type) -> Value? {
    self[name].flatMap { $0.isInZone ? nil : Value(propertyValue: $0) }
  }

  /// The object that a to-one relationship refers to.
  public func objectID(_ name: String) -> ManagedObjectID? {
    guard case .reference(let key)? = self[name] else { return nil }
    return block.objectIDs[key]
  }

  /// Plain Swift values by name, ``ManagedObjectID`` for objects; for a large value that is not here the ``PropertyValue`` that stands
  /// for it, which setters take back.
  public var dictionary: [String: any Sendable] {
    values.reduce(into: [:]) { result, entry in
      result[entry.key] = objectID(entry.key) ?? entry.value.plainOrName
    }
  }
}

extension FetchedRow: Hashable {
  public static func == (left: FetchedRow, right: FetchedRow) -> Bool {
    left.values == right.values
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(values) }
}

/// The values of some rows, one row behind the other.
final class FetchedRowBlock: Sendable {
  /// Where a value is in its row.
  let columns: [String: Int]
  let values: [PropertyValue]
  /// Of the objects that are referred to.
  let objectIDs: [ObjectKey: ManagedObjectID]

  init(
    columns: [String: Int], values: [PropertyValue], objectIDs: [ObjectKey: ManagedObjectID]
  ) {
    self.columns = columns
    self.values = values
    self.objectIDs = objectIDs
  }

  func value(_ row: Int, _ column: Int) -> PropertyValue { values[row * columns.count + column] }
}
