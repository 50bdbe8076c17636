import Driftless
public import Foundation

// What the accessors of a to-many relationship that Xcode generates do here: `syncctl code port` writes the calls. They
// change what they name and read no more than that.
extension ManagedObject {
  /// Adds an object, or those of a set or an array, at the end of an ordered relationship; those that are there stay.
  public final func addManagedObjects(_ objects: Any, forKey key: String) {
    guard let named = members(objects, forKey: key) else { return }
    var related = self[ToMany<ManagedObject, ManagedObject>(key)]
    related.formUnion(named)
  }

  /// Takes out an object, or those of a set or an array; what is not there is passed over.
  public final func removeManagedObjects(_ objects: Any, forKey key: String) {
    var related = self[ToMany<ManagedObject, ManagedObject>(key)]
    related.subtract(Self.objects(among: objects))
  }

  /// Puts an object, or those of an ordered set or an array, at places of an ordered relationship: each at the place that
  /// it has at the end. One that is there stays where it is. A place that there is not is a precondition failure.
  public final func insertManagedObjects(
    _ objects: Any, at indexes: IndexSet, forKey key: String
  ) {
    guard let named = members(objects, forKey: key) else { return }
    var related = self[ToMany<ManagedObject, ManagedObject>(key)].array
    var known = Set(related)
    for (object, index) in zip(named, indexes) {
      precondition(index <= related.count, "\(entity.knownName).\(key) has no place \(index)")
      if known.insert(object).inserted { related.insert(object, at: index) }
    }
    setStoredValue(related, key)
  }

  /// Takes out the objects at places of an ordered relationship. A place that there is not is a precondition failure.
  public final func removeManagedObjects(at indexes: IndexSet, forKey key: String) {
    var related = self[ToMany<ManagedObject, ManagedObject>(key)].array
    for index in indexes.reversed() {
      precondition(index < related.count, "\(entity.knownName).\(key) has no place \(index)")
      related.remove(at: index)
    }
    setStoredValue(related, key)
  }

  /// Puts other objects in the places of an ordered relationship. One that is there already stays where it is. A place that
  /// there is not is a precondition failure.
  public final func replaceManagedObjects(
    at indexes: IndexSet, with objects: Any, forKey key: String
  ) {
    var related = self[ToMany<ManagedObject, ManagedObject>(key)].array
    var known = Set(related)
    for (object, index) in zip(members(objects, forKey: key) ?? [], indexes) {
      precondition(index < related.count, "\(entity.knownName).\(key) has no place \(index)")
      guard known.insert(object).inserted else { continue }
      known.remove(related[index])
      related[index] = object
    }
    setStoredValue(related, key)
  }

  /// One object, or those of a list, to be put into a relationship. For anything else, alone or among them, it is nil, and the next
  /// save throws what it throws where the relationship is set to that.
  final func members(_ objects: Any, forKey key: String) -> [ManagedObject]? {
    if let object = objects as? ManagedObject { return [object] }
    if let objects = Self.objects(of: objects) { return objects }
    setStoredValue(objects, key)
    return nil
  }

  /// One object, or those among a list: anything else is in no relationship.
  private static func objects(among list: Any) -> [ManagedObject] {
    if let object = list as? ManagedObject { return [object] }
    if let objects = objects(of: list) { return objects }
    let all = (list as? NSSet)?.allObjects ?? (list as? NSOrderedSet)?.array ?? list as? [Any] ?? []
    return all.compactMap { $0 as? ManagedObject }
  }
}
