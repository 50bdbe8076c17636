import Driftless
import DriftlessProtocol
import Foundation

/// One change set while it is applied: its names and objects as this store knows them.
struct FrameContext {
  let changeSet: ChangeSet
  let sequence: UInt64
  private let firstNumber: UInt64
  var table: ObjectTable
  /// Entities and properties that this model does not have, or has as something else.
  var unknown: Set<ParkedName> = []
  /// Attributes that this model does not have, or has as something else, and of which new objects have no value.
  private(set) var nulls: Set<String> = []
  /// Relationships that hold objects which are not known here, as `Entity.property`.
  var unmade: Set<String> = []
  /// Parts are about objects that a parked entry makes.
  var needsParked = false
  /// The columns of the group that is applied, by name, that this model does not have.
  private(set) var strangers: [(name: String, column: Column)] = []
  /// The columns of the group that is applied which say relationships from their other ends.
  private(set) var otherEnds: [(end: OtherEnd, name: String, column: Column)] = []
  /// What groups say from other ends: it is taken in when all objects of the change set are there.
  var saidFromOtherEnds: [SaidFromOtherEnd] = []
  private let entities: [SyncSchema.Entity?]
  /// Transactions whose deletes meet something that is pending here: they are settled as a whole,
  /// when the pull has reached its head.
  var deferredTransactions: Set<Int> = []
  /// What those transactions delete, by root entities: also what other parts of the push delete with them.
  var cutTargets: Set<ObjectKey> = []
  /// It is a part of what the zone's log comes to: each save that made its objects has a time of its own, and history
  /// need not name what comes with it twice.
  var isOfSnapshot = false
  /// Of a part of a snapshot: the entry that each transaction came with.
  var pushed: [SnapshotReader.Part.Pushed] = []
  /// Of a part of a snapshot that is compared: the zone's numbers of the objects of its table.
  var numbers: [UInt64] = []
  /// All of the zone comes with the snapshot, the other ends of its relationships too.
  var isOfNewcomer = false
  /// The deletes are too many: they are set aside.
  var isBraked = false
  /// Deletes of it may meet something here: what it takes out is looked at, whether a delete took that along.
  var mayCut = false
  private let newIdentities: NewIdentities
  /// The names of the transactions that it tells or covers.
  private var names: Set<UInt64>
  /// Those of them that made new objects, and that no transaction of it is named after: what else such a save did it may tell,
  /// or not.
  private var makers: Set<UInt64>
  /// When new objects that are offered were made; read when something asks.
  private var timesOfMaking: [Int: UInt64]?

  /// - Parameter firstNumber: the zone's number of the first object that the change set makes.
  init(_ changeSet: ChangeSet, sequence: UInt64, firstNumber: UInt64, schema: SyncSchema) {
    var changeSet = changeSet
    changeSet.index.number(from: firstNumber)
    self.changeSet = changeSet
    self.sequence = sequence
    self.firstNumber = firstNumber
    newIdentities = NewIdentities(changeSet.index)
    entities = changeSet.index.entities.map { schema.entity(namedNowOrBefore: $0.name) }
    let told = Set(changeSet.index.transactions.map(\.name))
    names = told.union(changeSet.index.covered.map(\.name))
    makers = Set(changeSet.index.newObjects.flatMap(\.makers)).subtracting(told)
    table = ObjectTable(
      capacity: changeSet.index.knownNumbers.count + changeSet.index.newObjectCount)
  }

  var origin: UUID { changeSet.header.replica }

  /// Whether it tells or covers the transaction of a name; 0 is none.
  func tells(_ name: UInt64) -> Bool { name != 0 && names.contains(name) }

  /// Whether it names a transaction since that made new objects.
  func namesAsMaker(_ name: UInt64) -> Bool { makers.contains(name) }

  /// It has a new object of a save whose name its sender does not know.
  mutating func learn(maker name: UInt64) {
    names.insert(name)
    makers.insert(name)
  }

  /// Whether an object is offered as one that was made at a time.
  ///
  /// - Parameter offset: how many come before it of those that the table has next.
  mutating func offersAsMade(_ time: HybridTime, at offset: Int = 0) -> Bool {
    let times = timesOfMaking ?? readTimesOfMaking()
    timesOfMaking = times
    return times[table.entries.count + offset] == time.rawValue
  }

  private func readTimesOfMaking() -> [Int: UInt64] {
    let transactions = changeSet.index.transactions
    var times: [Int: UInt64] = [:]
    for group in changeSet.index.groups where group.kind == .insert {
      var objects = group.objects[...]
      for run in group.transactionRuns {
        let ofRun = objects.prefix(run.count)
        objects = objects.dropFirst(run.count)
        guard transactions.indices.contains(run.transaction),
          case let made = transactions[run.transaction], made.name == made.hybridTime
        else { continue }
        for object in ofRun { times[Int(object)] = made.hybridTime }
      }
    }
    return times
  }

  /// When the newest change of a group was made.
  func newestTime(of group: ChangeSetIndex.Group) -> HybridTime {
    let transactions = changeSet.index.transactions
    let times = group.transactionRuns.lazy.filter { transactions.indices.contains($0.transaction) }
      .map { transactions[$0.transaction].hybridTime }
    return HybridTime(rawValue: times.max() ?? 0)
  }

  func entity(_ index: Int) -> SyncSchema.Entity? {
    entities.indices.contains(index) ? entities[index] : nil
  }

  mutating func noteUnknownEntity(_ index: Int) {
    guard changeSet.index.entities.indices.contains(index) else { return }
    unknown.insert(ParkedName(changeSet.index.entities[index].name))
  }

  /// The zone's number of an object that it knew before; nil for a new one.
  func number(of object: Int) -> UInt64? {
    let place = object - changeSet.index.newObjectCount
    let numbers = changeSet.index.knownNumbers
    return numbers.indices.contains(place) ? numbers[place] : nil
  }

  /// The zone's number of an object, which later entries name it by.
  func laterNumber(of object: Int) -> UInt64? {
    let isNew = object < changeSet.index.newObjectCount
    return isNew ? firstNumber &+ UInt64(object) : number(of: object)
  }

  /// The zone's numbers of the objects that it brings back.
  var revivedNumbers: Set<UInt64> {
    Set(
      changeSet.index.groups.lazy.filter { $0.kind == .revive }
        .flatMap { group in group.objects.compactMap { number(of: $0) } })
  }

  /// The columns of a group with the properties that they belong to, opened where they are sealed; unknown ones are noted
  /// and left out.
  mutating func readers(
    _ group: ChangeSetIndex.Group, entity: SyncSchema.Entity, columns: ArraySlice<Column>,
    by opener: CellOpener
  ) throws -> [PropertyReader] {
    let names = changeSet.index.entities[group.entity]
    var readers: [PropertyReader] = []
    strangers = []
    otherEnds = []
    for (index, sealed) in zip(group.properties, columns) {
      guard names.properties.indices.contains(index) else { continue }
      let column = try opener.opened(sealed, of: names, index, group.objects) { object in
        try newIdentities[object]
          ?? table.entry(object).map { try opener.identity(of: $0.key) }
      }
      let name = names.properties[index]
      let full = "\(names.name).\(name)"
      let isNothing = group.kind == .insert && column.isNothing
      guard let property = entity.property(namedNowOrBefore: name) else {
        // A relationship that was to-one when it was sent, and is to-many by now, has no place beside it.
        if let former = PlaceName.property(ofPlace: name),
          entity.otherEnds[former] != nil || entity.isSet(namedNowOrBefore: former)
        {
          continue
        }
        if let end = entity.otherEnds[name], ColumnKind(column.values).saysRelationships {
          otherEnds.append((end, name, column))
          continue
        }
        if isNothing {
          nulls.insert(full)
        } else {
          unknown.insert(ParkedName(full))
          strangers.append((name, column))
        }
        continue
      }
      if var reader = PropertyReader(property: property, column: column, name: name) {
        if sealed.large != nil { reader.told = sealed }
        readers.append(reader)
      } else if isNothing {
        nulls.insert(full)
      } else {
        unknown.insert(ParkedName(full, ColumnKind(column.values)))
        strangers.append((name, column))
      }
    }
    return readers
  }

  /// When the transaction of a run was made.
  func time(of run: ChangeSetIndex.Group.TransactionRun) -> HybridTime {
    let transactions = changeSet.index.transactions
    guard transactions.indices.contains(run.transaction) else { return HybridTime(rawValue: 0) }
    return HybridTime(rawValue: transactions[run.transaction].hybridTime)
  }

  /// Who made the transaction of a run.
  func origin(of run: ChangeSetIndex.Group.TransactionRun) -> EditOrigin? {
    let transactions = changeSet.index.transactions
    guard transactions.indices.contains(run.transaction) else { return nil }
    return EditOrigin(
      author: transactions[run.transaction].author,
      contextName: transactions[run.transaction].contextName)
  }

  /// Who made the newest change of a group.
  func newestOrigin(of group: ChangeSetIndex.Group) -> EditOrigin? {
    group.transactionRuns.max { time(of: $0) < time(of: $1) }.flatMap { origin(of: $0) }
  }

  /// The transaction that a group's row belongs to.
  func transaction(_ group: ChangeSetIndex.Group, row: Int) -> Int? {
    var first = 0
    for run in group.transactionRuns {
      first += run.count
      if row < first { return run.transaction }
    }
    return nil
  }

  /// When the change of a group's row was made.
  func time(_ group: ChangeSetIndex.Group, row: Int) -> HybridTime {
    let transactions = changeSet.index.transactions
    guard let place = transaction(group, row: row), transactions.indices.contains(place) else {
      return HybridTime(rawValue: 0)
    }
    return HybridTime(rawValue: transactions[place].hybridTime)
  }

  /// Who made the change of a group's row, and when.
  func side(_ group: ChangeSetIndex.Group, row: Int) -> RemoteSide {
    var side = RemoteSide(
      value: .null, time: time(group, row: row), origin: origin, sequence: sequence)
    if let place = transaction(group, row: row), pushed.indices.contains(place) {
      side.origin = pushed[place].replica
      side.sequence = pushed[place].sequence
    }
    return side
  }
}

extension Column {
  /// Whether it says of an attribute that no object has a value.
  var isNothing: Bool {
    switch values {
    case .references, .elements, .unknown: false
    default: nulls != nil && (0..<count).allSatisfy { isNull(at: $0) }
    }
  }
}
