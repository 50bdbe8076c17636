import Driftless
import DriftlessProtocol
import DriftlessSQLite

/// What programs of another model say of a relationship from the end that does not say it here: that an article has a tag is
/// that the tag has the article.
extension PageApplier {
  /// Rows of one entity that say the same from the end that crosses.
  private struct Rows {
    var entity: SyncSchema.Entity
    var property: SyncSchema.Property
    var objects: [Int32] = []
    var runs: [ChangeSetIndex.Group.TransactionRun] = []
    var references: [Int32] = []
    var elements = ElementRows()

    var column: Column {
      if case .elements = property.kind { return Column(.elements(elements)) }
      return Column(.references(references))
    }

    mutating func append(_ object: Int, _ said: Int, isIn: Bool, transaction: Int) {
      objects.append(Int32(clamping: object))
      references.append(isIn ? Int32(clamping: said) : Column.noReference)
      elements.append(
        added: isIn ? [Int32(clamping: said)] : [], removed: isIn ? [] : [Int32(clamping: said)])
      if runs.last?.transaction == transaction {
        runs[runs.count - 1].count += 1
      } else {
        runs.append(.init(transaction: transaction, count: 1))
      }
    }
  }

  /// A row of a group says the same from the end that crosses, once it is turned.
  typealias Turned = (
    group: ChangeSetIndex.Group, entity: SyncSchema.Entity, reader: PropertyReader
  )

  /// Takes in what the groups of a change set said from other ends.
  func applyOtherEnds(_ frame: inout FrameContext) throws {
    let all = frame.saidFromOtherEnds
    guard !all.isEmpty else { return }
    frame.saidFromOtherEnds = []
    let heard = try OtherEnd.heard(transaction)
    let now = heard.union(all.map { "\($0.entity.name).\($0.end.name)" })
    if now != heard {
      try transaction.setSetting(OtherEnd.setting, .text(now.sorted().joined(separator: "\n")))
    }
    let own = isLate ? OwnWords() : try ownWords(after: frame.sequence)
    for said in all {
      noteSide(of: said.group, frame)
      for turned in try turn(said, but: own, &frame) {
        try applyUpdates(turned.group, turned.entity, [turned.reader], &frame)
      }
    }
  }

  /// What a group says, from the end that crosses.
  ///
  /// - Parameter own: what was said since, and is here already.
  func turn(
    _ said: SaidFromOtherEnd, but own: OwnWords = OwnWords(), _ frame: inout FrameContext
  ) throws -> [Turned] {
    var rows: [Rows] = []
    for (row, index) in said.group.objects.enumerated() {
      try turn(said, row, index, but: own, into: &rows, &frame)
    }
    return rows.compactMap { rows in
      let group = ChangeSetIndex.Group(
        kind: .update, entity: said.group.entity, properties: [],
        objects: ObjectIndexes(rows.objects), transactionRuns: rows.runs)
      return PropertyReader(property: rows.property, column: rows.column).map {
        (group, rows.entity, $0)
      }
    }
  }

  private func turn(
    _ said: SaidFromOtherEnd, _ row: Int, _ index: Int, but own: OwnWords,
    into rows: inout [Rows], _ frame: inout FrameContext
  ) throws {
    let isUpdate = said.group.kind == .update
    guard var elements = try elements(said, row, index, frame),
      let transaction = frame.transaction(said.group, row: row),
      let (key, isAlive) = try target(index, said.entity, isUpdate: isUpdate, in: &frame)
    else { return }
    if elements.isWhole, isAlive {
      let kept = try Set(elements.added.compactMap { try life(of: $0, in: &frame)?.key })
      for holder in try holders(of: key, said.end) where !kept.contains(holder) {
        elements.removed.append(frame.table.entries.count)
        frame.table.append(
          ObjectTable.Entry(key: holder, life: .alive, existed: true, isNew: false))
      }
    }
    let parts = elements.removed.map { ($0, false) } + elements.added.map { ($0, true) }
    for (element, isIn) in parts {
      if let elements = said.elements, !elements.contains(element) { continue }
      guard var entry = try life(of: element, in: &frame) else {
        noteUnmade(element, "\(said.entity.name).\(said.end.name)", &frame)
        continue
      }
      guard
        schema.admits(entry.key, isAlive: entry.life == .alive, in: said.end.relationship),
        let entity = self.entity(of: entry),
        let property = entity.property(named: said.end.owner.name)
      else { continue }
      let owner = ObjectKey(entity: entity.number, key: entry.key.key)
      if !isIn, try !mayHold(owner, property, key) { continue }
      if try !own.isEmpty && own.stand(over: said.end, number(of: key), number(of: owner)) {
        continue
      }
      var object = element
      if entry.isLeftOut {
        // What the change set says of it does not count, and this is said of the other object.
        entry.isLeftOut = false
        object = frame.table.entries.count
        frame.table.append(entry)
      }
      let place = rows.firstIndex { $0.entity === entity } ?? rows.count
      if place == rows.count { rows.append(Rows(entity: entity, property: property)) }
      rows[place].append(object, index, isIn: isIn, transaction: transaction)
    }
  }

  /// What a row puts in and takes out; nil where it says nothing any more.
  private func elements(
    _ said: SaidFromOtherEnd, _ row: Int, _ index: Int, _ frame: FrameContext
  ) throws -> (added: [Int], removed: [Int], isWhole: Bool)? {
    var later: Set<UInt64> = []
    var isSetLater = false
    if isLate, let number = frame.laterNumber(of: index) {
      let struck = try Parking.struck(
        number, after: frame.sequence, on: transaction.connection)
      isSetLater = !struck.isDisjoint(with: said.end.names)
      if isSetLater {
        guard let named = try elementsSet(after: frame, of: number, said.end.names) else {
          return nil
        }
        later = named
      }
    }
    switch said.column.values {
    case .references(let values):
      guard !isSetLater else { return nil }
      let isNone = said.column.isNull(at: row) || values[row] == Column.noReference
      return (isNone ? [] : [Int(values[row])], [], true)
    case .elements(let values):
      func counting(_ all: ArraySlice<Int32>) -> [Int] {
        all.map { Int($0) }.filter { frame.laterNumber(of: $0).map { !later.contains($0) } ?? true }
      }
      return (
        counting(values.added(at: row)), counting(values.removed(at: row)),
        said.group.kind == .revive
      )
    default: return nil
    }
  }

  /// Of a deleted object, the entity under which something of it is pending.
  private func entity(of entry: ObjectTable.Entry) -> SyncSchema.Entity? {
    if entry.life == .alive { return schema.entity(numbered: entry.key.entity) }
    let root = schema.root(of: entry.key)
    return schema.entities.first {
      $0.rootNumber == root && isHeld(ObjectKey(entity: $0.number, key: entry.key.key))
    }
  }

  /// The living objects that have an object at the end that crosses, here or in the zone.
  private func holders(of key: ObjectKey, _ end: OtherEnd) throws -> [ObjectKey] {
    var holders: [ObjectKey] = []
    if end.relationship.isToMany {
      holders = try transaction.toManyKeys(of: key, end.relationship)
    } else if case .reference(let holder) = try currentValues(of: key)[end.slot] {
      holders = [holder]
    }
    guard !pending.isEmpty else { return holders }
    let kept = try baseHolders.owners(named: end.owner.name, of: key).without(holders)
    return try holders + kept.filter { try transaction.concreteKey(root: $0) == $0 }
  }

  /// Whether an object may be taken out of what another one has in the zone: of a reference to something else nothing is.
  private func mayHold(
    _ owner: ObjectKey, _ property: SyncSchema.Property, _ key: ObjectKey
  ) throws -> Bool {
    if case .elements = property.kind { return true }
    var value = try zone.object(owner).values[property.name]?.side.value
    if value == nil, pending[owner]?.transaction(of: property.slot) != nil {
      value = try baseValue(of: owner, property)
    }
    if value == nil, try transaction.concreteKey(root: owner) == owner {
      value = try currentValues(of: owner)[property.slot]
    }
    guard case .reference(let held)? = value else { return false }
    return rooted(held) == rooted(key)
  }
}

/// What entries of this replica say of relationships which come later in the log than what is taken in. They are here already:
/// the server takes the two ends of a relationship for two properties.
struct OwnWords {
  private struct Word: Hashable {
    var number: UInt64
    var name: String
  }

  private struct Pair: Hashable {
    var word: Word
    var target: UInt64
  }

  private var said: Set<Word> = []
  /// By the name and the target alone.
  private var taken: Set<Word> = []
  private var pairs: Set<Pair> = []

  var isEmpty: Bool { said.isEmpty }

  mutating func add(_ changeSet: ChangeSet, firstNumber: UInt64) {
    let index = changeSet.index
    let newCount = index.newObjectCount
    func number(_ object: Int) -> UInt64 {
      object < newCount ? firstNumber &+ UInt64(object) : index.knownNumbers[object - newCount]
    }
    var columns = changeSet.columns[...]
    for group in index.groups {
      let own = columns.prefix(group.properties.count)
      columns = columns.dropFirst(group.properties.count)
      for (property, column) in zip(group.properties, own) {
        guard ColumnKind(column.values).saysRelationships else { continue }
        let name = index.entities[group.entity].properties[property]
        for (row, object) in group.objects.enumerated() {
          let word = Word(number: number(object), name: name)
          said.insert(word)
          for target in Self.targets(column, row).lazy.map({ number(Int($0)) }) {
            taken.insert(Word(number: target, name: name))
            pairs.insert(Pair(word: word, target: target))
          }
        }
      }
    }
  }

  private static func targets(_ column: Column, _ row: Int) -> [Int32] {
    switch column.values {
    case .references(let values): values[row] == Column.noReference ? [] : [values[row]]
    case .elements(let rows): Array(rows.added(at: row)) + Array(rows.removed(at: row))
    default: []
    }
  }

  /// Whether one of them is the later word on whether an object has an owner at the end that crosses.
  func stand(over end: OtherEnd, _ object: UInt64?, _ owner: UInt64?) -> Bool {
    guard let object, let owner else { return false }
    let owners = end.owner.names
    func has(_ names: [String], _ one: UInt64, _ other: UInt64) -> Bool {
      names.contains { pairs.contains(Pair(word: Word(number: one, name: $0), target: other)) }
    }
    if has(owners, owner, object) || has(end.names, object, owner) { return true }
    if !end.relationship.isToMany,
      end.names.contains(where: { said.contains(Word(number: object, name: $0)) })
        || owners.contains(where: { taken.contains(Word(number: object, name: $0)) })
    {
      return true
    }
    return !end.owner.isToMany
      && (owners.contains { said.contains(Word(number: owner, name: $0)) }
        || end.names.contains { taken.contains(Word(number: owner, name: $0)) })
  }
}

extension PageApplier {
  private func ownWords(after sequence: UInt64) throws -> OwnWords {
    var words = OwnWords()
    try KeptFrames.forEach(after: sequence, on: transaction.connection) { entry in
      guard let changeSet = try? ChangeSetDecoder().decode(entry),
        changeSet.header.replica == replica
      else { return }
      words.add(changeSet, firstNumber: entry.firstObjectNumber)
    }
    return words
  }

  private func number(of key: ObjectKey) throws -> UInt64? {
    try directory.number(root: schema.root(of: key), key: key.key)
  }
}
