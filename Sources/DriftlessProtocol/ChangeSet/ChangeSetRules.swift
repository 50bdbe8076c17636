import Foundation

/// The laws of a change set (see `ChangeSet`), checked in one place for those made here and those
/// that come.
struct ChangeSetRules {
  let limits: ChangeSetLimits

  func check(_ changeSet: ChangeSet) throws(ProtocolError) {
    let index = changeSet.index
    try check(index)
    guard changeSet.columns.count == index.columnCount else {
      throw .malformed(
        "There are \(changeSet.columns.count) columns for \(index.columnCount) properties")
    }
    var place = 0
    var elements = 0
    for group in index.groups {
      for property in group.properties {
        let column = changeSet.columns[place]
        place += 1
        if let problem = problem(column, rows: group.objects.count, index.objectCount) {
          let entity = index.entities[group.entity]
          throw .malformed("Column \(entity.name).\(entity.properties[property]): \(problem)")
        }
        if case .elements(let rows) = column.values { elements += rows.elementCount }
      }
    }
    guard elements <= limits.elementsMax else {
      throw .tooLarge("The change set adds and removes too many elements (elementsMax)")
    }
  }

  func check(_ index: ChangeSetIndex) throws(ProtocolError) {
    try checkLimits(index)
    try checkNames(index.entities)
    try checkObjectTable(index)
    for name in index.transactions.lazy.flatMap({ [$0.author, $0.contextName] }) {
      guard name?.utf8.count ?? 0 <= limits.nameBytesMax else {
        throw .tooLarge("The name of an author or context is too long (nameBytesMax)")
      }
    }
    for group in index.groups { try check(group, index) }
    try checkGuards(index)
    guard index.values.count <= limits.valuesMax else {
      throw .tooLarge("The change set names too many large values (valuesMax)")
    }
    var uniqueness = UniquenessCheck(index)
    try uniqueness.run()
  }

  private func checkLimits(_ index: ChangeSetIndex) throws(ProtocolError) {
    var rows = 0
    var cells = 0
    var runs = 0
    for group in index.groups {
      rows = rows.addingClamped(group.objects.count)
      let columns = group.properties.count
      let product = group.objects.count.multipliedReportingOverflow(by: columns)
      cells = cells.addingClamped(product.overflow ? .max : product.partialValue)
      runs += group.transactionRuns.count
    }
    let counts = [
      (index.objectCount, limits.objectsMax, "objectsMax"),
      (index.groups.count, limits.groupsMax, "groupsMax"),
      (index.columnCount, limits.columnsMax, "columnsMax"),
      (rows, limits.rowsMax, "rowsMax"),
      (cells, limits.cellsMax, "cellsMax"),
      (runs, limits.transactionRunsMax, "transactionRunsMax"),
      (index.transactions.count, limits.transactionsMax, "transactionsMax"),
      (index.entities.count, limits.entitiesMax, "entitiesMax"),
      (
        index.entities.reduce(0) { $0 + $1.properties.count }, limits.propertiesMax, "propertiesMax"
      ),
    ]
    for (count, max, name) in counts where count > max {
      throw .tooLarge("The change set has \(count) where \(max) are allowed (\(name))")
    }
  }

  private func checkNames(_ entities: [ChangeSetIndex.Entity]) throws(ProtocolError) {
    func check(_ names: [String], _ what: String) throws(ProtocolError) {
      for name in names {
        guard !name.isEmpty else { throw .malformed("\(what) has no name") }
        guard name.utf8.count <= limits.nameBytesMax else {
          throw .tooLarge("The name of \(what) is too long (nameBytesMax)")
        }
      }
      // By their bytes: canonically equivalent names are different names. Those that are not even equivalent are.
      guard
        Set(names).count == names.count
          || Set(names.map { Array($0.utf8) }).count == names.count
      else {
        throw .malformed("\(what) is named twice")
      }
    }
    try check(entities.map(\.name), "An entity")
    for entity in entities {
      try check(entity.properties, "A property of \(entity.name)")
    }
  }

  private func checkObjectTable(_ index: ChangeSetIndex) throws(ProtocolError) {
    var ranges: [IdentityRange] = []
    for run in index.newObjects {
      guard index.entities.indices.contains(run.entity) else {
        throw .malformed("New objects are of an entity that is not named")
      }
      guard run.count > 0 else { throw .malformed("A run of new objects is empty") }
      guard run.makers.isEmpty || run.makers.count == run.count else {
        throw .malformed("New objects and their makers differ in number")
      }
      guard run.makers.isEmpty || run.makers.contains(where: { $0 != 0 }) else {
        throw .malformed("A run of new objects tells no maker")
      }
      switch run.identities {
      case .range(let first, let count): ranges.append(IdentityRange(first, count: count))
      case .listed(let list): ranges.append(contentsOf: list.map { IdentityRange($0, count: 1) })
      }
    }
    guard IdentityRange.areDisjoint(&ranges) else {
      throw .malformed("Two new objects have one identity")
    }
    for (place, number) in index.knownNumbers.enumerated() where place > 0 {
      guard number > index.knownNumbers[place - 1] else {
        throw .malformed("The numbers of known objects do not ascend")
      }
    }
  }

  private func check(
    _ group: ChangeSetIndex.Group, _ index: ChangeSetIndex
  ) throws(ProtocolError) {
    guard index.entities.indices.contains(group.entity) else {
      throw .malformed("A group is of an entity that is not named")
    }
    let entity = index.entities[group.entity]
    guard !group.objects.isEmpty else { throw .malformed("A group of \(entity.name) has no rows") }
    guard group.objects.isValid(below: index.objectCount) else {
      throw .malformed("A group of \(entity.name) names objects out of order or out of the table")
    }
    guard group.properties.allSatisfy({ entity.properties.indices.contains($0) }) else {
      throw .malformed("A group of \(entity.name) sets a property that is not named")
    }
    guard group.kind != .delete || group.properties.isEmpty else {
      throw .malformed("A group of deleted objects of \(entity.name) sets properties")
    }
    var rows = 0
    for run in group.transactionRuns {
      guard run.count > 0, run.count <= group.objects.count - rows,
        index.transactions.indices.contains(run.transaction)
      else {
        throw .malformed("A group of \(entity.name) is of a transaction that is not there")
      }
      rows += run.count
    }
    guard rows == group.objects.count else {
      throw .malformed("A group of \(entity.name) has rows without a transaction")
    }
  }

  /// What is wrong with a column; nil when nothing is.
  private func problem(_ column: Column, rows: Int, _ objectCount: Int) -> String? {
    guard column.count == rows else { return "it has \(column.count) values for \(rows) objects" }
    if let nulls = column.nulls, nulls.end > rows { return "it has null rows beyond its end" }
    if let problem = column.largeProblem { return problem }
    switch column.values {
    case .references(let indexes):
      let isValid = indexes.allSatisfy { $0 >= Column.noReference && Int($0) < objectCount }
      return isValid ? nil : "it refers to an object that is not in the table"
    case .elements(let elements):
      let isValid = elements.elements.allSatisfy { $0 >= 0 && Int($0) < objectCount }
      return isValid ? nil : "it has an element that is not in the table"
    case .strings(let rows), .bytes(let rows), .decimals(let rows), .uris(let rows),
      .sealed(let rows):
      return rows.content.count < Int(Int32.max) ? nil : "its values pass 2 GiB"
    default:
      return nil
    }
  }
}
