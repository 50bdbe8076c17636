import DriftlessSQLite
public import Foundation

/// A large value whose file beside the store is gone, or cannot be read.
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

  /// The folder of large values, where it is not beside the store and rows name files in it; nil otherwise. A store that was copied or
  /// moved by its file alone has none. Of each table some of the first and of the last rows are looked at.
  ///
  /// - Throws: `StoreError` when the store cannot be read.
  package func lostFolder() throws -> URL? {
    guard schema.mayHaveExternalData, let url = file.url else { return nil }
    let folder = ExternalDataFolder(store: url.path).url
    guard !FileManager.default.fileExists(atPath: folder.path) else { return nil }
    let namesFiles = try read { transaction in
      try schema.externalColumns.contains { table, column in
        try ["", " DESC"].contains { order in
          let names = try transaction.connection.rows(
            """
            SELECT "\(column)" FROM (SELECT "\(column)" FROM "\(table)" ORDER BY Z_PK\(order)
            LIMIT \(StoreTuning.rowsLookedAt)) WHERE length("\(column)") BETWEEN 37 AND 38
            """)
          return names.contains { row in
            guard case .blob(let bytes) = row[0] else { return false }
            return ExternalValue.name(in: bytes) != nil
          }
        }
      }
    }
    return namesFiles ? folder : nil
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
