import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// What a replica has of a log when it takes in what that comes to.
struct KnownLog {
  /// The replica has nothing of the zone, and nothing of its own.
  var isNothing: Bool
  var cursor: UInt64
  /// The number of the first object that came after the cursor.
  var nextNumber: UInt64
  /// The acknowledged entries above the cursor, whatever name it had when it sent them.
  var own: Set<UInt64>
  /// Entities and properties that models of before had not.
  private let gone: Set<String>

  /// - Throws: `UnfitSnapshot` where it is not known which number came last.
  init(_ state: ReplicaState, isNothing: Bool, _ transaction: ReadTransaction) throws {
    let connection = transaction.connection
    gone = try ModelMeaning.Notes(transaction).gone
    self.isNothing = isNothing
    cursor = state.cursor
    guard let next = try LogPlaces.nextNumber(after: cursor, on: connection) else {
      throw UnfitSnapshot(reason: "it is not known here which object came last")
    }
    nextNumber = next
    own = try LogPlaces.sequences(above: cursor, on: connection)
  }

  /// Whether the objects of an entity may not be here, since a model of before did not have it.
  func lacked(_ entity: SyncSchema.Entity) -> Bool { !gone.isDisjoint(with: entity.names) }

  /// Whether what came with an entry is here.
  func has(_ pushed: SnapshotReader.Part.Pushed) -> Bool {
    pushed.sequence <= cursor || own.contains(pushed.sequence)
  }
}

/// What a snapshot says that the replica does not have.
struct SnapshotNews {
  struct Delete {
    var key: ObjectKey
    var transaction: ChangeSetIndex.Transaction
    var side: RemoteSide
    var save: Save { Save(sequence: side.sequence, time: side.time) }
  }

  /// One save of one entry.
  struct Save: Hashable {
    var sequence: UInt64
    var time: HybridTime
  }

  let known: KnownLog
  /// Objects that the replica did not have.
  var objects = SnapshotObjects()
  /// Of objects that it had.
  private(set) var deletes: [Delete] = []
  /// The same by their root entities.
  private(set) var deleted: Set<ObjectKey> = []
  /// Living objects of the zone that were made here as well, and are pending.
  var metCount = 0
  /// The names of the saves that are pending here.
  private var ownNames: Set<UInt64> = []
  /// The saves that made what was deleted here before it was sent, and those of them that the zone knows.
  private let formerMakers: Set<UInt64>
  private var comeMakers: Set<UInt64> = []

  init(_ known: KnownLog, deleted: RememberedDeletes) {
    self.known = known
    formerMakers = deleted.makers
  }

  mutating func append(_ delete: Delete, _ root: ObjectKey) {
    deletes.append(delete)
    deleted.insert(root)
  }

  /// Whether the zone knows the save that made an object here.
  func hasCome(_ maker: UInt64) -> Bool { comeMakers.contains(maker) }

  mutating func noteMaker(_ name: UInt64) {
    if formerMakers.contains(name) { comeMakers.insert(name) }
  }

  /// Takes note of the saves that a change set of a part names.
  mutating func noteMakers(of index: ChangeSetIndex) {
    guard !formerMakers.isEmpty else { return }
    for transaction in index.transactions { noteMaker(transaction.name) }
    for run in index.newObjects { run.makers.forEach { noteMaker($0) } }
  }

  /// Looks for saves that are pending here among those that the zone knows: another copy of this store sent them, and which
  /// of their edits are still pending here, the log tells.
  mutating func expectNone(of names: Set<UInt64>, in reader: SnapshotReader) throws {
    ownNames = names
    guard !names.isEmpty else { return }
    try reader.forEachName { try expectNone(of: $0) }
  }

  func expectNone(of index: ChangeSetIndex) throws {
    guard !ownNames.isEmpty else { return }
    for transaction in index.transactions { try expectNone(of: transaction.name) }
    for run in index.newObjects { for maker in run.makers { try expectNone(of: maker) } }
  }

  func expectNone(of name: UInt64) throws {
    guard ownNames.contains(name) else { return }
    throw UnfitSnapshot(
      reason:
        "the zone knows what is pending here, which this store sent before it left the zone, or another copy of it"
    )
  }
}
