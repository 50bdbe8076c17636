import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// Makes the change set of a window of pending history: object table, transactions, groups,
/// columns, bytes.
struct ChangeSetBuilder {
  struct Built {
    var frame: Data
    var runs: [KeyRun]
    var objects: Int
    var properties: Int
  }

  /// References that could not be sent.
  private(set) var unsent: [ObjectKey: PropertyMask] = [:]
  /// References to what a later part of the same push makes.
  private(set) var later: [ObjectKey: PropertyMask] = [:]
  /// Objects that this part and those before it make.
  private(set) var newPlaces: NewPlaces

  let transaction: ReadTransaction
  private let schema: SyncSchema
  private let zone: UUID
  private let knownEdits: EditHistory
  private let since: Int64
  var directory: ObjectDirectory
  private var knownPlaces: [UInt64: Int32] = [:]
  var index = ChangeSetIndex()
  private var entityPlaces: [String: Int] = [:]
  private var isPart = false
  /// The first error of a look-up, which ends the building.
  private var failure: (any Error)?
  private let values: ValueCutting
  private let times: TakenTimes
  /// By new object whose insert goes by another transaction: the name of the save that made it.
  var makers: [ObjectKey: UInt64] = [:]

  /// - Parameters:
  ///   - zone: the zone's own UUID, which its keys are hashed with.
  ///   - since: the last transaction that the zone had acknowledged when the sending of what is pending began.
  ///   - knownEdits: when the properties of what is revived were edited.
  ///   - made: what parts of the same push before it make.
  ///   - values: takes the large values out.
  ///   - times: which times the zone takes.
  init(
    _ transaction: ReadTransaction, schema: SyncSchema, zone: UUID, since: Int64,
    knownEdits: EditHistory = EditHistory(), after made: NewPlaces = NewPlaces(),
    values: ValueCutting, times: TakenTimes
  ) {
    self.values = values
    self.times = times
    newPlaces = made
    self.transaction = transaction
    self.since = since
    self.knownEdits = knownEdits
    self.schema = schema
    self.zone = zone
    directory = ObjectDirectory(transaction.connection, readsAhead: true)
  }

  /// Nil when the window holds nothing that the zone needs to hear: what was made in it was deleted
  /// in it as well.
  ///
  /// - Throws: `PartBounds.Passed` when it is more than one change set holds.
  mutating func build(
    _ selection: PushSelection, header: ChangeSetHeader, within bounds: PartBounds
  ) throws -> Built? {
    var reader = try reader(selection)
    var drafts = try reader.read(selection.window, within: bounds)
    return try build(&drafts, reader, selection, header)
  }

  /// The next part of a window that goes in several.
  mutating func build(
    _ part: inout WindowParts, of selection: PushSelection, header: ChangeSetHeader,
    within bounds: PartBounds
  ) throws -> Built? {
    isPart = true
    var reader = try reader(selection)
    var drafts = try reader.read(&part, of: selection.window, within: bounds)
    return try build(&drafts, reader, selection, header)
  }

  private func reader(_ selection: PushSelection) throws -> PendingReader {
    try PendingReader(
      transaction, schema: schema, zone: zone,
      isPartial: !selection.omitted.isEmpty || selection.leavesRevived,
      through: selection.through, knownEdits: knownEdits)
  }

  /// - Parameter drafts: each is let go of as it is put into columns.
  private mutating func build(
    _ drafts: inout [ChangeDraft], _ reader: PendingReader, _ selection: PushSelection,
    _ header: ChangeSetHeader
  ) throws -> Built? {
    unsent = reader.unsent
    guard drafts.contains(where: { !$0.keys.isEmpty }) || !reader.tombstones.isEmpty else {
      return nil
    }
    // New objects come first, by entity and key, so that minted identities are ranges.
    newPlaces.append(reader.newKeys) { schema.root(of: $0) }
    let reliances = try Reliances(drafts, transaction)
    try placeKnownObjects(drafts, reliances)
    let entities = placeEntities(drafts)
    let transactions = try placeTransactions(drafts)
    try addMakers(drafts, selection.window)
    try addCounted(drafts, selection)
    try addSuperseded(drafts, selection)
    if selection.isOffer { try addUnanswered() }
    if !selection.omitted.isEmpty || !unsent.isEmpty { index.isPartial = true }
    if isPart { noteLater(drafts) }
    var columns: [Column] = []
    for place in drafts.indices where !drafts[place].keys.isEmpty {
      let draft = drafts[place]
      // What is in a column is not held twice.
      drafts[place].columns = []
      try add(draft, entities: entities, transactions: transactions, columns: &columns)
    }
    drafts = []
    addClaims(reader.claims.claims)
    try addReliances(reliances)
    try addTombstones(reader.tombstones)
    if let failure { throw failure }
    let frame = try ChangeSetEncoder().encode(header, index, &columns)
    return Built(
      frame: frame, runs: newPlaces.keyRuns, objects: reader.objects,
      properties: reader.properties)
  }

  // MARK: Objects

  /// After the new objects comes what the zone knows, by number: what is changed, and what is referred to.
  private mutating func placeKnownObjects(
    _ drafts: [ChangeDraft], _ reliances: Reliances
  ) throws {
    var numbers: Set<UInt64> = []
    func note(_ key: ObjectKey) throws {
      if let place = newPlaces.place(root: schema.root(of: key), key: key.key) {
        if let name = nameMadeBefore(place) { numbers.insert(name) }
      } else if let number = try number(of: key) {
        numbers.insert(number)
      }
    }
    for draft in drafts {
      if draft.kind != .insert { for key in draft.keys { try note(key) } }
      for column in draft.columns { for key in column.targets { try note(key) } }
    }
    for reliance in reliances.all {
      for key in reliance.objects where try number(of: key) != nil { try note(key) }
    }
    index.knownNumbers = numbers.sorted()
    for (place, number) in index.knownNumbers.enumerated() {
      knownPlaces[number] = Int32(newCount + place)
    }
  }

  /// New objects of this change set.
  private var newCount: Int { newPlaces.count - newPlaces.start }

  /// What the object table has in place of the number of an object that a part before this one makes; nil for this part's own.
  private func nameMadeBefore(_ place: Int32) -> UInt64? {
    let distance = newPlaces.start - Int(place)
    return distance > 0 ? ChangeSetIndex.name(madeBefore: UInt64(distance)) : nil
  }

  /// References to what has no place in this part: a part after it makes that.
  private mutating func noteLater(_ drafts: [ChangeDraft]) {
    for draft in drafts where draft.kind != .delete {
      for column in draft.columns {
        var rows: Set<Int> = []
        column.forEachTarget { row, target in
          if place(of: target) == nil { rows.insert(row) }
        }
        for row in rows {
          var mask = later[draft.keys[row]] ?? PropertyMask()
          mask.insert(column.property.slot)
          mask.subtract(unsent[draft.keys[row]] ?? PropertyMask())
          if !mask.isEmpty { later[draft.keys[row]] = mask }
        }
      }
    }
  }

  private mutating func number(of key: ObjectKey) throws -> UInt64? {
    try directory.number(root: schema.root(of: key), key: key.key)
  }

  /// The index of an object in the object table. An object that is in a later window, or in none,
  /// has no place.
  private mutating func place(of key: ObjectKey) -> Int32? {
    if let place = newPlaces.place(root: schema.root(of: key), key: key.key) {
      if let name = nameMadeBefore(place) { return knownPlaces[name] }
      return place - Int32(truncatingIfNeeded: newPlaces.start)
    }
    do {
      return try number(of: key).flatMap { knownPlaces[$0] }
    } catch {
      // An object that cannot be looked up is not one that has no place.
      failure = failure ?? error
      return nil
    }
  }

  // MARK: Names, transactions, groups

  private mutating func placeEntities(_ drafts: [ChangeDraft]) -> [String: Int] {
    for draft in drafts where !draft.keys.isEmpty {
      _ = place(ofEntity: draft.entity.name, draft.entity.properties.map(\.name))
    }
    return entityPlaces
  }

  /// The places of an entity and of properties in the change set's names, which get those that are missing.
  private mutating func place(
    ofEntity name: String, _ properties: [String]
  ) -> (entity: Int, properties: [Int]) {
    let entity = entityPlaces[name] ?? index.entities.count
    if entity == index.entities.count {
      entityPlaces[name] = entity
      index.entities.append(ChangeSetIndex.Entity(name: name, properties: []))
    }
    var known = index.entities[entity].properties
    let places = properties.map { property -> Int in
      if let place = known.firstIndex(of: property) { return place }
      known.append(property)
      return known.count - 1
    }
    index.entities[entity].properties = known
    return (entity, places)
  }

  // MARK: What a server checks

  private mutating func addClaims(_ claims: [KeyClaimsDraft.Claim]) {
    let constraints = Dictionary(grouping: claims) { [$0.key.entity] + $0.key.properties }
    for (_, claims) in constraints.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      guard let key = claims.first?.key else { continue }
      let placed = claims.compactMap { claim in place(of: claim.object).map { ($0, claim.hash) } }
        .sorted { $0.0 < $1.0 }
      guard !placed.isEmpty else { continue }
      let names = place(ofEntity: key.entity, key.properties)
      index.claims.append(
        ChangeSetIndex.KeyClaims(
          entity: names.entity, properties: names.properties, keyID: claims[0].secret,
          objects: ObjectIndexes(placed.map(\.0)), hashes: placed.map(\.1)))
    }
  }

  private mutating func addReliances(_ reliances: Reliances) throws {
    for reliance in reliances.all {
      let relied = try reliance.objects.filter { try number(of: $0) != nil }
      let places = relied.compactMap { place(of: $0) }
        .filter { $0 >= Int32(newCount) }.sorted()
      guard !places.isEmpty else { continue }
      let names = place(ofEntity: reliance.entity, [reliance.property])
      index.relied.append(
        ChangeSetIndex.Reliance(
          entity: names.entity, properties: names.properties, objects: ObjectIndexes(places)))
    }
  }

  private mutating func addTombstones(_ tombstones: [TombstoneDraft]) throws {
    for tombstone in tombstones {
      index.tombstones.append(
        ChangeSetIndex.Tombstone(
          identity: try transaction.identity(of: tombstone.key),
          entity: place(ofEntity: tombstone.entity.name, []).entity,
          hybridTime: try times.time(tombstone.transaction, transaction).rawValue))
    }
  }

  private mutating func placeTransactions(_ drafts: [ChangeDraft]) throws -> [Int64: Int] {
    var numbers: Set<Int64> = []
    for draft in drafts { numbers.formUnion(draft.transactions) }
    var places: [Int64: Int] = [:]
    for number in numbers.sorted() {
      var info = try transaction.transactionHeader(number)
      if info.author == nil, info.contextName == nil, let known = knownEdits.origins[number] {
        (info.author, info.contextName) = (known.author, known.contextName)
      }
      places[number] = index.transactions.count
      index.transactions.append(
        ChangeSetIndex.Transaction(
          name: try name(of: number), hybridTime: try times.time(number, transaction).rawValue,
          author: Self.shortened(info.author), contextName: Self.shortened(info.contextName)))
    }
    return places
  }

  /// The saves that made new objects are named also where a later one set all that they had set: a copy of this store
  /// that has such an object knows it by that name.
  private mutating func addMakers(_ drafts: [ChangeDraft], _ window: PendingObjects) throws {
    var names: [Int64: UInt64] = [:]
    for draft in drafts where draft.kind == .insert {
      for (key, told) in zip(draft.keys, draft.transactions) {
        guard let object = window[key] else { continue }
        let made = object.wholeTransaction
        if object.maker != 0 {
          makers[key] = object.maker
        } else if made > 0, made != told {
          let name = try names[made] ?? transaction.transactionName(made)
          names[made] = name
          makers[key] = name
        }
      }
    }
    let told = Set(index.transactions.map(\.name))
    for name in Set(makers.values).subtracting(told).sorted() where name != 0 {
      index.covered.append(.init(name: name, isPartial: true))
    }
  }

  /// Saves whose edits add up are named also where a later one set the property: a copy of this store that has one of them
  /// counts it once.
  private mutating func addCounted(_ drafts: [ChangeDraft], _ selection: PushSelection) throws {
    var told: Set<UInt64> = []
    for transaction in index.transactions { told.insert(transaction.name) }
    for covered in index.covered { told.insert(covered.name) }
    var sent: [ObjectKey: [SyncSchema.Property]] = [:]
    for draft in drafts where draft.kind != .delete {
      let properties =
        draft.kind == .update ? draft.columns.map(\.property) : draft.entity.properties
      let adding = properties.filter(\.keepsDeltas)
      guard !adding.isEmpty else { continue }
      for key in draft.keys {
        let object = selection.window[key]
        // A total that is offered is without what was counted here since.
        sent[key, default: []] += adding.filter {
          object?.transaction(of: $0.slot) != nil
            && ($0.policy != .counter || object?.offer(of: $0.slot) == nil)
        }
      }
    }
    guard !sent.isEmpty else { return }
    var names: [UInt64] = []
    // What was stamped with its time has its number all the same; an edit that is not sent is of no property that is.
    let last = selection.isOffer ? .max : selection.through
    try transaction.forEachNamedDelta(through: last) { key, property, name in
      guard sent[key]?.contains(where: { $0.name == property }) == true,
        told.insert(name).inserted
      else { return }
      names.append(name)
    }
    index.covered += names.sorted().map { .init(name: $0, isPartial: true) }
  }

  private mutating func addSuperseded(
    _ drafts: [ChangeDraft], _ selection: PushSelection
  ) throws {
    // Beside counts each name is one of a save that is in them.
    let counts = drafts.contains { $0.columns.contains { $0.property.keepsDeltas } }
    let saves =
      counts
      ? [] : try SupersededSets(drafts, selection.window).saves(after: since, transaction)
    guard !saves.isEmpty else { return }
    let told = Set(index.transactions.map(\.name)).union(index.covered.map(\.name))
    let names = try saves.sorted().map { try transaction.transactionName($0) }
    index.covered += names.filter { $0 != 0 && !told.contains($0) }
      .map { .init(name: $0, isPartial: true) }
  }

  /// What the save drew. An edit that outlived its history goes by its time.
  private func name(of number: Int64) throws -> UInt64 {
    if number < 0 { return try times.time(number, transaction).rawValue }
    return try transaction.transactionName(number)
  }

  private mutating func add(
    _ draft: ChangeDraft, entities: [String: Int], transactions: [Int64: Int],
    columns: inout [Column]
  ) throws {
    var places: [Int] = []
    places.reserveCapacity(draft.keys.count)
    for key in draft.keys { places.append(Int(place(of: key) ?? -1)) }
    let draft = draft.sorted(by: places)
    let entity = entities[draft.entity.name] ?? 0
    let names = draft.entity.properties.map(\.name)
    index.groups.append(
      ChangeSetIndex.Group(
        kind: draft.kind, entity: entity,
        properties: draft.columns.compactMap { names.firstIndex(of: $0.property.name) },
        objects: ObjectIndexes(places.sorted().map { Int32(clamping: $0) }),
        transactionRuns: Self.runs(draft.transactions.map { transactions[$0] ?? 0 })))
    if draft.kind == .insert { try addNewObjects(draft, entity: entity) }
    let sealer = CellSealer(keys: schema.keys, entity: draft.entity.name)
    for column in draft.columns {
      let whole = try column.column {
        place(of: $0)
      } seal: { row, value in
        try sealer.seal(
          value, column.property.name, of: transaction.identity(of: draft.keys[row]))
      }
      columns.append(
        try values.cut(whole, name: "\(draft.entity.name).\(column.property.name)"))
    }
  }
}
