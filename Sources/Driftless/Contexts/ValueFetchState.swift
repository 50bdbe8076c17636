public import Foundation

/// Where the value of an attribute is.
public enum ValueFetchState: Hashable, Sendable {
  /// The object has none.
  case none
  /// The object has it.
  case here
  /// The zone has it, and this store has not fetched it: so many bytes are to come.
  case inZone(bytes: Int64)
  /// The object has one, and it was not to be had when it was asked for: the zone lacks it, or what the zone has is damaged. It is
  /// asked for again, and comes when a replica that has it syncs.
  case missing(since: Date)
}

extension ManagedObject {
  /// Where the value of an attribute is, so that a screen can show what is to be fetched. It reads no value that is not here, and is no
  /// error.
  ///
  /// ```swift
  /// if case .inZone(let bytes) = photo.valueState(of: Photo.image) { show("\(bytes) bytes to fetch") }
  /// ```
  /// Of what is here and of what nobody asked for in vain it costs a look at the object; else one at the store.
  public final func valueState<Root, Value>(of key: Attribute<Root, Value>) -> ValueFetchState {
    let slot = shape.layout.index(of: key.property)
    guard slot >= 0 else {
      deferError { throw unknownProperty(key.property.name) }
      return .none
    }
    return valueState(at: slot)
  }

  /// The same by name.
  /// - Throws: ``ObjectError`` when the entity has no such attribute.
  public final func valueState(forKey name: String) throws(ObjectError) -> ValueFetchState {
    guard let slot = shape.layout.index(named: name), shape.relations[slot] == nil else {
      throw unknownProperty(name)
    }
    return valueState(at: slot)
  }

  private final func valueState(at slot: Int) -> ValueFetchState {
    let value = read(slot)
    if value.isNull { return .none }
    guard let named = ValueInZone(value) else { return .here }
    let store = managedObjectContext?.persistentStoreCoordinator.persistentStore(
      withIdentifier: objectID.storeIdentifier)
    var since: Date?
    deferError { since = try store?.missedSince(named) }
    return since.map { .missing(since: $0) } ?? .inZone(bytes: named.length)
  }
}
