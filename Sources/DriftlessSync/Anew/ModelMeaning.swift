import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

/// What the log comes to with a model, where that hangs on more than the names of properties: on defaults, which stand for
/// what no entry says, and on the orders of relationships.
///
/// Where the next model differs in that, or has again what one before it had not, the store's rows are not what the log says:
/// a migration made them. Then what has changed is taken from the zone anew.
struct ModelMeaning: Codable, Hashable, Sendable {
  static let setting = "sync.meaning"
  /// What the log came to with models of after that, with which entries were read, and the head of the log was not reached.
  static let betweenSetting = "sync.meanings"

  /// By entity, and by `Entity.property`.
  private(set) var names: [String: String] = [:]

  /// What is to be taken anew.
  struct Change {
    /// Entities whose objects are not here.
    var entities: Set<String> = []
    /// By entity, properties of whose cells the rows may have something else.
    var properties: [String: Set<String>] = [:]
    /// Those of them that were gone: what was edited since met nothing.
    var returned: [String: Set<String>] = [:]

    var isEmpty: Bool { entities.isEmpty && properties.isEmpty }

    mutating func formUnion(_ other: Change) {
      entities.formUnion(other.entities)
      properties.merge(other.properties) { $0.union($1) }
      returned.merge(other.returned) { $0.union($1) }
    }
  }

  /// That of the model of a store.
  static func of(_ schema: SyncSchema, _ stored: StoreSchema) -> ModelMeaning {
    stored.derived { ModelMeaning(schema) }
  }

  private init(_ schema: SyncSchema) {
    for entity in schema.entities {
      names[entity.name] = ""
      for property in entity.properties {
        if case .place = property.kind { continue }
        names["\(entity.name).\(property.name)"] = Self.text(of: property)
      }
    }
  }

  static func load(_ transaction: ReadTransaction) throws -> ModelMeaning? {
    guard case .text(let text)? = try transaction.setting(setting) else { return nil }
    return DecodedNote.value(of: text, transaction.schema)
  }

  static func decode(_ text: String) -> ModelMeaning? {
    try? JSONDecoder().decode(Self.self, from: Data(text.utf8))
  }

  /// That of the model with which the head of the log was reached last, or with which the first entry was read or sent, and
  /// those of the models with which entries were read since. Rows may be as any of them has it.
  static func formers(_ transaction: ReadTransaction) throws -> [ModelMeaning] {
    guard let first = try load(transaction) else { return [] }
    guard case .text(let text)? = try transaction.setting(betweenSetting) else { return [first] }
    return [first] + (decodeAll(text) ?? [])
  }

  static func decodeAll(_ text: String) -> [ModelMeaning]? {
    try? JSONDecoder().decode([Self].self, from: Data(text.utf8))
  }

  /// Notes the model of a store that is about to read entries, so that the model after it knows with which one its rows were
  /// made: a pull may be cut before the head, and the program replaced then.
  ///
  /// - Returns: what is to be written; nil where it is noted.
  func noting(
    _ transaction: ReadTransaction, reads: Bool
  ) throws -> ((WriteTransaction) throws -> Void)? {
    let formers = try Self.formers(transaction)
    guard !formers.isEmpty else {
      // With which model a store of a program of before has read what it has, nobody knows.
      let state = try ReplicaState.load(from: transaction.connection)
      return state?.cursor == 0 ? { try save($0) } : nil
    }
    guard reads, !formers.contains(self) else { return nil }
    return {
      let between = formers.dropFirst() + [self]
      try $0.setSetting(Self.betweenSetting, .text(Self.text(Array(between))))
    }
  }

  /// What a store that was looked through with models of before has to take anew.
  func change(of schema: SyncSchema, since formers: [ModelMeaning], _ notes: Notes) -> Change {
    guard let first = formers.first else { return change(of: schema, since: nil, notes) }
    var change = change(of: schema, since: first, notes)
    for former in formers.dropFirst() {
      change.formUnion(self.change(of: schema, since: former, notes))
    }
    return change
  }

  /// What a store that was looked through with a model of before has to take anew.
  ///
  /// - Parameters:
  ///   - former: nil where that is not known.
  ///   - notes: what models of before had not.
  func change(of schema: SyncSchema, since former: ModelMeaning?, _ notes: Notes) -> Change {
    var change = Change()
    let isOtherModel = former != nil && former != self
    for entity in schema.entities {
      if !notes.gone.isDisjoint(with: entity.names) { change.entities.insert(entity.name) }
      for property in entity.properties {
        if case .place = property.kind { continue }
        let names = Self.formerNames(of: property, entity)
        let isBack = !notes.gone.isDisjoint(with: names)
        let isOther =
          isOtherModel && isOther(property, entity, names, than: former, notes)
          || !notes.untried.isDisjoint(with: names)
        guard isBack || isOther else { continue }
        change.properties[entity.name, default: []].insert(property.name)
        if isBack { change.returned[entity.name, default: []].insert(property.name) }
      }
    }
    // What refers to objects that come back was cut from both of its ends, or was null as long as they were not here.
    let returned = schema.entities.filter { change.entities.contains($0.name) }
    for entity in schema.entities {
      for property in entity.properties {
        guard let destination = property.relationship?.destinationEntity,
          returned.contains(where: { $0.description.isKindOf(entity: destination) })
        else { continue }
        change.properties[entity.name, default: []].insert(property.name)
      }
    }
    return change
  }

  /// The attributes of an entity that are new since a model of before, and have a default; and the relationships that no end
  /// said then.
  static func added(
    _ entity: SyncSchema.Entity, since former: ModelMeaning
  ) -> [SyncSchema.Property] {
    entity.properties.filter { property in
      (property.standIn?.value.isNull == false || property.isOwnWord)
        && formerNames(of: property, entity).allSatisfy { former.names[$0] == nil }
    }
  }

  private func isOther(
    _ property: SyncSchema.Property, _ entity: SyncSchema.Entity, _ names: [String],
    than former: ModelMeaning?, _ notes: Notes
  ) -> Bool {
    if !notes.unmade.isDisjoint(with: names) || !notes.odd.isDisjoint(with: names) { return true }
    let now = self.names["\(entity.name).\(property.name)"]
    guard let before = names.lazy.compactMap({ former?.names[$0] }).first else {
      return !notes.nulls.isDisjoint(with: names) && property.standIn?.value.isNull == false
    }
    guard property.relationship != nil else { return now != before }
    // Sets and references go over with the store; an order is where it is said.
    return now != before && (now?.contains(Self.order) == true || before.contains(Self.order))
  }

  /// What a property may have been called, also from the other end of a relationship.
  private static func formerNames(
    of property: SyncSchema.Property, _ entity: SyncSchema.Entity
  ) -> [String] {
    var names = entity.names.flatMap { entity in
      property.names.map { "\(entity).\($0)" }
    }
    guard let inverse = property.relationship?.inverseRelationship, let other = inverse.entity
    else { return names }
    for end in inverse.names { names += other.names.map { "\($0).\(end)" } }
    return names
  }

  private static let order = "ordered"

  private static func text(of property: SyncSchema.Property) -> String {
    guard let relationship = property.relationship else {
      return property.standIn.map { "\($0.value)" } ?? ""
    }
    let inverse = relationship.inverseRelationship
    let kinds = [relationship.isToMany, inverse?.isToMany ?? false].map { $0 ? "many" : "one" }
    guard [relationship, inverse].contains(where: { $0?.isOrdered == true }) else {
      return kinds.joined(separator: " ")
    }
    let end = "\(relationship.entity?.name ?? "").\(relationship.name)"
    return (kinds + [order, end]).joined(separator: " ")
  }

  /// Notes that the rows are as this one has them.
  func save(_ transaction: WriteTransaction) throws {
    try transaction.setSetting(Self.setting, .text(Self.text(self)))
    try transaction.setSetting(Self.betweenSetting, nil)
  }

  private static func text(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }
}

extension ModelMeaning {
  /// What the models of before had not, by entity or `Entity.property`: a line each.
  struct Notes {
    static let nullsSetting = "sync.nulls"
    static let unmadeSetting = "sync.unmade"

    /// What a migration took away.
    let gone: Set<String>
    /// Attributes of which entries said that new objects have no value: that is kept by name alone, and a model that has them
    /// may have defaults.
    let nulls: Set<String>
    /// Relationships of which entries said that they hold objects of entities that are not known here.
    let unmade: Set<String>
    /// Attributes that are new, and of which rows have something else than the default: a model between had another one.
    let odd: Set<String>
    /// Properties of columns that a program of before did not know.
    let untried: Set<String>

    init(_ transaction: ReadTransaction, odd: Set<String> = []) throws {
      self.odd = odd
      gone = try Self.names(EngineRows.goneSetting, transaction)
      nulls = try Self.names(Self.nullsSetting, transaction)
      unmade = try Self.names(Self.unmadeSetting, transaction)
      untried = try NamesLeftOut.load(transaction)?.untried ?? []
    }

    static func names(_ setting: String, _ transaction: ReadTransaction) throws -> Set<String> {
      guard case .text(let text)? = try transaction.setting(setting) else { return [] }
      return Set(text.split(separator: "\n").map(String.init))
    }

    private static func set(
      _ setting: String, _ names: Set<String>, _ transaction: WriteTransaction
    ) throws {
      let text = names.sorted().joined(separator: "\n")
      try transaction.setSetting(setting, names.isEmpty ? nil : .text(text))
    }

    /// Adds what an entry said.
    static func add(_ frame: FrameContext, _ transaction: WriteTransaction) throws {
      try add([(nullsSetting, frame.nulls), (unmadeSetting, frame.unmade)], transaction)
    }

    /// Adds what a snapshot has.
    static func add(
      gone: Set<String>, unmade: Set<String>, _ transaction: WriteTransaction
    ) throws {
      try add([(EngineRows.goneSetting, gone), (unmadeSetting, unmade)], transaction)
    }

    private static func add(
      _ all: [(setting: String, names: Set<String>)], _ transaction: WriteTransaction
    ) throws {
      for (setting, names) in all {
        guard !names.isEmpty else { continue }
        let known = try self.names(setting, transaction)
        guard !names.isSubset(of: known) else { continue }
        try set(setting, known.union(names), transaction)
      }
    }

    /// What the model has by now was taken.
    ///
    /// - Parameters:
    ///   - unmade: what is still not made.
    ///   - unknown: the columns that this program does not know; nil where the zone was not looked at.
    func settle(
      _ schema: SyncSchema, unmade: Set<String>, unknown: Set<ParkedName>? = nil,
      _ transaction: WriteTransaction
    ) throws {
      var present: Set<String> = []
      for entity in schema.entities {
        present.formUnion(entity.names)
        for property in entity.properties {
          present.formUnion(ModelMeaning.formerNames(of: property, entity))
        }
      }
      try Self.set(EngineRows.goneSetting, gone.subtracting(present), transaction)
      try Self.set(Self.nullsSetting, nulls.subtracting(present), transaction)
      try Self.set(Self.unmadeSetting, unmade, transaction)
      try NamesLeftOut.settle(schema, stillUnknown: unknown, transaction)
    }
  }
}

extension SyncSchema.Property {
  /// Whether it says a relationship: a reference, or a set.
  fileprivate var isOwnWord: Bool {
    switch kind {
    case .toOne, .elements: true
    case .attribute, .place: false
    }
  }
}

extension SyncSchema.Entity {
  /// What entries may call it.
  var names: [String] { description.names }
}

extension EntityDescription {
  var names: [String] { [name] + formerNames }
}

extension RelationshipDescription {
  /// What entries may call it.
  var names: [String] { [name] + formerNames }
}
