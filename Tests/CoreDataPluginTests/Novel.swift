public import CoreData

/// A class as an application for Apple's systems has it: nothing but `@objc` is gone.
public class Novel: NSManagedObject {
  enum Kind: Int16 {
    case crime = 1
    case poetry = 2
  }

  /// What novels are parts of, in a type inside of another.
  final class Series: NSManagedObject {
    @NSManaged var name: String?
    @NSManaged var novels: Set<Novel>
  }

  @NSManaged public var title: String?
  @NSManaged public var code: String
  @NSManaged public var made: Date?
  @NSManaged var small: Int16, middle: Int32, large: Int64
  @NSManaged open var isSold: Bool
  @NSManaged public private(set) var weight: Double
  @NSManaged var rating: Float
  @NSManaged var seen: TimeInterval
  @NSManaged var photo: Data?
  @NSManaged var id: UUID?
  @NSManaged var page: URL?
  @NSManaged var count: NSNumber?
  @NSManaged var price: NSDecimalNumber?
  @NSManaged var cost: Decimal
  @NSManaged var facts:
    [String:  // by name
      Any]
  @NSManaged var info: Any?
  @NSManaged var kind: Kind
  @NSManaged private var secret: Int64
  @NSManaged fileprivate var hidden: String?
  @NSManaged var `default`: String?
  @NSManaged private var primitiveTitle: String?
  @NSManaged var author: Writer?
  @NSManaged var series: Series!
  @NSManaged var other: NSManagedObject?

  /// An accessor of one's own, around the primitive value.
  var ending: String? {
    get {
      willAccessValue(forKey: "ending")
      defer { didAccessValue(forKey: "ending") }
      return (primitiveValue(forKey: "ending") as? String)?.lowercased()
    }
    set {
      willChangeValue(forKey: "ending")
      setPrimitiveValue(newValue.map { "\($0)!" }, forKey: "ending")
      didChangeValue(forKey: "ending")
    }
  }

  public func weigh(_ weight: Double) { self.weight = weight }

  /// Goes through the accessors that no other file sees.
  func keep(_ number: Int64) -> Int64 {
    secret += number
    hidden = "h\(secret)"
    return secret
  }

  var hiddenText: String? { hidden }
  var quietTitle: String? {
    get { primitiveTitle }
    set { primitiveTitle = newValue }
  }
}

#if os(macOS)
  extension Novel { @NSManaged var onlyThere: Nowhere }
#endif

extension Novel {
  @NSManaged var epilogue: String?
  typealias Words = [String]
  @NSManaged var words: Words?
}

final class Sequel: Novel {
  override var ending: String? {
    get { "to be continued" }
    set { super.ending = newValue }
  }
  @NSManaged final var number: Int32
}

// Members that key-value coding reaches, though the language does not find them by name.
extension Novel {
  var summary: String {
    get { "\(title ?? "untitled"), \(small)" }
    set { title = newValue }
  }
  var half: Int32 { middle / 2 }
  var genre: Kind {
    get { kind }
    set { kind = newValue }
  }
  /// Of a type that Objective-C does not have.
  var pair: (Int16, Int32) { (small, middle) }
  private var own: String { "own" }

  func validateRating(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>) throws {
    guard let number = value.pointee as? NSNumber else { return }
    if number.floatValue > 10 { throw NSError(domain: "Novel", code: 10) }
    if number.floatValue < 0 { value.pointee = NSNumber(value: 0) }
  }

  func validateAuthor(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>) throws {
    if (value.pointee as? Writer)?.name == "Nobody" { throw NSError(domain: "Novel", code: 11) }
  }
}
