public import Driftless

extension ManagedObjectModel {
  /// A model of its own with the same content, which can be changed. One that cannot be kept, for its default values, is a
  /// precondition failure.
  public func copy() -> Any {
    do { return try knownCopy() } catch { preconditionFailure("\(error)") }
  }
}

extension EntityDescription {
  /// An entity of no model with the same content and subentities, and no superentity. Its relationships find their destinations
  /// by name in the model that it is put into. One that cannot be kept, for its default values, is a precondition failure.
  public func copy() -> Any {
    do { return try knownCopy() } catch { preconditionFailure("\(error)") }
  }
}

extension PropertyDescription {
  /// A property of no entity with the same content. One that cannot be kept, for its default value, is a precondition failure.
  public func copy() -> Any {
    do { return try knownCopy() } catch { preconditionFailure("\(error)") }
  }
}
