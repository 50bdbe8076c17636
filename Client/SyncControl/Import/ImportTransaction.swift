import Driftless
import Foundation

/// The lines up to one `save`, brought into a context of their own.
///
/// Lines are carried out in order. A reference may name an object that a later line of the
/// transaction inserts: it is made when it is first named. One that a later transaction of the file
/// inserts is handed back in `awaited`.
final class ImportTransaction {
  let context: ManagedObjectContext
  let shapes: ImportShapes
  /// Inserts of this transaction whose object is not made yet.
  private var announced: [UUID: EntityDescription] = [:]
  /// How many lines to come may make an object, and of which entity the last of them makes it.
  private var coming: [UUID: (entity: EntityDescription, count: Int)] = [:]
  /// What the store has of all that the lines name: looked for at once, and not a line at a time.
  private var stored: [UUID: ManagedObject] = [:]
  /// Identities by the text that names them in lines, an entity's hierarchy each.
  private var named: [ObjectIdentifier: [ImportID: UUID]] = [:]
  /// Objects that lines named, kept alive until the save.
  private var objects: [UUID: ManagedObject] = [:]
  private var identities: [ObjectIdentifier: UUID] = [:]
  private var lines: [ObjectIdentifier: Int] = [:]
  private var deleted: Set<UUID> = []
  /// Objects that lines deleted, and not the rules of others that went.
  private var deletedByLines: Set<ObjectIdentifier> = []
  /// Objects that a line deleted and a later line of this transaction inserts again: cleared, not
  /// deleted.
  private var remade: Set<UUID> = []
  var counts = ImportReport()
  /// What objects are saved with though their model refuses it, by the objects.
  var unfit: [ObjectIdentifier: Set<Int>] = [:]
  /// References to objects that the file did not insert so far.
  private(set) var awaited: [AwaitedReference] = []
  /// The last line that set a relationship, with null too, or its other end.
  private(set) var lastWords: [AwaitedReference.Place: Int] = [:]

  init(_ context: ManagedObjectContext, shapes: ImportShapes) {
    self.context = context
    self.shapes = shapes
  }

  /// Carries out the lines, and sets the references of earlier ones that can be settled now.
  ///
  /// - Parameters:
  ///   - earlier: Those that name what these lines insert.
  ///   - isOneTransaction: The earlier lines are of the same transaction: what they refer to comes first, as it would if these
  ///     lines stood with them.
  func perform(
    _ operations: [ImportLine], settling earlier: [AwaitedReference],
    isOneTransaction: Bool = false
  ) throws {
    var identities: Set<UUID> = []
    var upserts: Set<UUID> = []
    for line in operations {
      if let made = line.operation.insertion {
        let entity = try shapes.shape(made.entity, line.number).entity
        let identity = identity(made.id, entity)
        announced[identity] = entity
        coming[identity] = (entity, (coming[identity]?.count ?? 0) + 1)
        if case .upsert = line.operation { upserts.insert(identity) }
      }
      note(line, &identities)
    }
    for reference in earlier {
      identities.insert(reference.target)
      if let owner = reference.ownerIdentity { identities.insert(owner) }
    }
    stored = try context.objects(withIdentities: identities)
    // An upsert makes none where the store has it.
    for identity in upserts where stored[identity] != nil { announced[identity] = nil }
    if isOneTransaction { for reference in earlier { try settle(reference) } }
    for line in operations { try perform(line) }
    if !isOneTransaction { for reference in earlier { try settle(reference) } }
    awaited.removeAll(where: isOverruled)
  }

  /// Adds the identities that a line names. What is wrong with it is said when its turn comes.
  private func note(_ line: ImportLine, _ identities: inout Set<UUID>) {
    let (name, id, members): (String, String, [JSONValue.Member])
    switch line.operation {
    case .insert(let entity, let object, let set): (name, id, members) = (entity, object, set)
    case .update(let entity, let object, let set): (name, id, members) = (entity, object, set)
    case .upsert(let entity, let object, let set): (name, id, members) = (entity, object, set)
    case .delete(let entity, let object): (name, id, members) = (entity, object, [])
    case .save: return
    }
    guard let shape = try? shapes.shape(name, line.number) else { return }
    identities.insert(identity(id, shape.entity))
    guard shape.hasRelationships else { return }
    for member in members {
      switch (shape.properties[member.name], member.value) {
      case (.toOne(let destination, _), .string(let id)):
        identities.insert(identity(id, destination))
      case (.toMany(let destination, _), .array(let elements)):
        for case .string(let id) in elements { identities.insert(identity(id, destination)) }
      default: break
      }
    }
  }

  private func identity(_ id: String, _ entity: EntityDescription) -> UUID {
    let root = entity.rootEntity
    let name = ImportID(text: id)
    if let known = named[ObjectIdentifier(root)]?[name] { return known }
    let identity = NamedIdentity.identity(id, of: root)
    named[ObjectIdentifier(root), default: [:]][name] = identity
    return identity
  }

  /// Whether the store has an object by now that a line was about to make: another program made it since they were looked for.
  func isOvertaken(in store: PersistentStore) throws -> Bool {
    try store.read { transaction in
      try objects.contains { identity, object in
        guard object.isInserted, let key = try transaction.key(of: identity) else { return false }
        return try transaction.concreteKey(root: key) != nil
      }
    }
  }

  /// The first line that named the object, for errors of the save.
  func line(of object: ManagedObject) -> Int? { lines[ObjectIdentifier(object)] }

  /// The identity by which lines name an object.
  func identity(of object: ManagedObject) -> UUID? { identities[ObjectIdentifier(object)] }

  /// Counts what goes by the delete rules of the objects that lines delete. To be asked before the save.
  func countCascades() {
    context.processPendingChanges()
    counts.deleted += context.deletedObjects.count { object in
      !deletedByLines.contains(ObjectIdentifier(object))
    }
  }

  func line(ofIdentity identity: UUID) -> Int? { objects[identity].flatMap { line(of: $0) } }

  private func perform(_ line: ImportLine) throws {
    if let made = line.operation.insertion {
      let identity = identity(made.id, try shapes.shape(made.entity, line.number).entity)
      coming[identity]?.count -= 1
    }
    counts.inZone += line.inZone
    switch line.operation {
    case .insert(let name, let id, let set):
      let object = try insert(entity: name, id: id, line.number)
      try admit(line.unfit, of: object, line.number)
      try assign(set, to: object, line.number)
      counts.inserted += 1
    case .update(let name, let id, let set):
      let object = try existing(entity: name, id: id, line.number)
      try admit(line.unfit, of: object, line.number)
      try assign(set, to: object, line.number)
      try add(line.add, to: object, besides: set, line.number)
      counts.updated += set.isEmpty && line.add.isEmpty ? 0 : 1
    case .upsert(let name, let id, let set):
      let isThere = try isThere(name, id, line.number)
      let object = try (isThere ? existing : insert)(name, id, line.number)
      try admit(line.unfit, of: object, line.number)
      try assign(set, to: object, line.number)
      try add(line.add, to: object, besides: set, line.number)
      if isThere { counts.updated += 1 } else { counts.inserted += 1 }
    case .delete(let name, let id):
      let object = try existing(entity: name, id: id, line.number)
      counts.deleted += 1
      deletedByLines.insert(ObjectIdentifier(object))
      guard !object.isInserted, let identity = identities[ObjectIdentifier(object)] else {
        return context.delete(object)
      }
      if let next = coming[identity], next.count > 0, next.entity === object.entity {
        try clear(object, line.number)
        remade.insert(identity)
      } else {
        context.delete(object)
        deleted.insert(identity)
      }
    case .save: break
    }
  }

  /// Whether there is an object that an upsert changes. One that was made because an earlier line refers to it is not
  /// there before its own line.
  private func isThere(_ name: String, _ id: String, _ line: Int) throws -> Bool {
    let identity = identity(id, try shapes.shape(name, line).entity)
    guard let object = try find(identity), !remade.contains(identity) else { return false }
    return !object.isInserted || lines[ObjectIdentifier(object)] != nil
  }

  private func insert(entity name: String, id: String, _ line: Int) throws -> ManagedObject {
    let entity = try shapes.shape(name, line).entity
    let identity = identity(id, entity)
    if announced.removeValue(forKey: identity) == nil, let early = objects[identity],
      lines[ObjectIdentifier(early)] == nil, early.entity === entity
    {
      lines[ObjectIdentifier(early)] = line
      return early
    }
    if remade.remove(identity) != nil, let object = try find(identity) { return object }
    guard !deleted.contains(identity) else {
      throw ImportError(
        line: line,
        "\(name) \(id) was deleted in this transaction as another entity: put a save between the two"
      )
    }
    guard try find(identity) == nil else {
      var error = ImportError(line: line, "\(name) \(id) exists already: use update or upsert")
      error.isThereAlready = objects[identity]?.isInserted == false
      throw error
    }
    let object = try make(entity, identity, line)
    lines[ObjectIdentifier(object)] = line
    return object
  }

  private func make(_ entity: EntityDescription, _ identity: UUID, _ line: Int) throws
    -> ManagedObject
  {
    do throws(ObjectError) {
      let object = try context.insert(entityNamed: entity.name, identity: identity)
      remember(object, identity)
      return object
    } catch {
      throw ImportError(line: line, error.message)
    }
  }

  private func existing(entity name: String, id: String, _ line: Int) throws -> ManagedObject {
    let shape = try shapes.shape(name, line)
    let identity = identity(id, shape.entity)
    // One that was made because an earlier line refers to it is not there before its own line.
    guard let object = try find(identity), !object.isDeleted, !remade.contains(identity),
      !object.isInserted || lines[ObjectIdentifier(object)] != nil
    else { throw ImportError(line: line, "there is no \(name) \(id)") }
    guard object.entity.isKindOf(entity: shape.entity) else {
      throw ImportError(line: line, "\(id) is a \(object.entity.name), not a \(name)")
    }
    if lines[ObjectIdentifier(object)] == nil { lines[ObjectIdentifier(object)] = line }
    return object
  }

  /// The object of an identity that this transaction or the store has.
  private func find(_ identity: UUID) throws -> ManagedObject? {
    if let object = objects[identity] {
      // A new object that was deleted again has left its context.
      return object.isDeleted || object.managedObjectContext == nil ? nil : object
    }
    guard let object = stored[identity], !object.isDeleted, object.managedObjectContext != nil
    else { return nil }
    remember(object, identity)
    return object
  }

  private func remember(_ object: ManagedObject, _ identity: UUID) {
    objects[identity] = object
    identities[ObjectIdentifier(object)] = identity
  }

  // MARK: Values

  private func assign(
    _ members: [JSONValue.Member], to object: ManagedObject, _ line: Int
  ) throws {
    let shape = shapes.shape(of: object.entity)
    for member in members {
      guard let property = shape.properties[member.name] else {
        if try assignComposite(member, to: object, shape, line) { continue }
        throw shape.unknown(member.name, line)
      }
      try assign(member, property, to: object, line)
    }
  }

  /// A composite may be written as an object of its elements.
  private func assignComposite(
    _ member: JSONValue.Member, to object: ManagedObject, _ shape: ImportShape, _ line: Int
  ) throws -> Bool {
    guard let members = shape.elements(of: member) else { return false }
    try assign(members, to: object, line)
    return true
  }

  private func assign(
    _ member: JSONValue.Member, _ property: ImportShape.Property, to object: ManagedObject,
    _ line: Int
  ) throws {
    func wrong(_ expected: String) -> ImportError {
      ImportError(
        line: line,
        "\(object.entity.name).\(member.name) is \(expected), not \(member.value.kind)")
    }
    switch property {
    case .attribute(let type, let key):
      switch ImportedValue.attribute(member.value, type: type) {
      case .success(let value): object[key] = ImportedAttribute(propertyValue: value)
      case .failure(let mismatch): throw wrong(mismatch.expected)
      }
    case .toOne(let destination, let key):
      noteWord(on: object, member.name, line)
      switch member.value {
      case .null: object[key] = nil
      case .string(let id):
        var reference = reference(of: object, member.name, to: destination, id, line)
        if let target = try target(of: reference) {
          object[key] = target
          noteWord(on: object, member.name, to: target, line)
        } else {
          // What was set before has not the last word. What is in the store has it until then: it may have to have one.
          reference.former = try object.isInserted ? nil : object[key]?.identity
          if object.isInserted { object[key] = nil }
          awaited.append(reference)
        }
      default: throw wrong("the id of a \(destination.name) as text, or null")
      }
    case .toMany(let destination, let key):
      guard case .array(let elements) = member.value else {
        throw wrong("an array of ids of \(destination.name)")
      }
      noteWord(on: object, member.name, line)
      var targets: [ManagedObject] = []
      for element in elements {
        guard case .string(let id) = element else { throw wrong("an array of ids as texts") }
        let reference = reference(of: object, member.name, to: destination, id, line)
        if let target = try target(of: reference) {
          targets.append(target)
          noteWord(on: object, member.name, to: target, line)
        } else {
          awaited.append(reference)
        }
      }
      object[key] = RelatedObjects(targets)
    }
  }

  private func noteWord(on object: ManagedObject, _ property: String, _ line: Int) {
    guard let owner = identities[ObjectIdentifier(object)] else { return }
    lastWords[.init(owner: owner, property: property)] = line
  }

  /// What a line sets is said of the object at the other end as well, where that has one alone.
  private func noteWord(
    on object: ManagedObject, _ property: String, to target: ManagedObject, _ line: Int
  ) {
    guard let inverse = object.entity.relationshipsByName[property]?.inverseRelationship,
      !inverse.isToMany
    else { return }
    noteWord(on: target, inverse.name, line)
  }

  /// Whether a later line set what the reference is of.
  private func isOverruled(_ reference: AwaitedReference) -> Bool {
    reference.place.flatMap { lastWords[$0] }.map { $0 > reference.line } ?? false
  }

  private func reference(
    of owner: ManagedObject, _ property: String, to destination: EntityDescription, _ id: String,
    _ line: Int
  ) -> AwaitedReference {
    AwaitedReference(
      owner: owner.entity, ownerIdentity: identities[ObjectIdentifier(owner)], property: property,
      destination: destination, id: id, line: line, target: identity(id, destination))
  }

  /// The object that a reference names; made now when a later line of this transaction inserts it.
  private func target(of reference: AwaitedReference) throws -> ManagedObject? {
    if let object = try find(reference.target) {
      guard object.entity.isKindOf(entity: reference.destination) else {
        throw ImportError(
          line: reference.line,
          "\(reference.name) is a \(reference.destination.name), and \(reference.id) is a \(object.entity.name)"
        )
      }
      return object
    }
    guard let entity = announced.removeValue(forKey: reference.target) else { return nil }
    guard entity.isKindOf(entity: reference.destination) else {
      throw ImportError(
        line: reference.line,
        "\(reference.name) is a \(reference.destination.name), and \(reference.id) is a \(entity.name)"
      )
    }
    return try make(entity, reference.target, reference.line)
  }

  /// Sets a reference of an earlier transaction whose object this one has inserted, or keeps it
  /// awaited.
  private func settle(_ reference: AwaitedReference) throws {
    guard !isOverruled(reference) else { return }
    guard let target = try target(of: reference) else { return awaited.append(reference) }
    guard let identity = reference.ownerIdentity, let owner = try find(identity),
      let property = shapes.shape(of: owner.entity).properties[reference.property]
    else { return }
    switch property {
    // A line in between that set it from its other end had the later word.
    case .toOne(_, let key):
      let current = try owner[key]?.identity
      if current == nil || current == reference.former { owner[key] = target }
    case .toMany(_, let key): owner[key].insert(target)
    case .attribute: break
    }
  }
}
