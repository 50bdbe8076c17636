/// What an inferred mapping allows.
extension MigrationPlan {
  static func refusal(
    _ message: String, _ suggestion: String, lacking: (entity: String, property: String)? = nil
  ) -> StoreError {
    var error = StoreError(
      .cannotMigrate, "The store cannot be migrated by itself: \(message).",
      suggestion: suggestion)
    error.lacking = lacking
    return error
  }

  static func severalHolders(in relationship: RelationshipDescription) -> StoreError {
    refusal(
      "several objects hold one in \(JoinTable.key(relationship)), which columns cannot say",
      "Keep the relationship in pairs, or let one object hold each before the migration.")
  }

  /// Whether the value of the former slot is taken over.
  static func check(
    _ former: PropertySlot, _ slot: PropertySlot, _ entity: EntityDescription
  ) throws -> Bool {
    let label = "\(entity.name).\(slot.name)"
    if former.isTransient || slot.isTransient { return false }
    switch (former.kind, slot.kind) {
    case (.attribute(_, let old), .attribute(_, let new)):
      guard isConvertible(old, new) else {
        throw refusal(
          "\(label) was of type \(old) and is of type \(new)",
          "Keep the attribute's type, or add an attribute of the new type beside it.")
      }
    case (.attribute, _), (_, .attribute):
      throw refusal(
        "\(label) was \(former.relationship == nil ? "an attribute" : "a relationship")",
        "Give the new property another name.")
    default: break
    }
    return true
  }

  static func isConvertible(_ old: AttributeType, _ new: AttributeType) -> Bool {
    if old == new { return true }
    let integers: [AttributeType] = [.boolean, .integer16, .integer32, .integer64]
    let reals: [AttributeType] = [.float, .double]
    if let from = integers.firstIndex(of: old) {
      if let to = integers.firstIndex(of: new) { return to > from }
      return reals.contains(new) || new == .decimal
    }
    if reals.contains(old) { return reals.contains(new) || new == .decimal }
    return [old, new] == [.binaryData, .transformable] || [old, new] == [.string, .uri]
      || [old, new] == [.uri, .string]
  }

  func checkNewProperties(of match: EntityMatch) throws {
    for slot in match.destination.layout.slots where !slot.isOptional && !slot.isTransient {
      let label = "\(match.destination.name).\(slot.name)"
      let former = match.sourceSlots[slot.index]
      let lacking = (match.destination.name, slot.name)
      if former == nil, case .toOne = slot.kind {
        throw Self.refusal(
          "\(label) is new and required", "Make it optional, and fill it before it is required.",
          lacking: lacking)
      }
      guard case .attribute(let attribute, _) = slot.kind, slot.defaultValue.isNull,
        !(attribute is DerivedAttributeDescription), former?.isOptional ?? true
      else { continue }
      throw Self.refusal(
        "\(label) is required and has no default value for objects that have none",
        "Give it a default value, or make it optional.", lacking: lacking)
    }
  }

  /// A relationship that stays leads to entities that it led to.
  func checkDestinations() throws {
    for match in matches {
      for (slot, former) in zip(match.destination.layout.slots, match.sourceSlots) {
        guard let now = slot.relationship?.destinationEntity,
          let then = former?.relationship?.destinationEntity,
          !matches.contains(where: {
            $0.source.rootEntity === then.rootEntity
              && $0.destination.rootEntity === now.rootEntity
          })
        else { continue }
        throw Self.refusal(
          "\(match.destination.name).\(slot.name) led to \(then.name) and leads to \(now.name)",
          "Give the new relationship another name.")
      }
    }
  }

  /// Whether a relationship without inverse is columns of the objects at its end in the store that is made.
  ///
  /// Each stays what it was. What was a relationship with an inverse, or several, goes by what its objects may have: several
  /// that hold one are pairs. A new one is what those of the store are.
  /// - Parameter layout: What is asked for; nil to keep what there is.
  func holdsInColumns(
    _ relationship: RelationshipDescription, _ schema: StoreSchema, _ layout: ToManyLayout?
  ) -> Bool {
    if let layout { return layout == .columns }
    guard schema.holdsInColumns else { return false }
    let formers = formers(of: relationship)
    guard let former = formers.first else { return true }
    return formers.count == 1 && (schema.joinTable(for: former).map { $0.held != nil } ?? true)
  }
}
