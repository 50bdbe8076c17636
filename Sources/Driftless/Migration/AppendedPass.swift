public import Foundation

/// Adds what one pass of a migration made to a store that is there: row by row, as one transaction of that store.
///
/// The objects get keys of the store, and are new to it.
struct AppendedPass {
  private let pass: PersistentStore
  private let destination: PersistentStore

  /// - Throws: `StoreError`: `constraint` where an object that is there has a value that a constraint keeps unique, or what the
  ///   stores met. Nothing is added then.
  static func append(_ pass: PersistentStore, to destination: PersistentStore) throws {
    let work = AppendedPass(pass: pass, destination: destination)
    guard let source = PersistentStoreCoordinator(store: pass).plans.first,
      let target = PersistentStoreCoordinator(store: destination).plans.first
    else { return }
    _ = try destination.write(TransactionInfo()) { transaction in
      try pass.read { try work.append(source, $0, target, transaction) }
    }
  }

  private func append(
    _ source: ObjectPlan, _ rows: ReadTransaction, _ target: ObjectPlan,
    _ transaction: WriteTransaction
  ) throws {
    let shapes = try source.shapes.filter { !$0.isAbstract }.map { shape in
      guard let other = target.shape(named: shape.entity.name) else {
        throw StoreError(
          .cannotMigrate, "The destination has no objects of \(shape.entity.name).",
          suggestion: "Append to a store that was made with the whole destination model.")
      }
      return (shape, other)
    }
    var keys: [ObjectKey: ObjectKey] = [:]
    for (shape, other) in shapes {
      let found = try rows.keys(of: try query(shape, .keys))
      guard !found.isEmpty else { continue }
      let new = try transaction.allocateKeys(other.entity, count: found.count)
      for (key, number) in zip(found, new) {
        keys[key] = ObjectKey(entity: other.number, key: number)
      }
    }
    for (shape, other) in shapes { try insert(shape, other, rows, keys, transaction) }
    for (shape, other) in shapes { try relate(shape, other, rows, keys, transaction) }
  }

  private func query(_ shape: ObjectShape, _ selection: QuerySelection) throws -> CompiledQuery {
    try QueryCompiler(schema: pass.schema).compile(
      entity: shape.entity, includesSubentities: false, selection: selection)
  }

  private func insert(
    _ shape: ObjectShape, _ other: ObjectShape, _ rows: ReadTransaction,
    _ keys: [ObjectKey: ObjectKey], _ transaction: WriteTransaction
  ) throws {
    try rows.forEachRow(of: try query(shape, .rows)) { row in
      guard let key = keys[row.key] else { return }
      let found = try row.knownValues(mapsFiles: true)
      guard row.lost(of: found).isEmpty, !found.contains(where: \.isInZone) else {
        throw StoreError(
          .cannotMigrate, "A large value of \(shape.entity.name) is not here.",
          suggestion: "Fetch it from the zone, or restore its file from a copy.")
      }
      var values = [PropertyValue](repeating: .null, count: other.slotCount)
      for slot in shape.layout.slots where !slot.isToMany && !slot.isTransient {
        guard let place = other.layout.index(named: slot.name) else { continue }
        if case .reference(let reference) = found[slot.index] {
          values[place] = keys[reference].map { .reference($0) } ?? .null
        } else {
          values[place] = found[slot.index]
        }
      }
      try transaction.insert(other.entity, key.key, values: values)
    }
  }

  private func relate(
    _ shape: ObjectShape, _ other: ObjectShape, _ rows: ReadTransaction,
    _ keys: [ObjectKey: ObjectKey], _ transaction: WriteTransaction
  ) throws {
    let relations = shape.relations.compactMap { $0 }.filter { relation in
      relation.isToMany && (relation.isManyToMany || relation.isOrdered)
    }
    guard !relations.isEmpty else { return }
    for key in try rows.keys(of: try query(shape, .keys)) {
      guard let new = keys[key] else { continue }
      for relation in relations {
        guard let same = other.entity.relationshipsByName[relation.name] else { continue }
        let members = try rows.toManyKeys(of: key, relation.description).compactMap { keys[$0] }
        guard !members.isEmpty else { continue }
        if relation.isManyToMany { try transaction.addPairs(same, new, members) }
        if relation.isOrdered { try transaction.setOrder(same, new, members) }
      }
    }
  }
}

extension MigrationManager {
  /// Adds what a store becomes by the mapping to a store that is there: one pass of several over a large store, each with the
  /// mappings of some entities. The objects are new ones of the destination, without the source's history and identities; relationships
  /// are those among objects of one pass.
  ///
  /// - Throws: `StoreError`: `incompatibleModel` where the destination is not one of the destination model, `constraint`, or as
  ///   ``migrateStore(from:mapping:to:)``. The destination is as it was then.
  public func migrateStore(
    from source: URL, mapping: MappingModel, appendingTo destination: URL
  ) throws {
    guard StorePath.resolved(source) != StorePath.resolved(destination) else {
      throw StoreError(
        .cannotMigrate, "\(destination.path) cannot be appended to itself.",
        suggestion: "Give the path of another file.")
    }
    let options = StoreOptions(createsFile: false)
    let store = try PersistentStore.open(
      url: destination, model: destinationModel, options: options)
    defer { store.close() }
    let folder = URL(fileURLWithPath: StorePath.resolved(destination).path + "-pass-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    let made = folder.appendingPathComponent("pass.sqlite")
    try migrateStore(from: source, mapping: mapping, to: made)
    let pass = try PersistentStore.open(url: made, model: destinationModel, options: options)
    defer { pass.close() }
    try AppendedPass.append(pass, to: store)
  }
}
