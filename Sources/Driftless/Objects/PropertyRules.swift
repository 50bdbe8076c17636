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
    let own: PropertyRules.Rule = { object, value in
      guard let object = object as? Root else { return }
      var own = Value(propertyValue: value) ?? fallback
      let before = own.propertyValue
      try rule(object, &own)
      if own.propertyValue != before { value = own.propertyValue }
    }
    PropertyRules.rules.add(own, named: property.name, of: Root.self)
  }
}

/// Rules that classes add to the model's, by class and property.
package enum PropertyRules {
  typealias Rule = @Sendable (ManagedObject, inout PropertyValue) throws -> Void
  /// What a method `validate<Key>` does with a value in the form of `value(forKey:)`; whether it put another one in its place.
  package typealias Method = @Sendable (ManagedObject, inout Any?) throws -> Bool

  /// Those that come before the model's.
  static let rules = ClassMembers<Rule>()
  /// Those that come after the model's, of attributes and relationships.
  package static let methods = ClassMembers<Method>()
}

extension ManagedObject {
  /// Asks the class's rules of every attribute, and takes the values that they put in place.
  final func applyRules(into errors: inout [any Error]) {
    guard !state.contains(.fault) else { return }
    let all = PropertyRules.rules.all(of: type(of: self))
    for (name, rules) in all.sorted(by: { $0.key < $1.key }) {
      guard let slot = shape.layout.index(named: name), shape.relations[slot] == nil,
        !values[slot].isInZone
      else { continue }
      do {
        let corrected = try self.corrected(values[slot], at: slot, by: rules)
        if corrected != values[slot] { write(corrected, at: slot) }
      } catch {
        errors.append(error)
      }
    }
  }

  /// Asks the class's methods of every property that keeps to the model's rules, and takes the values that they put in
  /// place.
  ///
  /// - Parameter broken: Slots whose values do not.
  final func applyMethods(except broken: Set<Int>, into errors: inout [any Error]) {
    let all = PropertyRules.methods.all(of: type(of: self))
    guard !all.isEmpty else { return }
    if state.contains(.fault) { fire() }
    for (name, methods) in all.sorted(by: { $0.key < $1.key }) {
      guard let slot = shape.layout.index(named: name), !broken.contains(slot),
        // It was looked at where it was set.
        !values[slot].isInZone
      else { continue }
      do {
        var value = try value(forKey: name)
        if try correct(&value, by: methods) { try setValue(value, forKey: name) }
      } catch {
        errors.append(error)
      }
    }
  }

  /// Has methods look at a value; whether one put another in its place.
  final func correct(_ value: inout Any?, by methods: [PropertyRules.Method]) throws -> Bool {
    var isAnother = false
    for method in methods where try method(self, &value) { isAnother = true }
    return isAnother
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
