import Synchronization

/// How a model lies in the tables of a file: Core Data's layout.
///
/// A hierarchy of entities has one table, `Z<ROOT>`; a to-one relationship a key column; a many-to-many relationship a
/// join table. Entity numbers (`Z_ENT`) come from the file, or for a fresh one count depth first, siblings by name
/// whatever its case.
package final class StoreSchema: Sendable {
  package let model: ManagedObjectModel
  /// The entities of the model that the store has: all, or those of its configuration and what they inherit from.
  package let entities: [EntityDescription]
  /// The columns of the file's R-tree indexes by their names; nil for a fresh file, which gets those of the model.
  private let rTrees: [String: Set<String>]?
  private let numberByName: [String: Int32]
  private let entityByNumber: [Int32: EntityDescription]
  private let tableByName: [String: EntityTable]
  private let programByNumber: [Int32: RowProgram]
  private let joinTables: [String: JoinTable]
  private let uniqueColumnsByNumber: [Int32: [UniqueColumns]]
  private let keyMaskByNumber: [Int32: PropertyMask]
  private let ownedEndsByNumber: [Int32: PropertyMask]
  private let ownInversesByNumber: [Int32: PropertyMask]
  private let pairedEndsByNumber: [Int32: PropertyMask]
  private let requiredByNumber: [Int32: PropertyMask]
  private let requiredFollowersByNumber: [Int32: PropertyMask]
  private let kinByRoot: [Int32: [Int32]]
  private let derived = Mutex<[ObjectIdentifier: any Sendable]>([:])

  /// - Parameters:
  ///   - entityNames: the entities that the store has; nil for all.
  ///   - rTrees: the R-tree indexes of an existing file, with their columns; nil for a fresh one, which gets those of the model.
  ///   - numbers: the numbers of an existing file; nil to number afresh.
  ///   - present: the tables of an existing file, where versions of Core Data name them differently.
  ///   - holdsInColumns: whether a to-many relationship without inverse is columns in a fresh file; else it has a join table.
  ///   - external: what ``ExternalColumns`` an existing file says that it has; nil to go by the model.
  package init(
    model: ManagedObjectModel, entityNames: Set<String>? = nil,
    rTrees: [String: Set<String>]? = nil,
    numbers: [String: Int32]? = nil, present: PresentTables? = nil, external: Set<String>? = nil,
    holdsInColumns: (RelationshipDescription) -> Bool = { _ in true }
  ) {
    self.model = model
    let members = model.entities.filter { entityNames?.contains($0.name) ?? true }
    self.entities = members
    self.rTrees = rTrees
    let numbers = (numbers ?? Self.freshNumbers(of: members))
      .filter { entityNames?.contains($0.key) ?? true }
    var entities: [Int32: EntityDescription] = [:]
    var tables: [String: EntityTable] = [:]
    var programs: [Int32: RowProgram] = [:]
    let joins = JoinTable.all(of: members, numbers, present, holdsInColumns: holdsInColumns)
    let held = joins.sorted { $0.key < $1.key }.compactMap(\.value.held)
    for entity in members {
      if let number = numbers[entity.name] { entities[number] = entity }
      if entity.superentity == nil {
        let table = EntityTable(
          root: entity, numbers: numbers, present: present,
          held: held.filter { $0.table == HeldColumns.table(of: entity) })
        for member in entity.selfAndDescendants { tables[member.name] = table }
      }
    }
    for entity in members {
      guard let table = tables[entity.name], let number = numbers[entity.name] else { continue }
      programs[number] = RowProgram(
        entity: entity, number: number, table: table, numbers: numbers, external: external)
    }
    numberByName = numbers
    entityByNumber = entities
    tableByName = tables
    programByNumber = programs
    joinTables = joins
    uniqueColumnsByNumber = programs.compactMapValues { program in
      let columns = UniqueColumns.all(of: program)
      return columns.isEmpty ? nil : columns
    }
    let ownedEnds = programs.mapValues { program in
      PropertyMask(
        program.entity.layout.slots.filter { $0.relationship?.ownsOneToOne == true }.map(\.index))
    }
    kinByRoot = Dictionary(
      grouping: members.filter { !$0.isAbstract }.compactMap { numbers[$0.name] }.sorted()
    ) { entities[$0].flatMap { numbers[$0.rootEntity.name] } ?? $0 }
    ownedEndsByNumber = ownedEnds.filter { !$0.value.isEmpty }
    let ownInverses = programs.mapValues { program in
      PropertyMask(
        program.entity.layout.slots.filter { $0.relationship?.isOwnOneToOne == true }.map(\.index))
    }.filter { !$0.value.isEmpty }
    ownInversesByNumber = ownInverses
    pairedEndsByNumber = ownedEnds.merging(ownInverses) { owned, own in
      var both = owned
      both.formUnion(own)
      return both
    }.filter { !$0.value.isEmpty }
    let required = programs.mapValues { program in
      PropertyMask(
        program.entity.layout.slots.filter { slot in
          guard !slot.isOptional, !slot.isTransient else { return false }
          switch slot.kind {
          case .toOne: return true
          case .attribute(let attribute, _): return !(attribute is DerivedAttributeDescription)
          case .toMany: return false
          }
        }.map(\.index))
    }.filter { !$0.value.isEmpty }
    requiredByNumber = required
    requiredFollowersByNumber = programs.mapValues { program in
      PropertyMask(
        program.entity.layout.slots.filter { slot in
          slot.relationship?.followsOneToOne == true
            && required[program.number]?.contains(slot.index) == true
        }.map(\.index))
    }.filter { !$0.value.isEmpty }
    keyMaskByNumber = programs.compactMapValues { program in
      var mask = PropertyMask(UniqueColumns.all(of: program).flatMap(\.slots))
      mask.formUnion(ownedEnds[program.number] ?? PropertyMask())
      return mask.isEmpty ? nil : mask
    }
  }

  /// What follows from the schema alone, and is asked for again and again: made once, and kept as long as the schema is.
  ///
  /// - Parameter make: Makes it. It asks for no other one, and what it makes does not hold the schema.
  package func derived<Form: Sendable>(_ make: () -> Form) -> Form {
    derived.withLock { derived in
      if let form = derived[ObjectIdentifier(Form.self)] as? Form { return form }
      let form = make()
      derived[ObjectIdentifier(Form.self)] = form
      return form
    }
  }

  /// Whether the file has an R-tree index with the properties that the model gives it. A model may give other ones under one
  /// name: the index is made anew when the store is opened for writing.
  func has(_ tree: RTreeIndex) -> Bool { rTrees.map { $0[tree.name] == tree.columns } ?? true }

  /// The number of an entity in this store; 0 for one that the store does not have.
  package func entityNumber(of entity: EntityDescription) -> Int32 {
    numberByName[entity.name] ?? 0
  }
  package func entity(numbered number: Int32) -> EntityDescription? { entityByNumber[number] }

  /// The table of an entity's hierarchy. The entity must be of the schema's model.
  package func table(for entity: EntityDescription) -> EntityTable {
    tableByName[entity.name] ?? EntityTable(root: entity.rootEntity, numbers: numberByName)
  }

  /// The join table of a to-many relationship, as seen from its own side; nil when it has none.
  package func joinTable(for relationship: RelationshipDescription) -> JoinTable? {
    joinTables[JoinTable.key(relationship)]
  }

  /// How rows of an entity are read and written.
  func program(numbered number: Int32) -> RowProgram? { programByNumber[number] }

  /// The uniqueness constraints that hold for an entity's rows.
  func uniqueColumns(numbered number: Int32) -> [UniqueColumns] {
    uniqueColumnsByNumber[number] ?? []
  }

  /// The properties of an entity that one living object at a time may hold a value of: those of uniqueness constraints, and
  /// the owning ends of one-to-one relationships.
  package func keyMask(numbered number: Int32) -> PropertyMask {
    keyMaskByNumber[number] ?? PropertyMask()
  }

  /// The owning ends of one-to-one relationships that an entity has.
  package func ownedEnds(numbered number: Int32) -> PropertyMask {
    ownedEndsByNumber[number] ?? PropertyMask()
  }

  /// The one-to-one relationships of an entity that are their own inverses.
  package func ownInverses(numbered number: Int32) -> PropertyMask {
    ownInversesByNumber[number] ?? PropertyMask()
  }

  /// Both: what other ends follow, or have to agree with.
  func pairedEnds(numbered number: Int32) -> PropertyMask {
    pairedEndsByNumber[number] ?? PropertyMask()
  }

  /// What an entity's rows must have, and may lack all the same: a merge may take references and values of unique keys from them, and an
  /// import or a program with another model may have said null.
  package func requiredMask(numbered number: Int32) -> PropertyMask {
    requiredByNumber[number] ?? PropertyMask()
  }

  /// Those of `requiredMask` that no row says for itself: ends of one-to-one relationships that follow others.
  package func requiredFollowers(numbered number: Int32) -> PropertyMask {
    requiredFollowersByNumber[number] ?? PropertyMask()
  }

  /// Whether any rows must have a partner at such an end.
  package var hasRequiredFollowers: Bool { !requiredFollowersByNumber.isEmpty }

  /// Whether there are one-to-one relationships that are their own inverses.
  package var hasOwnInverses: Bool { !ownInversesByNumber.isEmpty }

  /// Whether there are one-to-one relationships with two ends.
  package var hasOneToOne: Bool { !ownedEndsByNumber.isEmpty }

  var hasUniqueColumns: Bool { !uniqueColumnsByNumber.isEmpty }

  package func rootNumber(of number: Int32) -> Int32 {
    entity(numbered: number).map { entityNumber(of: $0.rootEntity) } ?? number
  }

  /// The concrete entities of an entity's hierarchy.
  func kin(of number: Int32) -> [Int32] { kinByRoot[rootNumber(of: number)] ?? [] }

  /// Whether objects of an entity's hierarchy may be of several entities.
  func isOfSeveral(_ number: Int32) -> Bool { kin(of: number).count > 1 }

  /// The tables, one a hierarchy, by name.
  var tables: [EntityTable] {
    entities.filter { $0.superentity == nil }.map(table(for:)).sorted { $0.name < $1.name }
  }

  /// Whether to-many relationships without inverse are columns of the objects at their other end.
  package var holdsInColumns: Bool { joinTables.values.contains { $0.held != nil } }

  /// The relationships that are columns of the objects at their other end, as `Folder.papers`.
  package var heldRelationships: [String] {
    joinTables.filter { $0.value.held != nil }.keys.sorted()
  }

  /// Whether an object is at the end of a relationship for one other at most, which its columns name.
  func isExclusive(_ relationship: RelationshipDescription) -> Bool {
    joinTable(for: relationship)?.held != nil
  }

  /// What each connection runs first: views of to-many relationships that are columns.
  var views: [String] { distinctJoinTables.compactMap(\.held).flatMap(\.statements) }

  /// The join tables, each once.
  var distinctJoinTables: [JoinTable] {
    var seen: Set<String> = []
    return joinTables.values.sorted { $0.name < $1.name }.filter { seen.insert($0.name).inserted }
  }

  /// Those of the join tables that are no columns.
  var ownJoinTables: [JoinTable] { distinctJoinTables.filter { $0.held == nil } }

  var numbers: [(entity: EntityDescription, number: Int32)] {
    entityByNumber.map { ($0.value, $0.key) }.sorted { $0.1 < $1.1 }
  }

  /// Whether rows of the other schema are the same objects in the same tables as those of this one.
  /// - Throws: `StoreError` with code `invalidArgument` that names the first entity of which they are not.
  func requireSameRows(in other: StoreSchema, at place: String) throws {
    for (number, mine) in programByNumber.sorted(by: { $0.key < $1.key }) {
      let theirs = other.programByNumber[number]
      guard let theirs, theirs.entity.name == mine.entity.name,
        theirs.table.name == mine.table.name, theirs.slotCount == mine.slotCount
      else {
        throw StoreError(
          .invalidArgument,
          "At \(place), entity number \(number) is \(theirs?.entity.name ?? "none"), and "
            + "\(mine.entity.name) in the store that is open.",
          suggestion: "Remove this store from the coordinator, and add the other.")
      }
    }
  }

  private static func freshNumbers(of members: [EntityDescription]) -> [String: Int32] {
    let names = Set(members.map(\.name))
    var numbers: [String: Int32] = [:]
    func number(_ entities: [EntityDescription]) {
      for entity in entities.sorted(by: Self.precedes) where names.contains(entity.name) {
        numbers[entity.name] = Int32(numbers.count + 1)
        number(entity.subentities)
      }
    }
    number(members.filter { $0.superentity == nil })
    return numbers
  }
  private static func precedes(_ a: EntityDescription, _ b: EntityDescription) -> Bool {
    (a.name.lowercased(), a.name) < (b.name.lowercased(), b.name)
  }
}
