import Foundation

/// Values by name.
extension ManagedObject {
  /// The value of a property by name: nil when it has none or when there is no such property.
  ///
  /// A value that does not fit is not taken, and saves throw an ``ObjectError`` (``ManagedObjectContext/accessorErrors``).
  public final subscript(name: String) -> Any? {
    get {
      do throws(ObjectError) {
        return try value(forKey: name)
      } catch {
        // There is such a property, and nil is not its value.
        if error.code == .valueNotHere { deferError { throw error } }
        return nil
      }
    }
    set { deferError { try setValue(newValue, forKey: name) } }
  }

  /// Does what an accessor asks for, and keeps its error for the next save: in no context for that of the context that
  /// takes the object in.
  package final func deferError(_ body: () throws -> Void) {
    if let graph { return graph.deferError(body) }
    do { try body() } catch { keptParts.note(error) }
  }

  /// The value of a property: of an attribute as its Swift type, of a to-one relationship the
  /// object, of a to-many relationship an array, of a composite attribute a dictionary of its elements, with dictionaries
  /// of those that are composite too, of a fetched property an array of what it finds now.
  /// - Throws: ``ObjectError`` when the entity has no such property, or a fetched property cannot be fetched, and with the code
  ///   `valueNotHere` for a large value that the zone has and this store has not fetched yet.
  @_disfavoredOverload
  public final func value(forKey name: String) throws(ObjectError) -> Any? {
    guard let slot = shape.layout.index(named: name) else {
      if let property = entity.propertiesByName[name] as? FetchedPropertyDescription {
        return try graph?.source?.objects(of: property, for: self)
      }
      let leaves = leaves(of: name)
      guard !leaves.isEmpty else { throw unknownProperty(name) }
      var values: [String: any Sendable] = [:]
      for (leaf, slot) in leaves {
        let value = read(slot)
        if value.isInZone { throw notHere(value, slot) }
        values[leaf] = value.plain
      }
      return compositeValue(values)
    }
    guard let relation = shape.relations[slot] else {
      let value = read(slot)
      if value.isInZone { throw notHere(value, slot) }
      return plain(value, at: slot)
    }
    return relation.isToMany
      ? destinations(slot) : destination(of: relation, as: ManagedObject.self)
  }

  /// Sets a property; nil and `NSNull` take the value away.
  ///
  /// A transformable attribute with a registered ``ValueTransformer`` takes what that transforms.
  /// Attributes take values of their Swift type, numbers of another type that fit exactly,
  /// Foundation's classes for them (`NSNumber`, `NSString`, …) and ``PropertyValue``; to-one relationships an object; to-many ones an array, a set or a view;
  /// composite attributes a dictionary, in which an element that is composite has a dictionary of its own. Elements that it leaves
  /// out have no value then, but a large value that is not here yet stays: `NSNull` takes it away.
  /// - Throws: ``ObjectError`` when there is no such property or the value does not fit.
  @_disfavoredOverload
  public final func setValue(_ value: Any?, forKey name: String) throws(ObjectError) {
    guard let slot = shape.layout.index(named: name) else {
      return try setComposite(value, name)
    }
    guard let relation = shape.relations[slot] else {
      set(known(try propertyValue(value, for: slot), at: slot), at: slot)
      return
    }
    if !relation.isToMany {
      let plain = Self.unwrapped(value)
      guard plain == nil || plain is ManagedObject else { throw typeMismatch(plain ?? "", slot) }
      return try setDestination(plain as? ManagedObject, of: relation)
    }
    guard let objects = Self.objects(in: value) else { throw typeMismatch(value ?? "nil", slot) }
    try setDestinations(objects, of: relation)
  }

  /// The value in the slot, converted from what a caller passed.
  final func propertyValue(_ value: Any?, for slot: Int) throws(ObjectError) -> PropertyValue {
    let kind = shape.kinds[slot]
    if let value, let common = kind.common(value) { return common }
    guard let plain = Self.unwrapped(value) else { return .null }
    let converted =
      if !(plain is PropertyValue), let transformer = transformer(of: slot) {
        transformer.data(of: plain).map { PropertyValue.data($0) }
      } else {
        kind.value(of: plain)
      }
    guard let converted, kind.accepts(converted) else { throw typeMismatch(plain, slot) }
    return converted
  }

  /// A present value for those who list several.
  final func listedValue(forKey name: String) -> Any? {
    if let slot = shape.layout.index(named: name), shape.relations[slot] == nil {
      return listed(read(slot), at: slot)
    }
    return (try? value(forKey: name)) ?? nil
  }

  /// A value of a list of several: one that is not here is the ``PropertyValue`` that stands for it, which setters take back. Nil would
  /// be taken for none, and written over it.
  final func listed(_ value: PropertyValue, at slot: Int) -> Any? {
    value.isInZone ? value : plain(value, at: slot)
  }

  /// The value as its Swift type: of a transformable attribute what its transformer makes of it.
  final func plain(_ value: PropertyValue, at slot: Int) -> Any? {
    guard case .data(let data) = value, !value.isInZone, let transformer = transformer(of: slot)
    else {
      return value.plain
    }
    return transformer.value(of: data)
  }

  private final func transformer(of slot: Int) -> ValueTransformer? {
    guard case .attribute(let attribute, .transformable) = shape.layout.slots[slot].kind else {
      return nil
    }
    return attribute.valueTransformer
  }

  /// What is there already, where another archive holds an equal value: the same dictionary has many.
  private final func known(_ new: PropertyValue, at slot: Int) -> PropertyValue {
    guard case .data(let data) = new, !new.isInZone, let transformer = transformer(of: slot),
      case .data(let present) = read(slot), present != data, !PropertyValue.data(present).isInZone,
      let old = transformer.value(of: present), let given = transformer.value(of: data)
    else { return new }
    return Self.areEqual(old, given) ? .data(present) : new
  }

  /// Whether two values of transformable attributes are equal, by `isEqual(_:)` where they are objects.
  package static func areEqual(_ one: Any, _ other: Any) -> Bool {
    NSArray(object: one).isEqual(NSArray(object: other))
  }

  /// The slots of a composite attribute by the leaf's name within it.
  private final func leaves(of name: String) -> [String: Int] {
    var leaves: [String: Int] = [:]
    for slot in shape.layout.slots where slot.name.hasPrefix(name + ".") {
      leaves[String(slot.name.dropFirst(name.count + 1))] = slot.index
    }
    return leaves
  }

  /// The values of leaves by their names, as dictionaries within dictionaries.
  private final func compositeValue(
    _ values: [String: any Sendable]
  ) -> [String: any Sendable] {
    var elements: [String: any Sendable] = [:]
    var inner: [String: [String: any Sendable]] = [:]
    for (leaf, value) in values {
      guard let dot = leaf.firstIndex(of: ".") else {
        elements[leaf] = value
        continue
      }
      inner[String(leaf[..<dot]), default: [:]][String(leaf[leaf.index(after: dot)...])] = value
    }
    for (element, values) in inner { elements[element] = compositeValue(values) }
    return elements
  }

  private final func setComposite(_ value: Any?, _ name: String) throws(ObjectError) {
    let leaves = leaves(of: name)
    guard !leaves.isEmpty else { throw unknownProperty(name) }
    var given: [Int: Any] = [:]
    try collect(value, at: "", of: name, leaves, &given)
    var values: [(slot: Int, value: PropertyValue)] = []
    let isTakenAway = Self.unwrapped(value) == nil
    for slot in leaves.values {
      // Who reads the elements to change one of them cannot have this one.
      guard given[slot] != nil || isTakenAway || !read(slot).isInZone else { continue }
      values.append((slot, try propertyValue(given[slot], for: slot)))
    }
    for (slot, value) in values { set(value, at: slot) }
  }

  /// What a dictionary of elements has for each leaf: also for one of an element that is composite, which has a dictionary of its
  /// own, or is named with the leaf.
  private final func collect(
    _ value: Any?, at path: String, of name: String, _ leaves: [String: Int],
    _ given: inout [Int: Any]
  ) throws(ObjectError) {
    guard let plain = Self.unwrapped(value) else { return }
    let place = path.isEmpty ? name : "\(name).\(path)"
    guard let elements = plain as? [String: Any] else {
      throw ObjectError(
        .typeMismatch, "\(entity.name).\(place) is composite and takes a dictionary",
        suggestion: "Pass a dictionary of its elements, or set \(place).element.")
    }
    for (element, value) in elements {
      let leaf = path.isEmpty ? element : "\(path).\(element)"
      if let slot = leaves[leaf] {
        given[slot] = value
      } else if leaves.keys.contains(where: { $0.hasPrefix(leaf + ".") }) {
        try collect(value, at: leaf, of: name, leaves, &given)
      } else {
        throw unknownProperty("\(name).\(leaf)")
      }
    }
  }

  static func unwrapped(_ value: Any?) -> Any? {
    guard let value, !(value is NSNull) else { return nil }
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .optional else { return value }
    return unwrapped(mirror.children.first?.value)
  }

  static func objects(in value: Any?) -> [ManagedObject]? {
    switch unwrapped(value) {
    case nil: []
    case let objects as [ManagedObject]: objects
    case let objects as Set<ManagedObject>: Array(objects)
    case let view as any ManagedObjectSequence: view.managedObjects
    default: nil
    }
  }
}

/// A view of related objects, whatever their class.
private protocol ManagedObjectSequence {
  var managedObjects: [ManagedObject] { get }
}

extension RelatedObjects: ManagedObjectSequence {
  fileprivate var managedObjects: [ManagedObject] { array }
}
