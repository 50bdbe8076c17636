package import Foundation

/// Foundation's transformer from archived bytes to values. A subclass may name further classes.
open class SecureUnarchiveFromData: ValueTransformer, @unchecked Sendable {  // as its superclass
  /// The classes of the outermost objects that are taken from an archive.
  open class var allowedTopLevelClasses: [AnyClass] { plainClasses }

  private static let plainClasses: [AnyClass] = [
    NSArray.self, NSDictionary.self, NSSet.self, NSString.self, NSNumber.self, NSDate.self,
    NSData.self, NSURL.self, NSUUID.self, NSNull.self,
  ]

  public override init() { super.init() }

  /// The value in an archive; nil for bytes that are none, and for other classes.
  open override func transformedValue(_ value: Any?) -> Any? {
    let allowed = Self.allowedTopLevelClasses
    // A class that is allowed by name decides itself what it takes from its archive.
    let isOwn = allowed.contains { one in !Self.plainClasses.contains { $0 == one } }
    guard let data = value as? Data, let value = Self.value(in: data, ofAnyClass: isOwn) else {
      return nil
    }
    guard let object = (value as AnyObject) as? NSObject else { return value }
    return allowed.contains { object.isKind(of: $0) } ? value : nil
  }

  /// The value in an archive; nil for bytes that are none.
  ///
  /// - Parameter ofAnyClass: Whether its objects may be of any class that is made for archives from anywhere; else they are
  ///   of Foundation's plain ones.
  package static func value(in data: Data, ofAnyClass: Bool) -> Any? {
    // This platform's unarchiver traps on a class that it knows and is not to make.
    guard areAllowed(in: data, ofAnyClass),
      let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: data)
    else { return nil }
    unarchiver.requiresSecureCoding = false
    unarchiver.decodingFailurePolicy = .setErrorAndReturn
    defer { unarchiver.finishDecoding() }
    let value = unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey)
    return unarchiver.error == nil ? value : nil
  }

  /// Whether the objects of an archive end, and all are of classes that may be made.
  private static func areAllowed(in data: Data, _ ofAnyClass: Bool) -> Bool {
    let archive = BoundedPropertyList.values(data)
    guard let objects = (archive as? [String: Any])?["$objects"] as? [Any],
      ArchiveShape.isBounded(data)
    else { return false }
    return objects.allSatisfy { object in
      guard let entry = object as? [String: Any] else { return true }
      guard let name = entry["$classname"] as? String else {
        // The unarchiver takes hints where there is no name.
        return entry["$classes"] == nil && entry["$classhints"] == nil
      }
      let found: AnyClass? =
        NSKeyedUnarchiver.class(forClassName: name) ?? NSClassFromString(name)
      guard let found = found as? any (NSObject & NSSecureCoding).Type, found.supportsSecureCoding
      else { return false }
      return ofAnyClass || plainClasses.contains { found.isSubclass(of: $0) }
    }
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
    default:
      (type(of: value) as? any NSSecureCoding.Type)?.supportsSecureCoding == true
        && hasNameForArchives(value)
    }
  }

  /// An archive names a class by its module and its own name alone; the archiver traps on one within another type.
  private static func hasNameForArchives(_ value: Any) -> Bool {
    String(reflecting: type(of: value)).split(separator: ".").count == 2
  }
}
