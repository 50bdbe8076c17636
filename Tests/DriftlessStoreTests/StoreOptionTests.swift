import Driftless
import Testing

struct StoreOptionTests {
  @Test("Options are equal when they say the same of migration")
  func equality() {
    var options = StoreOptions()
    options.migratesAutomatically = true
    #expect(options == StoreOptions(migratesAutomatically: true))
    #expect(options.hashValue == StoreOptions(migratesAutomatically: true).hashValue)
    #expect(options != StoreOptions())
    options.mappingModels = [MappingModel()]
    #expect(options.mappingModels == [MappingModel()] && options.migratesAutomatically)
    #expect(options != StoreOptions(migratesAutomatically: true))
    options.mappingModels = []
    options.migratesAutomatically = false
    #expect(options == StoreOptions() && options.hashValue == StoreOptions().hashValue)
    options.defersMigrationCleanup = true
    #expect(options == StoreOptions(defersMigrationCleanup: true))
  }

  @Test("Stages are those of one manager")
  func stages() {
    let (one, other) = (StagedMigrationManager([]), StagedMigrationManager([]))
    var options = StoreOptions(isReadOnly: true, stagedMigration: one)
    #expect(options.stagedMigration === one && options.isReadOnly)
    #expect(options == StoreOptions(isReadOnly: true, stagedMigration: one))
    #expect(options != StoreOptions(isReadOnly: true, stagedMigration: other))
    options.stagedMigration = nil
    #expect(options == StoreOptions(isReadOnly: true))
  }
}
