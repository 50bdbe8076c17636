import DriftlessSQLite
public import Foundation

/// A large value whose file beside the store is gone, cut off, or cannot be read.
public struct LostValue: Hashable, Sendable {
  /// The name of the object's entity.
  public let entity: String
  /// The property that has the value.
  public let property: String
  /// The object.
  public let object: ObjectKey
  /// Where the value should lie.
  public let file: URL
}

/// What a look at some of the files of large values found.
package struct LostValueLook: Hashable, Sendable {
  /// The folder of large values, where it is not beside the store and rows name files in it. A store that was copied or moved by its
  /// file alone has none.
  package var folder: URL?
  /// Files that are gone, cut off, or cannot be read, of those that were looked at.
  package var count = 0
}

extension PersistentStore {
  /// The large values whose files beside the store cannot be read.
  ///
  /// An object with one cannot be read until the file is back, and sync leaves such a value alone: it is neither sent nor taken
  /// for a null. It costs a walk over the rows of entities that have such attributes.
  ///
  /// ```swift
  /// for value in try store.lostValues() { print(value.entity, value.property, value.file.path) }
  /// ```
  ///
  /// - Throws: `StoreError` when the store cannot be read.
  public func lostValues() throws -> [LostValue] {
    guard schema.mayHaveExternalData, file.url != nil else { return [] }
    return try read { try $0.lostValues().map(\.value) }
  }

  /// Looks for lost values among some rows of each table, the first and the last ones: what costs little however many there are.
  ///
  /// - Throws: `StoreError` when the store cannot be read.
  package func lookForLostValues() throws -> LostValueLook {
    var look = LostValueLook()
    guard schema.mayHaveExternalData, let url = file.url else { return look }
    let folder = ExternalDataFolder(store: url.path)
    var names: Set<String> = []
    try read { transaction in
      for (table, column) in schema.externalColumns {
        for order in ["", " DESC"] {
          let statement = try transaction.connection.prepareUncached(
            """
            SELECT "\(column)" FROM (SELECT "\(column)" FROM "\(table)" ORDER BY Z_PK\(order)
            LIMIT \(StoreTuning.rowsLookedAt)) WHERE length("\(column)") BETWEEN 37 AND 38
            LIMIT \(StoreTuning.filesLookedAt)
            """)
          while try statement.step() {
            if let name = statement.withBytes(0, { ExternalValue.name(in: $0) }) {
              names.insert(name)
            }
          }
        }
      }
      guard !names.isEmpty else { return }
      if !FileManager.default.fileExists(atPath: folder.url.path) { look.folder = folder.url }
      // While rows name them they are kept.
      look.count = names.count { !folder.has($0) }
    }
    return look
  }

  /// Goes on without the large values whose files are gone: each becomes null, or empty where there has to be one. That is an edit as
  /// any other: history has it, and a store that syncs sends it.
  ///
  /// - Returns: how many there were.
  /// - Throws: `StoreError` when the store cannot be read or written.
  @discardableResult
  public func giveUpLostValues() throws -> Int {
    try write(TransactionInfo()) { transaction in
      let lost = try transaction.lostValues()
      for (value, slot, isOptional) in lost {
        guard let count = schema.program(numbered: value.object.entity)?.slotCount else { continue }
        var values = [PropertyValue](repeating: .null, count: count)
        if !isOptional { values[slot] = .data(Data()) }
        try transaction.update(
          value.object, PropertyMask([slot]), values: values, expectedVersion: nil)
      }
      return lost.count
    }.0
  }
}

extension PersistentStore {
  /// Names the object and the property of a file that SQL could not read, in a work that cannot go on without it.
  ///
  /// - Parameters:
  ///   - url: the store.
  ///   - work: what cannot go on, as a command.
  static func naming(lost error: StoreError, at url: URL, _ work: String) -> StoreError {
    let options = StoreOptions(isReadOnly: true, createsFile: false)
    guard error.code == .lostFile, let store = try? open(url: url, options: options) else {
      return error
    }
    defer { store.close() }
    guard let lost = try? store.lostValues(),
      let value = lost.first(where: { error.message.contains($0.file.lastPathComponent) })
        ?? lost.first,
      let identity = try? store.read({ try $0.identity(of: value.object) })
    else { return error }
    let folder = ExternalDataFolder(store: url.path)
    let others = lost.count == 1 ? "" : " \(lost.count) large values are lost so."
    return StoreError(
      .lostFile,
      "\(value.entity).\(value.property) of \(identity.uuidString.lowercased()) has its value in a file. "
        + folder.loss(of: value.file.lastPathComponent) + others,
      suggestion:
        "The store is as it was. Put the file back from a copy of the folder; in a store that syncs, syncctl verify --repair "
        + "takes what the zone has. To go on without what is lost: syncctl store give-up-lost \(url.path.shellWord) --yes; "
        + "then \(work) again.",
      keys: [value.object])
  }
}

extension ReadTransaction {
  /// The slots of objects whose values lie in files that cannot be read.
  package func lostSlots() throws -> [ObjectKey: PropertyMask] {
    guard schema.mayHaveExternalData, connection.path != ":memory:" else { return [:] }
    return try lostValues().reduce(into: [:]) {
      $0[$1.value.object, default: PropertyMask()].insert($1.slot)
    }
  }

  /// Each with its slot, and whether it may be null.
  fileprivate func lostValues() throws -> [(value: LostValue, slot: Int, isOptional: Bool)] {
    let folder = ExternalDataFolder(store: connection.path)
    var lost: [(value: LostValue, slot: Int, isOptional: Bool)] = []
    for (table, column) in schema.externalColumns {
      let statement = try connection.prepareUncached(
        """
        SELECT Z_PK, Z_ENT, "\(column)" FROM "\(table)" WHERE length("\(column)") BETWEEN 37 AND 38
        """)
      while try statement.step() {
        let key = statement.objectKey(1, 0)
        guard let program = schema.program(numbered: key.entity),
          let name = statement.withBytes(2, { ExternalValue.name(in: $0) }),
          !folder.has(name),
          let step = program.steps.first(where: {
            $0.kind == .externalData && program.table.columns[Int($0.column) - 3].name == column
          })
        else { continue }
        let property = program.entity.layout.slots[step.slot].property
        lost.append(
          (
            LostValue(
              entity: program.entity.name, property: property.name, object: key,
              file: folder.file(name)), step.slot, property.isOptional
          ))
      }
    }
    return lost
  }
}
