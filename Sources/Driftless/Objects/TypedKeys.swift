/// A typed key, as a class lists it in ``ManagedObject/typedKeys``: an ``Attribute``, a ``ToOne`` or a ``ToMany``.
public protocol TypedKey: Sendable {
  /// The name of the property.
  var property: PropertyName { get }
  /// What is wrong with the key for objects of an entity; nil when it fits.
  func mistake(for entity: EntityDescription) -> String?
}

extension Attribute: TypedKey {
  public func mistake(for entity: EntityDescription) -> String? {
    let slot = entity.layout.index(of: property)
    guard slot >= 0 else { return "there is no such property" }
    guard case .attribute(_, let type) = entity.layout.slots[slot].kind else {
      return "it is a relationship"
    }
    guard !Value.attributeTypes.contains(type) else { return nil }
    return "it is \(type), which \(Value.self) does not hold"
  }
}

extension ToOne: TypedKey {
  public func mistake(for entity: EntityDescription) -> String? {
    entity.mistake(property, isToMany: false) { $0 is Destination.Type }
  }
}

extension ToMany: TypedKey {
  public func mistake(for entity: EntityDescription) -> String? {
    entity.mistake(property, isToMany: true) { $0 is Destination.Type }
  }
}

extension EntityDescription {
  fileprivate func mistake(
    _ property: PropertyName, isToMany: Bool, _ isDestination: (ManagedObject.Type) -> Bool
  ) -> String? {
    let slot = layout.index(of: property)
    guard slot >= 0 else { return "there is no such property" }
    guard let relationship = layout.slots[slot].relationship else { return "it is an attribute" }
    guard relationship.isToMany == isToMany else {
      return "it is a relationship to \(isToMany ? "one" : "many")"
    }
    // A class that nobody registered so far is not known: its objects may be what the key says.
    guard let target = relationship.destinationEntity else { return nil }
    let type = ObjectClasses.objectClass(for: target)
    guard type != ManagedObject.self, !isDestination(type) else { return nil }
    return "it leads to \(target.name), whose objects are \(type)"
  }
}

extension ManagedObjectModel {
  /// Compares the typed keys that classes list with the model.
  ///
  /// - Throws: ``ObjectError`` with the code `wrongKeys` and all mistakes.
  func checkTypedKeys() throws(ObjectError) {
    var mistakes: [String] = []
    for entity in entities.sorted(by: { $0.name < $1.name }) {
      let type = ObjectClasses.objectClass(for: entity)
      for key in type.typedKeys {
        guard let mistake = key.mistake(for: entity) else { continue }
        mistakes.append("\(type).\(key.property.name) for \(entity.name): \(mistake)")
      }
    }
    guard let first = mistakes.first else { return }
    throw ObjectError(
      .wrongKeys,
      mistakes.count == 1
        ? "A typed key does not fit the model. \(first)"
        : "\(mistakes.count) typed keys do not fit the model. \(mistakes.joined(separator: "; "))",
      suggestion: "Correct the classes, or write them anew: syncctl model generate.")
  }
}
