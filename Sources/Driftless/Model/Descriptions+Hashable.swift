/// Descriptions are told apart as objects.
extension PropertyDescription: Hashable {
  public static func == (left: PropertyDescription, right: PropertyDescription) -> Bool {
    left === right
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Descriptions are told apart as objects.
extension EntityDescription: Hashable {
  public static func == (left: EntityDescription, right: EntityDescription) -> Bool {
    left === right
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
