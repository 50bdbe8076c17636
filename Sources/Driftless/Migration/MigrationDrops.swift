/// What a migration by itself leaves behind: what the new model has under no name.
package struct MigrationDrops {
  /// A property whose values go, in the objects of one entity.
  package struct Property {
    package let entity: EntityDescription
    /// The property, or the leaf of a composite attribute: `location.lat`.
    package let name: String
    package let isToMany: Bool
  }

  /// Entities whose objects go.
  package private(set) var entities: [EntityDescription] = []
  package private(set) var properties: [Property] = []

  /// - Parameter destination: Frozen.
  /// - Throws: `StoreError`: `cannotMigrate`, and `newerModel` for a store that had this model before.
  package init(from store: PersistentStore, to destination: ManagedObjectModel, path: String) throws
  {
    _ = try MigrationFile.formerModels(of: store, at: path, to: destination)
    let present = try StoreConfiguration(store.configurationName, of: destination).entityNames
    let plan = try MigrationPlan(
      from: store.model, store.schema.entities, to: destination, present)
    for entity in store.schema.entities.sorted(by: { $0.name < $1.name }) {
      guard let match = plan.match(ofSource: entity) else {
        entities.append(entity)
        continue
      }
      guard !entity.isAbstract else { continue }
      for slot in MigrationLosses.slots(of: entity, lostBy: match, false) {
        properties.append(Property(entity: entity, name: slot.name, isToMany: slot.isToMany))
      }
    }
  }
}
