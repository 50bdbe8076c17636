import Foundation

/// Foundation's transformer from archived bytes to values. A subclass may name further classes.
open class SecureUnarchiveFromData: ValueTransformer, @unchecked Sendable {  // as its superclass
  /// The classes of the outermost objects that are taken from an archive.
  open class var allowedTopLevelClasses: [AnyClass] {
    [
      NSArray.self, NSDictionary.self, NSSet.self, NSString.self, NSNumber.self, NSDate.self,
      NSData.self, NSURL.self, NSUUID.self, NSNull.self,
    ]
  }

  public override init() { super.init() }

  /// The value in an archive; nil for bytes that are none, and for other classes.
  open override func transformedValue(_ value: Any?) -> Any? {
    let allowed = Self.allowedTopLevelClasses
    guard let data = value as? Data,
      let value = try? NSKeyedUnarchiver.unarchivedObject(ofClasses: allowed, from: data)
    else { return nil }
    // This platform's unarchiver does not ask of what class a number or a text is that stands alone.
    guard let object = (value as AnyObject) as? NSObject else { return value }
    return allowed.contains { object.isKind(of: $0) } ? value : nil
  }

  /// The archive of a value; nil for one that cannot be archived.
  open override func reverseTransformedValue(_ value: Any?) -> Any? {
    guard let value, Self.isArchivable(value) else { return nil }
    return try? NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: true)
  }

  /// The archiver of this platform traps on what it cannot encode.
  private static func isArchivable(_ value: Any) -> Bool {
    switch value {
    case is NSDecimalNumber: false
    case let array as [Any]: array.allSatisfy(isArchivable)
    case let set as Set<AnyHashable>: set.allSatisfy { isArchivable($0.base) }
    case let dictionary as [String: Any]: dictionary.values.allSatisfy(isArchivable)
    case is String, is Bool, is any BinaryInteger, is Double, is Float, is Date, is Data, is URL,
      is UUID, is NSNull, is NSNumber:
      true
    case is NSArray, is NSDictionary, is NSSet: false
    default: value is any NSSecureCoding
    }
  }
}
