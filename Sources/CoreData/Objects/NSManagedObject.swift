public import Driftless
import Foundation
import Synchronization

/// What `init(context:)`, `init(entity:insertInto:)` and `fetchRequest()` are members of, so that generic code makes objects of a class that
/// it does not know: every managed object is one.
public protocol NSManagedObjectMaking: ManagedObject {
  /// What a context makes an object with.
  init(_ birth: borrowing ObjectBirth)
}

extension ManagedObject: NSManagedObjectMaking {}

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

  /// Makes a new object of an entity in the context, or, for nil, in none until a context's `insert(_:)` takes it in. Before
  /// there is a store it waits for one, and a save without one throws. An entity that the context's stores do not have, that is of no model, or whose objects are of another class, is a precondition
  /// failure.
  public init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
    do {
      if Self.self != ManagedObject.self { ObjectClassNames.note(Self.self) }
      guard let context else {
        let birth = try ManagedObjectContext.looseBirth(of: Self.self, entity: entity)
        self.init(birth)
        becomeLoose()
        withExtendedLifetime(birth) {}
        return
      }
      context.prepare(for: entity)
      self.init(try context.base.birth(of: Self.self, entity: entity))
      context.base.welcome(self)
    } catch {
      preconditionFailure("\(error)")
    }
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
