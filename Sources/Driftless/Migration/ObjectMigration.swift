/// The three passes over the mappings of a mapping model: objects, relationships, validation.
struct ObjectMigration {
  let manager: MigrationManager
  /// Called with the part that is done, 0 … 1.
  let progress: (Double) throws -> Void

  private typealias Work = (mapping: EntityMapping, policy: EntityMigrationPolicy)

  func run() throws {
    let work = try manager.mappingModel.entityMappings.map {
      (mapping: $0, policy: try EntityMigrationPolicy.make($0.entityMigrationPolicyClassName))
    }
    for (index, part) in work.enumerated() {
      try createObjects(part)
      try report(Double(index + 1) / Double(work.count) * 0.5)
    }
    for (index, (mapping, policy)) in work.enumerated() {
      manager.currentEntityMapping = mapping
      try manager.forEachInstance(madeBy: mapping) { object in
        try policy.createRelationships(forDestination: object, in: mapping, manager: manager)
        try manager.checkCancelled()
        try manager.saveIfMuch()
      }
      try policy.endRelationshipCreation(forMapping: mapping, manager: manager)
      try report(0.5 + Double(index + 1) / Double(work.count) * 0.4)
    }
    for (mapping, policy) in work {
      manager.currentEntityMapping = mapping
      try policy.performCustomValidation(forMapping: mapping, manager: manager)
      try policy.end(mapping, manager: manager)
      try manager.checkCancelled()
    }
    try manager.checkSource()
    try manager.saveAll()
    manager.currentEntityMapping = nil
    try report(1)
  }

  private func createObjects(_ work: Work) throws {
    let (mapping, policy) = work
    manager.currentEntityMapping = mapping
    try policy.begin(mapping, with: manager)
    if mapping.mappingType != .remove, mapping.mappingType != .add {
      try manager.forEachSource(of: mapping) { source in
        try policy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
        try manager.checkSource()
        try manager.checkCancelled()
        try manager.saveIfMuch()
      }
    }
    try policy.endInstanceCreation(forMapping: mapping, manager: manager)
  }

  private func report(_ part: Double) throws {
    try manager.report(part)
    try progress(part)
  }
}
