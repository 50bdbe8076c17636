extension StoreOptions {
  /// Brings a store of another model to the one that it is opened with, stage by stage.
  public var stagedMigration: StagedMigrationManager? {
    get { migrationChoice.route as? StagedMigrationManager }
    set { migrationChoice.route = newValue }
  }

  /// Options with a migration. Without one that is asked for here, a store of another model is refused.
  public init(
    isReadOnly: Bool = false, durability: Durability = .full,
    busyTimeoutMilliseconds: Int32 = 10_000, createsFile: Bool = true,
    ignoresVersioning: Bool = false, postsRemoteChanges: Bool = false,
    isImmutable: Bool = false, migratesAutomatically: Bool = false,
    mappingModels: [MappingModel] = [], stagedMigration: StagedMigrationManager? = nil,
    defersMigrationCleanup: Bool = false
  ) {
    self.init(
      isReadOnly: isReadOnly, durability: durability,
      busyTimeoutMilliseconds: busyTimeoutMilliseconds, createsFile: createsFile,
      ignoresVersioning: ignoresVersioning, postsRemoteChanges: postsRemoteChanges,
      isImmutable: isImmutable)
    migrationChoice = MigrationChoice(
      isAutomatic: migratesAutomatically, mappingModels: mappingModels,
      defersCleanup: defersMigrationCleanup, route: stagedMigration)
  }
}
