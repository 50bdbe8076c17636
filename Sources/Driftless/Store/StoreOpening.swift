import DriftlessSQLite
import Foundation
import Logging

/// Where the model of an open store came from.
package enum ModelOrigin: String, Sendable {
  case given
  case inside
  /// The copy that Core Data keeps in its files.
  case cache
  /// What the tables tell.
  case tables
}

/// Opens a file: creates the tables of a fresh one, checks the model against an old one.
struct StoreOpening {
  struct Opened {
    var identifier: String
    var schema: StoreSchema
    var metadata: StoreMetadata
    var modelOrigin = ModelOrigin.given
    var overlay: [String] = []
  }

  let file: StoreFile
  let connection: SQLiteConnection

  /// - Parameter configuration: Nil for all entities; without a model, for those that the file has.
  func open(model: ManagedObjectModel?, configuration: String?) throws -> Opened {
    if try StoreFile.isEmpty(connection), let opened = try create(model, configuration) {
      return opened
    }
    return try openExisting(model: model, configuration)
  }

  /// Nil when another process made the store meanwhile.
  private func create(_ model: ManagedObjectModel?, _ configuration: String?) throws -> Opened? {
    guard let model else {
      throw StoreError(
        .missingModel, "\(file.name) is empty, and no model was given to create it with.",
        suggestion:
          "Open it with a model, which makes the store: syncctl init --store '\(file.name)' --model MODEL"
      )
    }
    guard !file.options.isReadOnly else {
      throw StoreError(
        .notAStore, "\(file.name) holds no store.", suggestion: "Check the path.")
    }
    let configuration = try StoreConfiguration(configuration, of: model)
    let schema = StoreSchema(
      model: model, entityNames: configuration.entityNames,
      holdsInColumns: { _ in file.options.holdsToManyInColumns })
    let identifier = UUID()
    let metadata = StoreMetadata(model: model, configuration: configuration, for: schema)
    return try file.alone {
      guard try StoreFile.isEmpty(connection) else { return nil }
      try file.create(schema, metadata, identifier: identifier, on: connection)
      for statement in schema.views { try connection.execute(statement) }
      return Opened(
        identifier: identifier.uuidString, schema: schema, metadata: metadata,
        overlay: schema.views)
    }
  }

  private func openExisting(
    model given: ManagedObjectModel?, _ configurationName: String?
  ) throws -> Opened {
    let (identifier, metadata) = try MetadataTable.read(on: connection, path: file.name)
    try refuseRowsTable()
    let views = try views()
    try refuse(views.filter(Self.isOfLibrary))
    // Whoever works a model out reads these before there is a schema.
    let entities = views.isEmpty ? [] : try PrimaryKeyTable.modelEntities(on: connection)
    try refuse(
      views.filter { view in entities.contains { "Z\($0.name.uppercased())" == view.uppercased() } }
    )
    guard metadata.format <= StoreMetadata.newestFormat else {
      throw StoreError(
        .newerFormat, "\(file.name) was written by a newer version of Driftless.",
        suggestion: "Update this program; the file was not changed.")
    }
    let (model, source): (ManagedObjectModel, ModelOrigin) =
      if let given { (given, .given) } else { try modelOfFile(metadata) }
    let configuration =
      given == nil && configurationName == nil
      ? StoreConfiguration(metadata, of: model)
      : try StoreConfiguration(configurationName, of: model)
    // Core Data's hashes are not ours to compute: where no compiled model brings them along, its
    // files are judged by their tables alone.
    if given != nil || configurationName != nil, metadata.format > 0 || model.hasRecordedHashes,
      !file.options.ignoresVersioning
    {
      try check(model, configuration, against: metadata)
    }
    let numbers = try entityNumbers(model, metadata)
    let schema = StoreSchema(
      model: model, entityNames: configuration.entityNames,
      rTrees: try RTreeIndex.all(on: connection),
      numbers: numbers, present: try presentTables(model, metadata),
      external: try ExternalColumns.read(connection, numbers: numbers))
    let tables = Set(schema.tables.map(\.name) + schema.distinctJoinTables.map(\.name))
    try refuse(views.filter { tables.contains($0.uppercased()) })
    let fit = ModelFit(file: file, connection: connection, schema: schema)
    if metadata.format == 0 || file.options.ignoresVersioning { try fit.checkTables() }
    if metadata.format == 0, source == .given, !model.hasRecordedHashes,
      !file.options.ignoresVersioning
    {
      let stored = storedModel(metadata)
      try fit.checkMeaning(stored: stored)
      if !file.options.isReadOnly { try fit.checkNothingIsMissing(stored: stored) }
    }
    var opened = Opened(
      identifier: identifier, schema: schema, metadata: metadata, modelOrigin: source)
    if file.options.isReadOnly {
      opened.overlay = try ReadOnlyOverlay.statements(identifier: identifier, on: connection)
      for statement in opened.overlay { try connection.execute(statement) }
    } else {
      // A migration that was ended in the middle leaves the file without one. Where somebody else works in it meanwhile,
      // the next to open it will do.
      if metadata.format > 0 { try? connection.execute(StoreFile.useWAL) }
      try adopt(schema, metadata, identifier)
      opened.metadata = try marked(metadata, for: schema)
      if metadata.format > 0 {
        try StoreDefinition.completeDerivedTriggers(schema, on: connection)
      }
    }
    for statement in schema.views { try connection.execute(statement) }
    opened.overlay += schema.views
    return opened
  }

  /// The views that the file brings along. People make some for themselves.
  private func views() throws -> [String] {
    try connection.rows("SELECT name FROM main.sqlite_master WHERE type = 'view' ORDER BY name")
      .compactMap { if case .text(let name) = $0[0] { name } else { nil } }
  }

  /// Whether a table of the name is of the library or of Core Data, whatever the model.
  private static func isOfLibrary(_ name: String) -> Bool {
    // The last two are those of the history.
    let name = name.uppercased()
    return ["Z_", "ZDL_", "ACHANG", "ATRANS"].contains { name.hasPrefix($0) }
  }

  /// A table or view with the name of the rows in memory would be read in their place, and what is saved would be lost.
  private func refuseRowsTable() throws {
    let names = RowsInMemory.tables.map { "'\($0)'" }.joined(separator: ", ")
    let found = try connection.scalar(
      "SELECT name FROM main.sqlite_master WHERE lower(name) IN (\(names)) AND type <> 'index'")
    guard case .text(let name)? = found else { return }
    throw StoreError(
      .damaged,
      "\(file.name) has a table or a view \(name), whose name the library needs for rows in memory.",
      suggestion: "Give it another name with sqlite3 (ALTER TABLE … RENAME), or drop it.")
  }

  /// A view in the place of a table would run whatever it says, without an end it may be.
  private func refuse(_ views: [String]) throws {
    guard let name = views.first else { return }
    throw StoreError(
      .damaged, "\(file.name) has a view in the place of the table \(name).",
      suggestion: "Restore the file from a copy.")
  }

  /// Gives a file that Core Data or an older version wrote the tables that it lacks, and takes note of what Core Data did
  /// since.
  private func adopt(
    _ schema: StoreSchema, _ metadata: StoreMetadata, _ identifier: String
  ) throws {
    let isOurs = try ModelInside.exists(on: connection)
    if try isOurs && !StoreDefinition.hasOlderTables(connection)
      && (metadata.format > 0 || !isBehindCoreData())
    {
      return
    }
    try file.alone {
      if !isOurs { try connection.execute(StoreFile.useWAL) }
      try connection.transaction(.immediate) {
        // Another process may have been faster.
        let isFirst = try !ModelInside.exists(on: connection)
        try StoreDefinition.complete(schema, on: connection)
        if isFirst, metadata.format == 0 {
          try ContentDigest.giveIdentities(schema, identifier, connection)
        }
        if !isOurs || metadata.format == 0 { try followCoreData() }
      }
    }
  }

  /// Says in a file of ours which programs can read it, where one made it that did not say so.
  private func marked(
    _ metadata: StoreMetadata, for schema: StoreSchema
  ) throws -> StoreMetadata {
    let format = StoreMetadata.format(of: schema)
    guard (1..<format).contains(metadata.format) else { return metadata }
    return try file.alone {
      try connection.transaction(.immediate) {
        var (_, metadata) = try MetadataTable.read(on: connection, path: file.name)
        metadata.values[StoreMetadata.formatKey] = format
        try MetadataTable.set(metadata, on: connection)
        return metadata
      }
    }
  }

  /// Whether Core Data wrote to the file, or purged its history, after it was given our tables.
  private func isBehindCoreData() throws -> Bool {
    if let newest = try TransactionTable.newest(on: connection),
      try newest > TransactionNotes.newest(on: connection)
    {
      return true
    }
    return try oldestGone() > historyFloor()
  }

  /// The transaction before the oldest that is left.
  private func oldestGone() throws -> Int64 {
    if let oldest = try TransactionTable.oldest(on: connection) { return max(oldest, 1) - 1 }
    return try PrimaryKeyTable.lastKey(of: HistoryEntity.transaction, on: connection)
  }

  private func historyFloor() throws -> Int64 {
    let floor = try StoreSettings.value(of: StoreSettings.historyFloor, on: connection)
    if case .integer(let floor)? = floor { return floor }
    return 0
  }

  private func followCoreData() throws {
    try connection.execute(TransactionNotes.takeOver)
    try StoreSettings.set(
      StoreSettings.historyFloor, .integer(max(oldestGone(), historyFloor())), on: connection)
  }

  /// The model that travels inside; else the one that Core Data left there; else, for reading, what the tables tell.
  private func modelOfFile(
    _ metadata: StoreMetadata
  ) throws -> (ManagedObjectModel, ModelOrigin) {
    if try ModelInside.exists(on: connection),
      let content = try ModelInside.content(on: connection)
    {
      return (try ModelArchive.decode(content), .inside)
    }
    var reason = ""
    do {
      if let model = try CachedModel.read(connection, metadata) { return (model, .cache) }
    } catch let error as ModelError {
      reason = " Core Data's copy cannot be used: \(error)"
      Logger(label: "driftless.store").notice("\(file.name):\(reason)")
    }
    guard metadata.format == 0, file.options.isReadOnly else {
      throw StoreError(
        .missingModel, "\(file.name) carries no model.\(reason)",
        suggestion: "Give the model that it was written with, or open it for reading only.")
    }
    return (try InferredModel.read(connection), .tables)
  }

  /// The model that the file was written with, as far as it says: Core Data's copy, which is as new as the file; else the one
  /// that it was opened for writing with before, where the tables do not contradict that.
  private func storedModel(_ metadata: StoreMetadata) -> ManagedObjectModel? {
    if metadata.format == 0, let model = try? CachedModel.read(connection, metadata) {
      return model
    }
    guard let content = try? ModelInside.content(on: connection),
      let model = try? ModelArchive.decode(content), (try? model.freeze()) != nil
    else { return nil }
    guard metadata.format == 0 else { return model }
    do {
      let schema = StoreSchema(
        model: model, entityNames: StoreConfiguration(metadata, of: model).entityNames,
        numbers: try entityNumbers(model, metadata), present: try PresentTables(connection))
      let fit = ModelFit(file: file, connection: connection, schema: schema)
      try fit.checkTables()
      try fit.checkMeaning(stored: nil)
      return model
    } catch {
      // It is no word to go by.
      return nil
    }
  }

  private func check(
    _ model: ManagedObjectModel, _ configuration: StoreConfiguration,
    against metadata: StoreMetadata
  ) throws {
    let different = model.incompatibleEntities(metadata.values, among: configuration.entityNames)
    guard different.isEmpty else {
      func words(_ name: String?) -> String { name.map { "the configuration “\($0)”" } ?? "all" }
      if metadata.format > 0, metadata.configurationName != configuration.name {
        throw StoreError(
          .incompatibleModel,
          """
          \(file.name) has entities of the model: \(words(metadata.configurationName)); asked for \
          are \(words(configuration.name)). Different are \(different.joined(separator: ", ")).
          """,
          suggestion: "Open it with its own configuration, or migrate it to this one.")
      }
      let first = storedModel(metadata).flatMap {
        ModelDifference.first(of: model, from: $0, mayLack: false)
      }
      let told = first.map {
        " \($0.element) \($0.stored) in the file, and \($0.given) in this model."
      }
      throw StoreError(
        .incompatibleModel,
        "\(another); different are \(different.joined(separator: ", ")).\(told ?? "")",
        suggestion: "Open it with its own model, or migrate it.")
    }
  }

  /// The tables that a file has, where they decide how a model lies in it.
  private func presentTables(
    _ model: ManagedObjectModel, _ metadata: StoreMetadata
  ) throws -> PresentTables? {
    let usesJoinTables = model.entities.contains { entity in
      entity.ownProperties.contains { ($0 as? RelationshipDescription)?.usesJoinTable == true }
    }
    return metadata.format == 0 || usesJoinTables ? try PresentTables(connection) : nil
  }

  private var another: String { ModelFit.another(file) }

  /// Whether a file that Core Data wrote has the tables of a model, no more and no less.
  func isWritten(with model: ManagedObjectModel) throws -> Bool {
    // A version that is wrong wrote nothing.
    guard (try? model.freeze()) != nil else { return false }
    return try difference(from: model) == nil
  }

  /// What the tables of a file tell first to have been written with another model; nil where it has those of the model, no
  /// more and no less.
  func difference(from model: ManagedObjectModel) throws -> String? {
    do {
      let opened = try openExisting(model: model, nil)
      try ModelFit(file: file, connection: connection, schema: opened.schema)
        .checkNothingIsMissing(stored: storedModel(opened.metadata))
      return nil
    } catch let error as StoreError where error.code == .incompatibleModel {
      return String(error.message.dropFirst(another.count).drop { ":; ".contains($0) })
    }
  }

  private func entityNumbers(
    _ model: ManagedObjectModel, _ metadata: StoreMetadata
  ) throws -> [String: Int32] {
    var numbers: [String: Int32] = [:]
    for entity in try PrimaryKeyTable.modelEntities(on: connection) {
      numbers[entity.name] = Int32(exactly: entity.number)
    }
    // Core Data's migration in place leaves the name that an entity had before; its metadata have
    // the present one.
    for entity in model.entities where numbers[entity.name] == nil {
      guard metadata.versionHashes[entity.name] != nil, let former = entity.renamingIdentifier
      else { continue }
      numbers[entity.name] = numbers.removeValue(forKey: former)
    }
    return numbers
  }
}
