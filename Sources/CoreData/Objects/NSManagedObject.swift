public import Driftless
import Foundation
import Synchronization

/// What `init(context:)` and `fetchRequest()` are members of, so that generic code makes objects of a class that
/// it does not know: every managed object is one.
public protocol NSManagedObjectMaking: ManagedObject {
  /// What a context makes an object with.
  init(_ birth: borrowing ObjectBirth)
}

extension ManagedObject: NSManagedObjectMaking {}

/// What `init(entity:insertInto:)` is a member of: what it makes is of the entity's class, which may be a subclass of the one that it
/// is called on. Every managed object is one.
public protocol NSManagedObjectOfEntity {
  /// What a context makes an object with.
  init(_ birth: borrowing ObjectBirth)
}

extension ManagedObject: NSManagedObjectOfEntity {}

extension NSManagedObjectOfEntity {
  /// Makes a new object of an entity in the context, or, for nil, in none until a context's `insert(_:)` takes it in. It is of the
  /// entity's class, where that is a subclass of this one. Before there is a store it waits for one, and a save without one throws.
  /// An entity that the context's stores do not have, that is of no model, or whose objects are of a class that is none of this one's, is a precondition
  /// failure.
  ///
  /// ```swift
  /// let object = NSManagedObject(entity: Person.entity(), insertInto: context)   // a Person
  /// ```
  public init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
    do {
      guard let asked = Self.self as? ManagedObject.Type else {
        preconditionFailure("\(Self.self) is no class of managed objects")
      }
      if asked != ManagedObject.self { ObjectClassNames.note(asked) }
      context?.prepare(for: entity)
      let known =
        try context?.base.objectClass(of: entity)
        ?? ManagedObjectContext.objectClass(outside: entity)
      let type = known is Self.Type ? known : asked
      let object: ManagedObject
      if let context {
        object = type.init(try context.base.birth(of: type, entity: entity))
        context.base.welcome(object)
      } else {
        let birth = try ManagedObjectContext.looseBirth(of: type, entity: entity)
        object = type.init(birth)
        object.becomeLoose()
        withExtendedLifetime(birth) {}
      }
      guard let made = object as? Self else {
        preconditionFailure("\(type) is none of \(Self.self)")
      }
      self = made
    } catch {
      preconditionFailure("\(error)")
    }
  }
}

extension NSManagedObjectMaking {
  /// Makes a new object of the entity that the class stands for, in the context. Before the coordinator has a store it waits for
  /// one, and a save without one throws. A class that stands for no entity of the
  /// context's model is a precondition failure.
  public init(context moc: NSManagedObjectContext) {
    do {
      ObjectClassNames.note(Self.self)
      self.init(try moc.base.birth(of: Self.self))
    } catch {
      preconditionFailure("\(error)")
    }
    moc.base.welcome(self)
  }

  /// A request for the objects of the entity that the class stands for, or is named like. What a class declares itself goes before.
  public static func fetchRequest() -> NSFetchRequest<any NSFetchRequestResult> {
    ObjectClassNames.note(self)
    let name = (try? knownEntity())?.knownName ?? String(describing: self)
    return NSFetchRequest<any NSFetchRequestResult>(entityName: name)
  }
}

extension ManagedObject {
  /// The entity that the class stands for, in the models of the process; of `NSManagedObject` itself one without a name. A
  /// class that stands for none is a precondition failure.
  public class func entity() -> NSEntityDescription {
    if self == ManagedObject.self { return NSEntityDescription() }
    do {
      ObjectClassNames.note(self)
      return try knownEntity()
    } catch {
      preconditionFailure("\(error)")
    }
  }

  /// The context that the object is in; nil once it is gone from there.
  public final var managedObjectContext: NSManagedObjectContext? {
    NSManagedObjectContext.standing(for: knownContext)
  }
}

/// Classes of objects that were used by name, so that entities find them.
enum ObjectClassNames {
  private static let known = Mutex<Set<ObjectIdentifier>>([])

  static func note(_ type: ManagedObject.Type) {
    guard type != ManagedObject.self, known.withLock({ $0.insert(ObjectIdentifier(type)).inserted })
    else { return }
    ManagedObject.register(type)
  }
}
