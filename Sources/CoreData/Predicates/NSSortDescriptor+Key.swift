public import Driftless
public import Foundation

// Foundation's sort descriptors on Linux know Swift key paths alone. A key is kept in one, as the arguments of a subscript.
extension NSSortDescriptor {
  /// How texts are ordered: `.localizedStandardCompare` and so on. It stands where Core Data has a selector.
  public typealias Comparison = FetchSort.Selector

  /// Orders objects by a property, or one behind to-one relationships: `author.name`. It is for fetches.
  public convenience init(key: String?, ascending: Bool) {
    self.init(key: key, ascending: ascending, selector: nil)
  }

  /// Orders texts in a way of their own.
  public convenience init(key: String?, ascending: Bool, selector: Comparison?) {
    let keyPath = \SortKeys[key ?? "", selector?.options.rawValue ?? 0]
    self.init(keyPath: keyPath, ascending: ascending)
  }

  /// Orders objects by a Swift property of any type, such as an optional one: the attribute or relationship that its
  /// getter gives as it is.
  @_disfavoredOverload
  public convenience init<Root: ManagedObject, Value>(
    keyPath: KeyPath<Root, Value>, ascending: Bool
  ) {
    self.init(keyPath: keyPath, ascending: ascending) { left, right in
      order(propertyValue(left) ?? .null, propertyValue(right) ?? .null)
    }
  }

  /// The key that the descriptor was made with; nil for one with a key path.
  public var key: String? { sortKey?.name }

  private var sortKey: SortKey? {
    (keyPath as? KeyPath<SortKeys, SortKey>).map { SortKeys()[keyPath: $0] }
  }

  static func make(_ sort: FetchSort) -> NSSortDescriptor {
    let name = sort.keyPath.joined(separator: ".")
    let keyPath = \SortKeys[name, sort.options.rawValue]
    return NSSortDescriptor(keyPath: keyPath, ascending: sort.ascending)
  }

  /// The descriptor as the library has it.
  ///
  /// - Throws: `FetchError` for a key path that reads no property as it is.
  func known(in context: NSManagedObjectContext?) throws -> FetchSort {
    if let sortKey {
      return FetchSort(
        sortKey.name, ascending: ascending,
        options: FetchComparison.Options(rawValue: sortKey.options))
    }
    let keyPath = keyPath
    guard let context,
      let type = Swift.type(of: keyPath).rootType as? ManagedObject.Type
    else {
      throw FetchError(
        .unsupported, "A fetch cannot be sorted by a closure, or without its context",
        suggestion: "Sort by the key of a property.")
    }
    let name = try context.base.propertyName(of: keyPath, in: type) { $0[keyPath: keyPath] }
    return FetchSort(name, ascending: ascending)
  }
}

/// Whose subscript's arguments are a key.
private struct SortKeys {
  subscript(name: String, options: Int) -> SortKey { SortKey(name: name, options: options) }
}

private struct SortKey: Comparable {
  let name: String
  let options: Int

  static func < (left: SortKey, right: SortKey) -> Bool { left.name < right.name }
}

/// The order of two values in memory: none first, texts by their characters.
private func order(_ left: PropertyValue, _ right: PropertyValue) -> ComparisonResult {
  switch (left, right) {
  case (.null, .null): .orderedSame
  case (.null, _): .orderedAscending
  case (_, .null): .orderedDescending
  case (.string(let left), .string(let right)): order(left, right)
  case (.date(let left), .date(let right)): order(left, right)
  case (.integer(let left), .integer(let right)): order(left, right)
  case (.double(let left), .double(let right)): order(left, right)
  case (.decimal(let left), .decimal(let right)): order(left, right)
  case (.bool(let left), .bool(let right)): order(left ? 1 : 0, right ? 1 : 0)
  case (.uuid(let left), .uuid(let right)): order(left.uuidString, right.uuidString)
  case (.uri(let left), .uri(let right)): order(left.absoluteString, right.absoluteString)
  default: .orderedSame
  }
}

private func order<Value: Comparable>(_ left: Value, _ right: Value) -> ComparisonResult {
  left < right ? .orderedAscending : left == right ? .orderedSame : .orderedDescending
}
