import Synchronization

extension Attribute {
  /// Adds a rule for the attribute: what a method `validate<Key>` is in Core Data. Call it once, at start.
  ///
  /// It is asked before each save of a changed object of the class, and by `validateValue(_:forKey:)` of
  /// ``ManagedObject``. It may put another value in place of the one that it gets, which the object takes then; the
  /// model's own rules are checked afterwards.
  ///
  /// ```swift
  /// Person.age.validate { person, age in
  ///   if age > 130 { throw ValidationError(
  ///     code: 4711, entityName: "Person", propertyName: "age", message: "nobody is so old") }
  /// }
  /// Person.name.validate { $1 = $1.trimmingCharacters(in: .whitespaces) }
  /// ```
  /// - Parameter rule: gets the object and its value, and throws what is wrong. It runs where the object's context is.
  public func validate(_ rule: @escaping @Sendable (Root, inout Value) throws -> Void) {
    let fallback = fallback
    PropertyRules.add(property.name, of: Root.self) { object, value in
      guard let object = object as? Root else { return }
      var own = Value(propertyValue: value) ?? fallback
      let before = own.propertyValue
      try rule(object, &own)
      if own.propertyValue != before { value = own.propertyValue }
    }
  }
}

/// Rules that classes add to the model's, by class and property.
enum PropertyRules {
  typealias Rule = @Sendable (ManagedObject, inout PropertyValue) throws -> Void

  private struct Registry {
    var own: [ObjectIdentifier: [String: [Rule]]] = [:]
    /// With those of the superclasses.
    var all: [ObjectIdentifier: [String: [Rule]]] = [:]
  }

  private static let registry = Mutex(Registry())
  private static let count = Atomic<Int>(0)

  static func add(_ name: String, of type: ManagedObject.Type, _ rule: @escaping Rule) {
    registry.withLock {
      $0.own[ObjectIdentifier(type), default: [:]][name, default: []].append(rule)
      $0.all = [:]
    }
    count.add(1, ordering: .releasing)
  }

  /// Whether any class has a rule: most programs have none, and pay for this question alone.
  static var areThere: Bool { count.load(ordering: .acquiring) > 0 }

  /// The rules of a class, those of its superclasses first.
  static func all(of type: ManagedObject.Type) -> [String: [Rule]] {
    registry.withLock { registry in
      if let all = registry.all[ObjectIdentifier(type)] { return all }
      var lineage: [AnyClass] = []
      var next: AnyClass? = type
      while let one = next {
        lineage.append(one)
        next = _getSuperclass(one)
      }
      let all = lineage.reversed().reduce(into: [:]) { all, one in
        all.merge(registry.own[ObjectIdentifier(one)] ?? [:]) { $0 + $1 }
      }
      registry.all[ObjectIdentifier(type)] = all
      return all
    }
  }
}

extension ManagedObject {
  /// Asks the class's rules of every attribute, and takes the values that they put in place.
  final func applyRules(into errors: inout [any Error]) {
    guard PropertyRules.areThere, !state.contains(.fault) else { return }
    let all = PropertyRules.all(of: type(of: self))
    guard !all.isEmpty else { return }
    for (name, rules) in all.sorted(by: { $0.key < $1.key }) {
      guard let slot = shape.layout.index(named: name), shape.relations[slot] == nil else {
        continue
      }
      do {
        let corrected = try self.corrected(values[slot], at: slot, by: rules)
        if corrected != values[slot] { write(corrected, at: slot) }
      } catch {
        errors.append(error)
      }
    }
  }

  /// What rules make of a value.
  final func corrected(
    _ value: PropertyValue, at slot: Int, by rules: [PropertyRules.Rule]
  ) throws -> PropertyValue {
    var value = value
    for rule in rules { try rule(self, &value) }
    guard shape.kinds[slot].accepts(value) else { throw typeMismatch(value, slot) }
    return value
  }
}
