public import Foundation

/// An object's place in a store: the number of its concrete entity (`Z_ENT`) and its primary key
/// (`Z_PK`).
///
/// A negative key is temporary: the object has not been saved.
public struct ObjectKey: Hashable, Sendable {
  /// The number of the concrete entity in the store's file (`Z_ENT`).
  public var entity: Int32
  /// ``StoreTags`` of the store, for a constant of a predicate; 0 where the store is known anyway.
  package var store: UInt32 = 0
  /// The primary key (`Z_PK`); negative for an object that was not saved.
  public var key: Int64

  /// - Parameters:
  ///   - entity: The number of the concrete entity.
  ///   - key: The primary key.
  public init(entity: Int32, key: Int64) {
    self.entity = entity
    self.key = key
  }

  public static func == (left: ObjectKey, right: ObjectKey) -> Bool {
    left.key == right.key && left.entity == right.entity
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(entity)
    hasher.combine(key)
  }
}

/// The value of an attribute or of a to-one relationship.
///
/// Numbers with a fraction and dates are equal when their bits are: a NaN equals itself, and 0.0
/// differs from -0.0, so that a value that went through a store or over the wire can be told to be
/// the same.
public enum PropertyValue: Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  case double(Double)
  case decimal(Decimal)
  case string(String)
  case date(Date)
  case data(Data)
  case uuid(UUID)
  case uri(URL)
  case reference(ObjectKey)

  /// Whether there is no value.
  public var isNull: Bool {
    if case .null = self { return true }
    return false
  }
}

extension PropertyValue: Hashable {
  public static func == (a: PropertyValue, b: PropertyValue) -> Bool {
    switch (a, b) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.integer(let a), .integer(let b)): a == b
    case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern
    case (.decimal(let a), .decimal(let b)): a == b
    // Two spellings of one text (NFC, NFD) are two values: a store keeps the bytes.
    case (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
    case (.date(let a), .date(let b)):
      a.timeIntervalSinceReferenceDate.bitPattern == b.timeIntervalSinceReferenceDate.bitPattern
    case (.data(let a), .data(let b)): a == b
    case (.uuid(let a), .uuid(let b)): a == b
    case (.uri(let a), .uri(let b)): a == b
    case (.reference(let a), .reference(let b)): a == b
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .bool(let value): hasher.combine(value)
    case .integer(let value): hasher.combine(value)
    case .double(let value): hasher.combine(value.bitPattern)
    case .decimal(let value): hasher.combine(value)
    case .string(let value): hasher.combine(value)
    case .date(let value): hasher.combine(value.timeIntervalSinceReferenceDate.bitPattern)
    case .data(let value): hasher.combine(value)
    case .uuid(let value): hasher.combine(value)
    case .uri(let value): hasher.combine(value)
    case .reference(let value): hasher.combine(value)
    }
  }
}

extension PropertyValue {
  /// The value as its Swift type; nil for none, and for a large value that the zone has and this store has not.
  public var plain: (any Sendable)? {
    switch self {
    case .null: nil
    case .bool(let value): value
    case .integer(let value): value
    case .double(let value): value
    case .decimal(let value): value
    case .string(let value): value
    case .date(let value): value
    case .data(let value): isInZone ? nil : value
    case .uuid(let value): value
    case .uri(let value): value
    case .reference(let value): value
    }
  }
}

extension PropertyValue {
  /// ``plain`` for lists of several values: one that is not here stands for itself, where nil would be taken for none and written over
  /// it.
  package var plainOrName: (any Sendable)? { isInZone ? self : plain }
}

extension UUID {
  /// The 16 bytes, as the store keeps them.
  var bytes: Data { networkBytes }
}
