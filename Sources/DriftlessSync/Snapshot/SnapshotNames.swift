import Driftless
import DriftlessProtocol

/// What a snapshot calls the entities and properties of the model here, and what of it that model does not have.
///
/// Values under two names of one property are two in a snapshot: the one that came with the later entry stands, as it does
/// with who reads the log.
struct SnapshotNames {
  /// A property of the model, on all objects that have it.
  private struct Place: Hashable {
    var entity: Int32
    var property: String
  }

  private let schema: SyncSchema
  /// Whether the log can be read in place of a snapshot that says what the model does not have.
  private let hasLog: Bool
  /// Entities and properties that the model does not have, or has as something else.
  private(set) var unknown: Set<ParkedName> = []
  /// Whether a relationship is said from the end that does not say it here.
  private(set) var hasOtherEnds = false
  private var called: [Place: Set<String>] = [:]
  private var saidHere: Set<ObjectIdentifier> = []
  private var saidFromOtherEnds: Set<ObjectIdentifier> = []

  init(_ schema: SyncSchema, hasLog: Bool) {
    self.schema = schema
    self.hasLog = hasLog
  }

  /// Whether a property, or two, are called by more than one name.
  var areContested: Bool { called.values.contains { $0.count > 1 } }

  /// Whether values of a property stand under more than one name.
  func isContested(_ property: String, of entity: SyncSchema.Entity) -> Bool {
    called[Place(entity: entity.number, property: property)].map { $0.count > 1 } ?? false
  }

  /// Takes in what a change set of a part names.
  ///
  /// - Parameter number: the change set's place in its part. In the third and later ones stand values of an attribute and
  ///   a relationship that have one name.
  /// - Throws: `UnfitSnapshot` for what the model does not have, where the log can be read, which is kept for a later model.
  mutating func note(_ entity: ChangeSetIndex.Entity, changeSet number: Int) throws {
    guard let own = schema.entity(namedNowOrBefore: entity.name) else {
      return try lack(entity.name)
    }
    for name in entity.properties {
      if let property = own.property(namedNowOrBefore: name) {
        let place = Place(entity: own.number, property: property.name)
        called[place, default: []].insert("\(entity.name).\(name)\(number > 1 ? " \(number)" : "")")
        if let relationship = property.relationship {
          saidHere.insert(ObjectIdentifier(relationship))
        }
      } else if let end = own.otherEnds[name] {
        hasOtherEnds = true
        saidFromOtherEnds.insert(ObjectIdentifier(end.owner))
      } else {
        try lack("\(entity.name).\(name)")
      }
    }
    guard !hasLog || !hasOtherEnds, saidHere.isDisjoint(with: saidFromOtherEnds) else {
      throw UnfitSnapshot(reason: "a relationship is said from both of its ends")
    }
  }

  private func lack(_ name: String) throws {
    guard hasLog else { return }
    throw PageApplier.unknown(name)
  }

  /// Objects of an entity that the model does not have live in the zone.
  mutating func leaveOut(_ entity: String) throws {
    try lack(entity)
    unknown.insert(ParkedName(entity))
  }

  /// Takes in what a change set told that could not be read here.
  mutating func add(_ frame: FrameContext) throws {
    guard let first = frame.unknown.first else { return }
    try lack(first.name)
    unknown.formUnion(frame.unknown)
  }
}

/// Which value of an object stands, where a part of a snapshot has it under two names of one property.
struct LaterNames {
  private struct Cell: Hashable {
    var number: UInt64
    var property: String
  }

  private struct Word {
    var sequence: UInt64
    var changeSet: Int
    var name: String
  }

  private var words: [Cell: Word] = [:]

  /// - Throws: `UnfitSnapshot` where a set was changed under two names: what of both stands, the log tells.
  init(_ part: SnapshotReader.Part, _ names: SnapshotNames, _ schema: SyncSchema) throws {
    guard names.areContested else { return }
    let new = part.numbers
    for changeSet in 0..<part.count {
      let index = try part.index(changeSet)
      let pushed = try part.pushed(changeSet)
      let newCount = index.newObjectCount
      // What an object was made with is older than all that was set since.
      for group in index.groups where group.kind == .update {
        guard let entity = schema.entity(namedNowOrBefore: index.entities[group.entity].name)
        else { continue }
        for place in group.properties {
          let name = index.entities[group.entity].properties[place]
          guard let property = entity.property(namedNowOrBefore: name),
            names.isContested(property.name, of: entity)
          else { continue }
          var row = 0
          for run in group.transactionRuns {
            let sequence =
              pushed.indices.contains(run.transaction) ? pushed[run.transaction].sequence : 0
            for object in group.objects[row..<row + run.count] {
              let number = object < newCount ? new[object] : index.knownNumbers[object - newCount]
              let word = Word(
                sequence: sequence, changeSet: changeSet,
                name: "\(index.entities[group.entity].name).\(name)")
              try add(word, Cell(number: number, property: property.name), property)
            }
            row += run.count
          }
        }
      }
    }
  }

  private mutating func add(
    _ word: Word, _ cell: Cell, _ property: SyncSchema.Property
  ) throws {
    guard let known = words[cell] else {
      words[cell] = word
      return
    }
    if case .elements = property.kind {
      throw UnfitSnapshot(reason: "\(word.name) was changed under two names")
    }
    if known.sequence <= word.sequence { words[cell] = word }
  }

  /// Whether a row of a change set's group is one over which a later one stands.
  func areOver(
    _ number: UInt64, _ property: SyncSchema.Property, _ name: String, _ changeSet: Int
  ) -> Bool {
    guard !words.isEmpty, let word = words[Cell(number: number, property: property.name)] else {
      return false
    }
    return word.changeSet != changeSet || word.name != name
  }

  var isEmpty: Bool { words.isEmpty }
}
