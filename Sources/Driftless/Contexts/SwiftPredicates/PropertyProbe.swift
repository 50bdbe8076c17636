import Foundation

/// Finds which property a key path reads: key paths of computed properties do not tell their names, so an object is made
/// whose every value is marked, and the getter is asked.
final class PropertyProbe {
  enum Meaning {
    /// The object's own ID.
    case object
    case property(String)
  }

  /// Where the marked objects are; nothing of it is ever saved.
  private let context: ManagedObjectContext
  private var objects: [ObjectIdentifier: ManagedObject] = [:]

  init(_ coordinator: PersistentStoreCoordinator) {
    context = ManagedObjectContext(coordinator)
  }

  /// - Parameter read: reads the key path.
  func meaning(
    of keyPath: AnyKeyPath, in type: ManagedObject.Type, _ read: (ManagedObject) -> Any?
  ) throws(FetchError) -> Meaning {
    if let name = (type as? any PredicateNaming.Type)?.predicateNames[keyPath] {
      return .property(name)
    }
    let object = try object(of: type)
    if let id = value(read(object)) as? ManagedObjectID, id == object.objectID { return .object }
    let slots = object.shape.layout.slots
    if let slot = marked(object, read) ?? flag(object, read) { return .property(slots[slot].name) }
    throw FetchError(
      .unsupported,
      "A property of \(type) in #Predicate gives no stored value as it is: \(keyPath)",
      suggestion:
        "Use properties that read one attribute or relationship, or name it in PredicateNaming.")
  }

  private func object(of type: ManagedObject.Type) throws(FetchError) -> ManagedObject {
    if let known = objects[ObjectIdentifier(type)] { return known }
    let shape: ObjectShape
    do {
      shape = try context.shape(for: type)
    } catch {
      throw FetchError(.unknownKey, error.message, suggestion: error.suggestion)
    }
    let object = type.init(context.graph.birth(of: shape))
    context.graph.keys.addNew(object)
    context.graph.ledger.list(object)
    objects[ObjectIdentifier(type)] = object
    return object
  }

  deinit { context.rollback() }

  // MARK: Marks

  /// The slot whose mark the getter gives, with one set of marks and with another.
  private func marked(_ object: ManagedObject, _ read: (ManagedObject) -> Any?) -> Int? {
    var found: [Int] = []
    for round in 0...1 {
      for slot in object.shape.layout.slots where !slot.isToMany {
        object.write(mark(slot.index, round, of: object), at: slot.index)
      }
      guard let value = value(read(object)), let slot = slot(of: value, round, in: object) else {
        return nil
      }
      found.append(slot)
    }
    return found[0] == found[1] ? found[0] : nil
  }

  /// A value that no other slot has.
  private func mark(_ slot: Int, _ round: Int, of object: ManagedObject) -> PropertyValue {
    let number = 10_007 + 500 * round + slot
    switch object.shape.kinds[slot] {
    case .integer16, .integer32, .integer64: return .integer(Int64(number))
    case .double: return .double(Double(number) + 0.5)
    case .decimal: return .decimal(Decimal(number))
    case .string, .any: return .string("mark \(number)")
    case .date: return .date(Date(timeIntervalSinceReferenceDate: Double(number)))
    case .data: return .data(Data("mark \(number)".utf8))
    case .uuid:
      var bytes = UUID().uuid
      (bytes.0, bytes.1, bytes.2) = (UInt8(round), UInt8(slot / 256), UInt8(slot % 256))
      (bytes.3, bytes.4, bytes.5, bytes.6, bytes.7) = (1, 2, 3, 4, 5)
      (bytes.8, bytes.9, bytes.10, bytes.11) = (1, 2, 3, 4)
      (bytes.12, bytes.13, bytes.14, bytes.15) = (1, 2, 3, 4)
      return .uuid(UUID(uuid: bytes))
    case .uri: return URL(string: "mark:\(number)").map { .uri($0) } ?? .null
    case .toOne:
      guard let relation = object.shape.relations[slot],
        let shape = try? context.shape(named: relation.destination.name)
      else { return .null }
      return .reference(ObjectKey(entity: shape.number, key: Int64(1_000_000_000 + number)))
    case .bool, .toMany: return .null
    }
  }

  private func slot(of value: Any, _ round: Int, in object: ManagedObject) -> Int? {
    let slots = object.shape.layout.slots
    if let view = value as? any RelationshipView {
      return slots.first { $0.isToMany && view.isView(of: object, slot: $0.index) }?.index
    }
    let plain: PropertyValue
    switch value {
    case let other as ManagedObject: plain = .reference(other.objectKey)
    case let value as any AttributeConvertible: plain = value.propertyValue
    default: return nil
    }
    if plain.isNull { return nil }
    return slots.first { !$0.isToMany && self.mark($0.index, round, of: object) == plain }?.index
  }

  /// Truth has two values only: the slot that alone turns the getter's answer.
  private func flag(_ object: ManagedObject, _ read: (ManagedObject) -> Any?) -> Int? {
    let flags = object.shape.layout.slots.indices.filter { object.shape.kinds[$0] == .bool }
    func answer(_ isSet: (Int) -> Bool) -> Bool? {
      for slot in flags { object.write(.bool(isSet(slot)), at: slot) }
      return value(read(object)) as? Bool
    }
    guard answer({ _ in false }) == false else { return nil }
    let found = flags.filter { slot in answer { $0 == slot } == true }
    return found.count == 1 && answer({ _ in true }) == true ? found[0] : nil
  }

  private func value(_ value: Any?) -> Any? {
    guard let value else { return nil }
    guard let optional = value as? any OptionalValue else { return value }
    return self.value(optional.wrappedValue)
  }
}

/// An optional of whatever type.
protocol OptionalValue {
  var wrappedValue: Any? { get }
}

extension Optional: OptionalValue {
  var wrappedValue: Any? { self }
}

/// The objects of a to-many relationship, of whatever class.
private protocol RelationshipView {
  func isView(of object: ManagedObject, slot: Int) -> Bool
}

extension RelatedObjects: RelationshipView {}
