import DriftlessSQLite

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

  /// - Parameters:
  ///   - destination: Frozen.
  ///   - goesBack: Whether it may be a model that the store had before.
  /// - Throws: `StoreError`: `cannotMigrate`, and `newerModel` for a store that had this model before.
  package init(
    from store: PersistentStore, to destination: ManagedObjectModel, path: String,
    goesBack: Bool = false
  ) throws {
    _ = try MigrationFile.formerModels(of: store, at: path, to: destination, goesBack)
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

  /// What goes of what a store holds: entities that have objects, and properties (`Entity.property`) of which some object has a
  /// value.
  func held(by store: PersistentStore) throws -> [String] {
    try store.read { transaction in
      func isThere(_ entity: EntityDescription, _ predicate: FetchPredicate?) throws -> Bool {
        let query = try QueryCompiler(schema: store.schema).compile(
          entity: entity, predicate: predicate, sort: [], limit: 1, offset: 0,
          includesSubentities: false, selection: .keys)
        do {
          return try !transaction.keys(of: query).isEmpty
        } catch let error as SQLiteError where error.isReadOrWriteFailure {
          // A value whose file is lost is one.
          return true
        }
      }
      let objects = try entities.filter { try !$0.isAbstract && isThere($0, nil) }.map(\.name)
      let values = try properties.filter { property in
        try isThere(
          property.entity,
          FetchPredicate(
            format: property.isToMany ? "%K.@count > 0" : "%K != nil", property.name))
      }
      return objects + values.map { "\($0.entity.name).\($0.name)" }
    }
  }
}
