import Driftless
import Foundation

/// Follows the names of a key path, from an object or a collection.
struct ValuePath {
  /// Told of a name that leads nowhere.
  let refuse: (String) -> Void

  init(_ refuse: @escaping (String) -> Void) { self.refuse = refuse }

  static func keys(of keyPath: String) -> ArraySlice<String> {
    keyPath.split(separator: ".").map(String.init)[...]
  }

  // MARK: Reading

  func value(at path: ArraySlice<String>, of value: Any?) -> Any? {
    guard let value, !(value is NSNull) else { return nil }
    guard let key = path.first else { return value }
    let rest = path.dropFirst()
    if let object = value as? ManagedObject {
      if path.count > 1, object.isComposite(key) {
        return object.value(forKey: path.joined(separator: "."))
      }
      return self.value(at: rest, of: object.value(forKey: key))
    }
    if let values = value as? [String: Any] { return self.value(at: rest, of: values[key]) }
    guard let collection = PathCollection(value) else {
      if let member = OwnMember.reading(of: value, key) {
        return self.value(at: rest, of: member())
      }
      refuse(key)
      return nil
    }
    guard key.hasPrefix("@") else {
      return collection.with(collection.elements.map { self.value(at: path, of: $0) })
    }
    guard let known = PathOperator(rawValue: key) else {
      refuse(key)
      return nil
    }
    let values = collection.elements.map { self.value(at: rest, of: $0) }
    return known.result(of: values, count: collection.elements.count)
  }

  // MARK: Setting

  func set(_ value: Any?, at path: ArraySlice<String>, of holder: Any) {
    guard let key = path.first else { return }
    guard let object = holder as? ManagedObject else {
      guard let objects = ManagedObject.objects(of: holder) else {
        return refuse(path.joined(separator: "."))
      }
      for object in objects { set(value, at: path, of: object) }
      return
    }
    if path.count == 1 || object.isComposite(key) {
      return object.setValue(value, forKey: path.joined(separator: "."))
    }
    if let next = object.value(forKey: key) { set(value, at: path.dropFirst(), of: next) }
  }
}

/// A collection on a key path.
enum PathCollection {
  case set([Any])
  case orderedSet([Any])
  case list([Any])

  init?(_ value: Any) {
    switch value {
    case let set as Set<ManagedObject>: self = .set(Array(set))
    case let set as Set<AnyHashable>: self = .set(set.map(\.base))
    case let set as NSOrderedSet: self = .orderedSet(set.array)
    case let set as NSSet: self = .set(set.allObjects)
    case let list as [Any]: self = .list(list)
    case let list as NSArray: self = .list(list.map { $0 })
    default: return nil
    }
  }

  var elements: [Any] {
    switch self {
    case .set(let elements), .orderedSet(let elements), .list(let elements): elements
    }
  }

  /// A collection of the same kind: sets leave absent values out, a list has `NSNull` there.
  func with(_ values: [Any?]) -> Any {
    let present = values.compactMap { $0 }
    switch self {
    case .set: return Self.set(of: present)
    case .orderedSet: return NSOrderedSet(array: PathOperator.distinct(present))
    case .list: return values.map { $0 ?? NSNull() }
    }
  }

  static func set(of values: [Any]) -> Any {
    if !values.isEmpty, let objects = values as? [ManagedObject] { return Set(objects) }
    let hashable = values.compactMap { $0 as? AnyHashable }
    return hashable.count == values.count ? Set(hashable) : NSSet(array: values)
  }
}

/// What key-value coding makes of a collection.
enum PathOperator: String {
  case count = "@count"
  case sum = "@sum"
  case average = "@avg"
  case least = "@min"
  case greatest = "@max"
  case union = "@unionOfObjects"
  case distinctUnion = "@distinctUnionOfObjects"
  case unionOfArrays = "@unionOfArrays"
  case distinctUnionOfArrays = "@distinctUnionOfArrays"
  case distinctUnionOfSets = "@distinctUnionOfSets"

  /// - Parameter values: Of the elements; nil for those that have none, which count as 0 in a sum.
  func result(of values: [Any?], count: Int) -> Any? {
    let present = values.compactMap { $0 is NSNull ? nil : $0 }
    switch self {
    case .count: return NSNumber(value: count)
    case .sum: return Self.sum(present)
    case .average:
      guard count > 0 else { return NSNumber(value: 0) }
      let sum = Self.sum(present)
      if let sum = sum as? NSDecimalNumber {
        return NSDecimalNumber(decimal: sum.decimalValue / Decimal(count))
      }
      return NSNumber(value: sum.doubleValue / Double(count))
    case .least: return Self.extreme(present, .orderedAscending)
    case .greatest: return Self.extreme(present, .orderedDescending)
    case .union: return present
    case .distinctUnion: return Self.distinct(present)
    case .unionOfArrays: return Self.parts(present)
    case .distinctUnionOfArrays: return Self.distinct(Self.parts(present))
    case .distinctUnionOfSets: return PathCollection.set(of: Self.parts(present))
    }
  }

  private static func sum(_ values: [Any]) -> NSNumber {
    var sum = NumberSum()
    for value in values.compactMap(propertyValue) { sum.add(value) }
    return sum.result
  }

  private static func extreme(_ values: [Any], _ wanted: ComparisonResult) -> Any? {
    values.reduce(nil as Any?) { best, next in
      guard let best else { return next }
      let found = order(propertyValue(next) ?? .null, propertyValue(best) ?? .null)
      return found == wanted ? next : best
    }
  }

  static func distinct(_ values: [Any]) -> [Any] {
    var seen: Set<AnyHashable> = []
    return values.filter { ($0 as? AnyHashable).map { seen.insert($0).inserted } ?? true }
  }

  private static func parts(_ collections: [Any]) -> [Any] {
    collections.flatMap { PathCollection($0)?.elements ?? [$0] }
  }
}
