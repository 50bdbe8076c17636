package import Foundation
import Synchronization

/// Turns a value into another and back: for a transformable attribute, an application's value into
/// the bytes that a store keeps.
///
/// Foundation on Linux has no such class. A transformer of one's own overrides
/// ``transformedValue(_:)`` and ``reverseTransformedValue(_:)``, and is registered by a name that a
/// model gives as an attribute's `valueTransformerName`:
///
/// ```swift
/// final class ColorTransformer: ValueTransformer, @unchecked Sendable {
///   override func transformedValue(_ value: Any?) -> Any? { (value as? Color)?.bytes }
///   override func reverseTransformedValue(_ value: Any?) -> Any? {
///     (value as? Data).flatMap(Color.init(bytes:))
///   }
/// }
/// ValueTransformer.setValueTransformer(ColorTransformer(), forName: "ColorTransformer")
/// ```
///
/// A transformer is used from any thread, and has no state that changes.
open class ValueTransformer: @unchecked Sendable {  // immutable here; so subclasses are asked to be
  /// A name of a transformer.
  public struct Name: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    /// A name under which a transformer is registered.
    public init(_ rawValue: String) { self.rawValue = rawValue }
    public init(stringLiteral value: String) { rawValue = value }

    /// Archives property-list values and Foundation's objects of that kind, and checks their classes.
    public static let secureUnarchiveFromDataTransformerName: Name = "NSSecureUnarchiveFromData"
  }

  private static let registered = Mutex<[Name: ValueTransformer]>([
    .secureUnarchiveFromDataTransformerName: SecureUnarchiveFromData(),
    "NSSecureUnarchiveFromDataTransformer": SecureUnarchiveFromData(),
  ])

  /// A subclass needs no more.
  public init() {}

  /// Makes a transformer known by a name, in place of another of that name; nil takes it away.
  public static func setValueTransformer(_ transformer: ValueTransformer?, forName name: Name) {
    registered.withLock { $0[name] = transformer }
  }

  /// The transformer of a name; nil when none is registered.
  public static func valueTransformer(forName name: Name) -> ValueTransformer? {
    registered.withLock { $0[name] }
  }

  /// The names of all transformers, sorted.
  public static func valueTransformerNames() -> [Name] {
    registered.withLock { $0.keys.sorted { $0.rawValue < $1.rawValue } }
  }

  /// The class of what ``transformedValue(_:)`` gives. Nothing asks for it here.
  open class func transformedValueClass() -> AnyClass { NSObject.self }

  /// Whether values can be turned back. True unless a subclass says otherwise.
  open class func allowsReverseTransformation() -> Bool { true }

  /// The value as this transformer turns it, nil when it cannot; the value itself unless a subclass
  /// says otherwise.
  open func transformedValue(_ value: Any?) -> Any? { value }

  /// The value that ``transformedValue(_:)`` turns into this one; nil when there is none.
  open func reverseTransformedValue(_ value: Any?) -> Any? { value }

  /// The bytes that a store keeps of a value; nil when the transformer cannot make them.
  package final func data(of value: Any) -> Data? {
    let bytes = isUnarchiver ? reverseTransformedValue(value) : transformedValue(value)
    return bytes as? Data
  }

  /// The value of the bytes that a store keeps; nil when the transformer cannot make it.
  package final func value(of data: Data) -> Any? {
    isUnarchiver ? transformedValue(data) : reverseTransformedValue(data)
  }

  /// Whether the transformer runs the other way, from bytes to values, as Foundation's own do.
  private var isUnarchiver: Bool { self is SecureUnarchiveFromData }
}
