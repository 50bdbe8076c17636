extension WriteTransaction {
  /// Records an object whose row another program wrote without a history, and counts its key as given out.
  package func recordFound(_ key: ObjectKey) throws {
    guard let entity = schema.entity(numbered: key.entity) else { return }
    try reserve(key.key, for: entity)
    try recordInsert(key)
  }
}
