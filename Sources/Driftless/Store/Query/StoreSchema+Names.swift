/// What the compiler asks the schema.
extension StoreSchema {
  func tableName(of entity: EntityDescription) -> String { table(for: entity).name }

  /// The table of the hierarchy that an object belongs to; nil for an unknown entity number.
  func tableName(of key: ObjectKey) -> String? {
    entity(numbered: key.entity).map(tableName(of:))
  }

  /// The column of an attribute, or the key column of a to-one relationship.
  func columnName(of slot: Int, in entity: EntityDescription) -> String? {
    let table = table(for: entity)
    guard let binding = table.slotBindings(for: entity).first(where: { $0.slot == slot }) else {
      return nil
    }
    return table.columns[binding.column].name
  }

  /// The column of a to-one relationship's place in the ordered relationship at its other end.
  func orderColumnName(of slot: Int, in entity: EntityDescription) -> String? {
    let table = table(for: entity)
    return table.slotBindings(for: entity).first { $0.slot == slot }?.orderColumn
      .map { table.columns[$0].name }
  }

  /// The numbers of an entity and, when asked for, all below it.
  func numbers(of entity: EntityDescription, includingSubentities: Bool) -> [Int32] {
    let number = entityNumber(of: entity)
    var numbers = number > 0 ? [number] : []
    if includingSubentities {
      for subentity in entity.subentities {
        numbers += self.numbers(of: subentity, includingSubentities: true)
      }
    }
    return numbers
  }
}
