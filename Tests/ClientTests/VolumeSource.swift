/// Classes as an application on Apple's systems has them. What the port makes of them is a file of the tests of Core Data's
/// names, which compiles it and works with it.
enum VolumeSource {
  static let text = #"""
    // swift-format-ignore-file
    public import CoreData

    /// Which binding a volume has.
    @objc enum Binding: Int16 {
      case paper = 0
      case cloth
    }

    @objc(Volume)
    public class Volume: NSManagedObject {
      @NSManaged public var title: String?
      @NSManaged public var code: String
      @NSManaged var small: Int16, middle: Int32, large: Int64
      @NSManaged public var isSold: Bool
      @NSManaged public var weight: Double
      @NSManaged public var rating: Float
      @NSManaged public var made: Date?
      @NSManaged public var seen: TimeInterval
      @NSManaged public var photo: Data?
      @NSManaged public var id: UUID?
      @NSManaged public var page: URL?
      @NSManaged public var count: NSNumber?
      @NSManaged public var cost: NSDecimalNumber?
      @NSManaged public var price: Decimal
      @NSManaged public var facts: [String: Any]
      @NSManaged var binding: Binding
      @NSManaged fileprivate(set) dynamic var `default`: String!
      @NSManaged private var primitiveTitle: String?
      @NSManaged private var primitiveSmall: Int16
      @NSManaged public var shelf: Shelf?

      /// Reads and writes beside the accessors of the title.
      var quietTitle: String? {
        get { primitiveTitle }
        set { primitiveTitle = newValue }
      }
      var quietSmall: Int16 {
        get { primitiveSmall }
        set { primitiveSmall = newValue }
      }
    }

    @objc(Shelf)
    public class Shelf: NSManagedObject {
      @NSManaged public var volumes: NSSet?
      @NSManaged public var row: NSOrderedSet?
      @NSManaged public var readers: Set<Volume>
    }

    // MARK: Generated accessors for volumes
    extension Shelf {

        @objc(addVolumesObject:)
        @NSManaged public func addToVolumes(_ value: Volume)

        @objc(removeVolumesObject:)
        @NSManaged public func removeFromVolumes(_ value: Volume)

        @objc(addVolumes:)
        @NSManaged public func addToVolumes(_ values: NSSet)

        @objc(removeVolumes:)
        @NSManaged public func removeFromVolumes(_ values: NSSet)

    }

    // MARK: Generated accessors for row
    extension Shelf {

        @objc(insertObject:inRowAtIndex:)
        @NSManaged public func insertIntoRow(_ value: Volume, at idx: Int)

        @objc(removeObjectFromRowAtIndex:)
        @NSManaged public func removeFromRow(at idx: Int)

        @objc(insertRow:atIndexes:)
        @NSManaged public func insertIntoRow(_ values: [Volume], at indexes: NSIndexSet)

        @objc(removeRowAtIndexes:)
        @NSManaged public func removeFromRow(at indexes: NSIndexSet)

        @objc(replaceObjectInRowAtIndex:withObject:)
        @NSManaged public func replaceRow(at idx: Int, with value: Volume)

        @objc(replaceRowAtIndexes:withRow:)
        @NSManaged public func replaceRow(at indexes: NSIndexSet, with values: [Volume])

        @objc(addRowObject:)
        @NSManaged public func addToRow(_ value: Volume)

        @objc(removeRowObject:)
        @NSManaged public func removeFromRow(_ value: Volume)

        @objc(addRow:)
        @NSManaged public func addToRow(_ values: NSOrderedSet)

        @objc(removeRow:)
        @NSManaged public func removeFromRow(_ values: NSOrderedSet)

    }

    """#
}
