import Foundation
import SwiftProtobuf

extension IndexCodec {
  /// - Throws: `ProtocolError` when the bytes are no index section, or pass a limit.
  static func decode(
    _ bytes: [UInt8], limits: ChangeSetLimits
  ) throws(ProtocolError) -> ChangeSetIndex {
    try IndexSectionCounts(bytes).check(limits)
    let section: WireIndexSection
    do {
      var options = BinaryDecodingOptions()
      options.discardUnknownFields = true
      section = try WireIndexSection(serializedBytes: bytes, options: options)
    } catch {
      throw .malformed("The index section is not in its format")
    }
    var index = ChangeSetIndex()
    index.entities = section.entities.map { .init(name: $0.name, properties: $0.properties) }
    index.newObjects.reserveCapacity(section.newObjects.count)
    var room = limits.objectsMax
    for run in section.newObjects {
      guard run.count <= room else { throw .tooLarge("The object table is too long (objectsMax)") }
      room -= Int(run.count)
      index.newObjects.append(try newObjects(run))
    }
    guard section.knownCount <= room else {
      throw .tooLarge("The object table is too long (objectsMax)")
    }
    index.knownNumbers = try knownNumbers(section)
    index.transactions = try transactions(section.transactions, limits: limits)
    index.isPartial = section.transactions.isPartial
    index.groups = try groups(section.groups, limits: limits)
    index.relied = try relied(section.relied, limits: limits)
    index.claims = try claims(section.claims, limits: limits)
    index.covered = try covered(section.covered, limits: limits)
    index.tombstones = try tombstones(section.tombstones, limits: limits)
    index.values = try values(section.values, limits: limits)
    return index
  }

  private static func values(
    _ bytes: Data, limits: ChangeSetLimits
  ) throws(ProtocolError) -> [LargeValue] {
    guard bytes.count / LargeValue.size <= limits.valuesMax else {
      throw .tooLarge("The change set names too many large values (valuesMax)")
    }
    var values: [LargeValue] = []
    values.reserveCapacity(bytes.count / LargeValue.size)
    for start in stride(from: 0, to: bytes.count, by: LargeValue.size) {
      let row = bytes.dropFirst(start).prefix(LargeValue.size)
      guard let value = LargeValue(bytes: row), values.last.map({ $0 < value }) ?? true else {
        throw .malformed("The large values of the index section are not in their format")
      }
      values.append(value)
    }
    return values
  }

  private static func newObjects(
    _ run: WireNewObjects
  ) throws(ProtocolError) -> ChangeSetIndex.NewObjects {
    let count = Int(run.count)
    let entity = Int(run.entity)
    let makers = run.makers.isEmpty ? [] : try readDrawnNames(run.makers, count: count)
    // One identity for one object may be read as a range or as a list: it is a range.
    if run.identities.count == 16, let first = run.identities.uuids(count: 1)?.first {
      return .init(
        entity: entity, identities: .range(first: first, count: count), isGiven: run.isGiven,
        makers: makers)
    }
    guard let identities = run.identities.uuids(count: count) else {
      throw .malformed("New objects and their identities differ in number")
    }
    return .init(
      entity: entity, identities: .listed(identities), isGiven: run.isGiven, makers: makers)
  }

  private static func knownNumbers(_ section: WireIndexSection) throws(ProtocolError) -> [UInt64] {
    let count = Int(section.knownCount)
    var numbers: [UInt64] = []
    numbers.reserveCapacity(min(count, section.knownNumbers.count))
    var previous: UInt64 = 0
    let isWhole = Packing.readVarints(section.knownNumbers, count: count) { _, delta in
      let (number, overflow) = previous.addingReportingOverflow(delta)
      // They count from 1.
      guard !overflow, delta > 0, number <= PullEntryHeader.numberMax else { return false }
      numbers.append(number)
      previous = number
      return true
    }
    guard isWhole else { throw .malformed("The numbers of known objects do not ascend") }
    return numbers
  }

  private static func transactions(
    _ wire: WireTransactions, limits: ChangeSetLimits
  ) throws(ProtocolError) -> [ChangeSetIndex.Transaction] {
    let count = Int(wire.count)
    guard count <= limits.transactionsMax else {
      throw .tooLarge("The change set tells \(count) transactions (transactionsMax)")
    }
    guard let times = Packing.readDeltas(wire.hybridTimes, count: count) else {
      throw .malformed("The times of transactions are not in their format")
    }
    var transactions = times.map {
      ChangeSetIndex.Transaction(hybridTime: UInt64(bitPattern: $0))
    }
    let names = wire.names
    func read(
      _ data: Data, _ set: (inout ChangeSetIndex.Transaction, String) -> Void
    ) throws(ProtocolError) {
      let isWhole = Packing.readVarints(data, count: count) { place, name in
        guard name > 0 else { return true }
        guard name <= UInt64(names.count) else { return false }
        set(&transactions[place], names[Int(name) - 1])
        return true
      }
      guard isWhole else { throw .malformed("A transaction names an author that is not there") }
    }
    try read(wire.authors) { $0.author = $1 }
    try read(wire.contexts) { $0.contextName = $1 }
    if !wire.drawnNames.isEmpty {
      let names = try readDrawnNames(wire.drawnNames, count: count)
      for place in transactions.indices { transactions[place].name = names[place] }
    }
    try readOrigins(wire, into: &transactions)
    return transactions
  }

  // MARK: - Groups

  private static func groups(
    _ wire: [WireGroup], limits: ChangeSetLimits
  ) throws(ProtocolError) -> [ChangeSetIndex.Group] {
    var groups: [ChangeSetIndex.Group] = []
    groups.reserveCapacity(wire.count)
    var room = GroupRoom(limits)
    for group in wire {
      guard let kind = UInt8(exactly: group.kind).flatMap(ChangeSetIndex.Group.Kind.init) else {
        throw .unsupported("The change set has a group of kind \(group.kind)")
      }
      let properties = try readProperties(group.properties, room: room)
      try room.take(rows: Int(group.count), columns: properties.count)
      groups.append(
        .init(
          kind: kind, entity: Int(group.entity), properties: properties,
          objects: try readObjects(group.objects, group.first, count: group.count),
          transactionRuns: try transactionRuns(group, room: &room)))
    }
    return groups
  }

  private static func transactionRuns(
    _ group: WireGroup, room: inout GroupRoom
  ) throws(ProtocolError) -> [ChangeSetIndex.Group.TransactionRun] {
    guard !group.transactionRuns.isEmpty else {
      return [.init(transaction: 0, count: Int(group.count))]
    }
    guard
      let numbers = Packing.readAllVarints(group.transactionRuns, countMax: 2 * room.runs),
      numbers.count % 2 == 0
    else { throw .malformed("The transactions of a group are too many or not in their format") }
    room.runs -= numbers.count / 2
    return stride(from: 0, to: numbers.count, by: 2).map {
      .init(transaction: Int(clamping: numbers[$0]), count: Int(clamping: numbers[$0 + 1]))
    }
  }
}

/// How much the groups of a change set may still claim.
struct GroupRoom {
  var rows: Int
  var columns: Int
  var cells: Int
  var runs: Int

  init(_ limits: ChangeSetLimits) {
    rows = limits.rowsMax
    columns = limits.columnsMax
    cells = limits.cellsMax
    runs = limits.transactionRunsMax
  }

  mutating func take(rows: Int, columns: Int) throws(ProtocolError) {
    guard rows > 0 else { throw .malformed("A group has no rows") }
    guard rows <= self.rows else { throw .tooLarge("The groups have too many rows (rowsMax)") }
    guard columns <= self.columns else {
      throw .tooLarge("The groups have too many columns (columnsMax)")
    }
    let (cells, overflow) = rows.multipliedReportingOverflow(by: columns)
    guard !overflow, cells <= self.cells else {
      throw .tooLarge("The groups have too many values (cellsMax)")
    }
    self.rows -= rows
    self.columns -= columns
    self.cells -= cells
  }
}
