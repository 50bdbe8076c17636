public import Driftless
public import Foundation

// Foundation's sort descriptors on Linux know Swift key paths alone. A key is kept in one, as the arguments of a subscript.
extension NSSortDescriptor {
  /// How texts are ordered: `.localizedStandardCompare` and so on. It stands where Core Data has a selector.
  public typealias Comparison = FetchSort.Selector

  /// Orders objects by a property, or one behind to-one relationships: `author.name`. In memory it orders managed objects and
  /// dictionaries, as a fetch does; a property that there is not makes the next save of the objects' context fail.
  public convenience init(key: String?, ascending: Bool) {
    self.init(key: key, ascending: ascending, selector: nil)
  }

  /// Orders texts in a way of their own.
  public convenience init(key: String?, ascending: Bool, selector: Comparison?) {
    self.init(key ?? "", selector?.options ?? [], ascending)
  }

  private convenience init(
    _ name: String, _ options: FetchComparison.Options, _ ascending: Bool
  ) {
    let keyPath = \(any SortedByKey).[sortKey: name, options.rawValue]
    self.init(keyPath: keyPath, ascending: ascending) { left, right in
      guard let left = left as? SortKey, let right = right as? SortKey else { return .orderedSame }
      return left.order(to: right)
    }
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

  /// Orders by a Swift property, as `init(_:)` of a `SortDescriptor` asks for.
  static func make<Root, Value>(
    _ keyPath: PartialKeyPath<Root>, _ ascending: Bool, _ type: Value.Type
  )
    -> NSSortDescriptor?
  {
    guard let keyPath = keyPath as? KeyPath<Root, Value> else { return nil }
    return NSSortDescriptor(keyPath: keyPath, ascending: ascending) { left, right in
      order(propertyValue(left) ?? .null, propertyValue(right) ?? .null)
    }
  }

  /// The key that the descriptor was made with; nil for one with a key path.
  public var key: String? { sortKey?.name }

  private var sortKey: SortKey? {
    (keyPath as? KeyPath<any SortedByKey, SortKey>).map { NSNull()[keyPath: $0] }
  }

  static func make(_ sort: FetchSort) -> NSSortDescriptor {
    NSSortDescriptor(sort.keyPath.joined(separator: "."), sort.options, sort.ascending)
  }

  /// The descriptor as the library has it.
  ///
  /// - Throws: `FetchError` for a key path that reads no property as it is.
  func known(in context: NSManagedObjectContext?) throws -> FetchSort {
    if let sortKey {
      return FetchSort(sortKey.name, ascending: ascending, options: sortKey.options)
    }
    let keyPath = keyPath
    guard let context,
      let type = Swift.type(of: keyPath).rootType as? ManagedObject.Type
    else {
      throw FetchError(
        .unsupported, "A fetch cannot be sorted by a closure, or without its context",
        suggestion: "Sort by the key of a property.")
    }
    let name = try context.base.propertyName(of: keyPath, in: type) { object in
      let value = object[keyPath: keyPath]
      if value is ManagedObject { return value }
      return propertyValue(value).flatMap(\.plain) ?? value
    }
    return FetchSort(name, ascending: ascending)
  }
}

/// What `init(_:)` of a `SortDescriptor` is a member of: sort descriptors are.
public protocol NSSortDescriptorMaking {}

extension NSSortDescriptor: NSSortDescriptorMaking {}

extension NSSortDescriptorMaking {
  /// Orders objects as a `SortDescriptor` does, by the property that it reads. How it compares texts is not taken over: a fetch
  /// orders them by their characters.
  public init<Compared>(_ sortDescriptor: SortDescriptor<Compared>) {
    let ascending = sortDescriptor.order == .forward
    func open<Value>(_ type: Value.Type) -> NSSortDescriptor? {
      sortDescriptor.keyPath.flatMap { NSSortDescriptor.make($0, ascending, type) }
    }
    let made = sortDescriptor.keyPath.flatMap { keyPath -> NSSortDescriptor? in
      let value: Any.Type = Swift.type(of: keyPath).valueType
      return _openExistential(value, do: open)
    }
    guard let descriptor = (made ?? NSSortDescriptor(key: nil, ascending: ascending)) as? Self
    else {
      preconditionFailure("\(Self.self) is not made of a SortDescriptor: make an NSSortDescriptor")
    }
    self = descriptor
  }
}

/// What a sort descriptor with a key orders in memory.
private protocol SortedByKey {
  /// Reads values by their names; nil for what has none.
  var sortSource: (any PropertySource)? { get }
}

extension SortedByKey {
  subscript(sortKey name: String, options: Int) -> SortKey {
    SortKey(name: name, options: FetchComparison.Options(rawValue: options), owner: self)
  }
}

extension ManagedObject: SortedByKey {
  fileprivate var sortSource: (any PropertySource)? { self }
}

extension Dictionary: SortedByKey {
  fileprivate var sortSource: (any PropertySource)? {
    NamedValues(values: reduce(into: [:]) { $0["\($1.key)"] = $1.value })
  }
}

extension NSObject: SortedByKey {
  fileprivate var sortSource: (any PropertySource)? {
    (self as? NSDictionary).map { dictionary in
      NamedValues(values: dictionary.reduce(into: [:]) { $0["\($1.key)"] = $1.value })
    }
  }
}

extension String: SortedByKey {
  fileprivate var sortSource: (any PropertySource)? { nil }
}

/// Something to be ordered, and by what.
private struct SortKey {
  let name: String
  let options: FetchComparison.Options
  let owner: any SortedByKey

  func order(to other: SortKey) -> ComparisonResult {
    guard let left = owner.sortSource, let right = other.owner.sortSource else {
      precondition(
        name.isEmpty || name.lowercased() == "self",
        "A sort descriptor orders managed objects and dictionaries by \(name), not \(type(of: owner))"
      )
      return CoreData.order(propertyValue(owner) ?? .null, propertyValue(other.owner) ?? .null)
    }
    var result = ComparisonResult.orderedSame
    func compare() throws { result = try FetchSort(name, options: options).order(left, right) }
    if let object = left as? ManagedObject { object.deferError(compare) } else { try? compare() }
    return result
  }
}

/// The order of two values in memory: none first, texts by their characters.
func order(_ left: PropertyValue, _ right: PropertyValue) -> ComparisonResult {
  switch (left, right) {
  case (.null, .null): .orderedSame
  case (.null, _): .orderedAscending
  case (_, .null): .orderedDescending
  case (.string(let left), .string(let right)): order(left, right)
  case (.date(let left), .date(let right)): order(left, right)
  case (.integer(let left), .integer(let right)): order(left, right)
  case (.double(let left), .double(let right)): order(left, right)
  case (.integer(let left), .double(let right)): order(Double(left), right)
  case (.double(let left), .integer(let right)): order(left, Double(right))
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
