import Foundation

/// Finds which property a key path reads: key paths of computed properties do not tell their names, so an object is made
/// that notes what is read of it, and the getter is asked.
///
/// The object has a value for every attribute and an object at the end of every to-one relationship when it is asked first,
/// so that getters of properties that are not optional have something to give. What a getter gives as it is shows by marks.
final class PropertyProbe {
  enum Meaning {
    /// The object's own ID.
    case object
    case property(String)
  }

  private struct Access {
    let object: ManagedObject
    let slot: Int

    var name: String { object.shape.layout.slots[slot].name }
  }

  /// How many to-one relationships a key path may go through.
  private static let depth = 3

  /// Where the marked objects are; nothing of it is ever saved.
  private let context: ManagedObjectContext
  private var objects: [ObjectIdentifier: ManagedObject] = [:]
  /// The objects at the ends of relationships, by how far they are from the first, and entity.
  private var ends: [Int: [String: ManagedObject]] = [:]
  private var accesses: [Access] = []

  init(_ coordinator: PersistentStoreCoordinator) {
    context = ManagedObjectContext(coordinator)
    context.tracksObservation = true
    // None is ever saved: a model is enough.
    context.standIn.makesObjectsWithoutStore = true
  }

  /// - Parameter read: reads the key path.
  func meaning(
    of keyPath: AnyKeyPath, in type: ManagedObject.Type, _ read: (ManagedObject) -> Any?
  ) throws(FetchError) -> Meaning {
    if let name = (type as? any PredicateNaming.Type)?.predicateNames[keyPath] {
      return .property(name)
    }
    let object = try object(of: type)
    let (given, looked) = look(at: object, read)
    if let id = given as? ManagedObjectID, id == object.objectID { return .object }
    if looked.count == 1, Self.isChoice(keyPath) { return .property(looked[0].name) }
    let slots = object.shape.layout.slots
    if let slot = marked(object, read) ?? flag(object, read) { return .property(slots[slot].name) }
    throw FetchError(
      .unsupported,
      "A property of \(type) gives no stored value as it is: \(keyPath)",
      suggestion:
        "Use properties that read one attribute or relationship, or name it in PredicateNaming.")
  }

  /// The names that a key path leads through, of a to-one relationship's object at least; nil for any other.
  func path(
    of keyPath: AnyKeyPath, in type: ManagedObject.Type, _ read: (ManagedObject) -> Any?
  ) throws(FetchError) -> [String]? {
    let object = try object(of: type)
    let (_, accesses) = look(at: object, read)
    guard accesses.count > 1, let last = accesses.last else { return nil }
    for (access, next) in zip(accesses, accesses.dropFirst()) {
      guard case .reference(let key) = access.object.values[access.slot],
        key == next.object.objectKey
      else { return nil }
    }
    let isPlain = Self.isChoice(keyPath) || gives(last, object, read)
    return accesses[0].object === object && isPlain ? accesses.map(\.name) : nil
  }

  /// Whether the getter gives what lies in the slot.
  private func gives(
    _ last: Access, _ object: ManagedObject, _ read: (ManagedObject) -> Any?
  ) -> Bool {
    let kind = last.object.shape.kinds[last.slot]
    return [0, 1].allSatisfy { round in
      let mark =
        kind == .bool ? .bool(round == 1) : self.mark(last.slot, round, of: last.object)
      guard !mark.isNull, kind != .toMany else { return false }
      last.object.write(mark, at: last.slot)
      guard let value = value(read(object)) else { return false }
      return (value as? any AttributeConvertible)?.propertyValue == mark
        || (value as? ManagedObject).map { .reference($0.objectKey) } == mark
    }
  }

  /// Whether the values are cases of an enumeration, of which marks are none.
  private static func isChoice(_ keyPath: AnyKeyPath) -> Bool {
    let type = Swift.type(of: keyPath).valueType
    let wrapped = (type as? any OptionalValue.Type)?.wrappedType ?? type
    return wrapped is any RawRepresentable.Type
  }

  /// What the getter gives of an object with plain values, and what it reads for that, each thing once.
  private func look(
    at object: ManagedObject, _ read: (ManagedObject) -> Any?
  ) -> (Any?, [Access]) {
    fill(object, 0)
    accesses = []
    let given = value(read(object))
    var seen: [Access] = []
    for access in accesses
    where !seen.contains(where: { $0.object === access.object && $0.slot == access.slot }) {
      seen.append(access)
    }
    return (given, seen)
  }

  /// Gives an object values that every type has, and objects at the other ends.
  private func fill(_ object: ManagedObject, _ distance: Int) {
    for slot in object.shape.layout.slots where !slot.isToMany {
      let standard = object.shape.defaults.isEmpty ? .null : object.shape.defaults[slot.index]
      object.write(
        standard.isNull ? plain(slot.index, of: object, distance) : standard, at: slot.index)
    }
  }

  private func plain(_ slot: Int, of object: ManagedObject, _ distance: Int) -> PropertyValue {
    switch object.shape.kinds[slot] {
    case .bool: .bool(false)
    case .integer16, .integer32, .integer64: .integer(0)
    case .double: .double(0)
    case .decimal: .decimal(0)
    case .string, .any: .string("")
    case .date: .date(Date(timeIntervalSinceReferenceDate: 0))
    case .data: .data(Data())
    case .uuid: .uuid(UUID())
    case .uri: URL(string: "mark:0").map { .uri($0) } ?? .null
    case .toMany: .null
    case .toOne:
      object.shape.relations[slot].flatMap { end($0.destination.name, distance + 1) }
        .map { .reference($0.objectKey) } ?? .null
    }
  }

  private func end(_ entity: String, _ distance: Int) -> ManagedObject? {
    if let known = ends[distance]?[entity] { return known }
    guard distance < Self.depth, let shape = try? context.shape(named: entity) else { return nil }
    let object = made(shape, as: shape.objectClass)
    ends[distance, default: [:]][entity] = object
    fill(object, distance)
    return object
  }

  private func object(of type: ManagedObject.Type) throws(FetchError) -> ManagedObject {
    if let known = objects[ObjectIdentifier(type)] { return known }
    let shape: ObjectShape
    do {
      shape = try context.shape(for: type)
    } catch {
      throw FetchError(.unknownKey, error.message, suggestion: error.suggestion)
    }
    let object = made(shape, as: type)
    objects[ObjectIdentifier(type)] = object
    return object
  }

  private func made(_ shape: ObjectShape, as type: ManagedObject.Type) -> ManagedObject {
    let object = type.init(context.graph.birth(of: shape))
    context.graph.keys.addNew(object)
    context.graph.ledger.list(object)
    object.observers = ObjectObservers { [unowned self] in
      accesses.append(Access(object: $0, slot: $1))
    }
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
  static var wrappedType: Any.Type { get }
}

extension Optional: OptionalValue {
  var wrappedValue: Any? { self }
  static var wrappedType: Any.Type { Wrapped.self }
}

/// The objects of a to-many relationship, of whatever class.
private protocol RelationshipView {
  func isView(of object: ManagedObject, slot: Int) -> Bool
}

extension RelatedObjects: RelationshipView {}
