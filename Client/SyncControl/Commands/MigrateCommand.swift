import ArgumentParser
import Driftless
import DriftlessSync
import Foundation
import SyncDaemon

struct MigrateCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate",
    abstract: "Bring a store to another version of its model, or to another layout.",
    discussion: """
      Does what follows from the two models by itself; objects keep their identities, their \
      history and what is pending. What needs a mapping of its own is refused, and the store stays \
      as it was. A file that Core Data wrote and that carries no model is first taken over with \
      the version among those of FILE that it was written with.

      Objects of an entity that the model no longer has are deleted, with what is pending of them, \
      and so are the values of a property that it no longer has: they have to be named, with \
      --drop Entity or --drop Entity.property.

      --to-many says how to-many relationships without inverse are kept: as pairs, where several \
      objects may hold one, or in columns, as Core Data has them. A store that is to be enrolled for \
      sync needs pairs.

      A model that the store had before is refused, since a newer program made it another: with --back \
      the store goes to it all the same, say where an older program took the store back from it.

      Example: syncctl migrate shop.sqlite --model Shop.xcdatamodeld
      """)

  @Argument(help: "The store's file.", completion: .file())
  var file: String
  @Option(
    name: .long, help: "The model: of several versions the current one is gone to.",
    completion: .file())
  var model: String?
  @Option(
    name: .long, help: "How to-many relationships without inverse are kept: pairs or columns.",
    transform: Self.layout)
  var toMany: ToManyLayout?
  @Option(
    name: .customLong("drop"),
    help: """
      An entity whose objects, or an Entity.property whose values are deleted, since the model has it no \
      more; repeatable.
      """)
  var dropped: [String] = []
  @Flag(
    name: .customLong("back"),
    help: "Go to a model that the store had before; what came after that model may come again.")
  var goesBack = false
  @OptionGroup var output: OutputOptions

  private static func layout(_ text: String) throws -> ToManyLayout {
    if let layout = ToManyLayout(rawValue: text) { return layout }
    throw ValidationError("\(text) is no layout: give pairs or columns.")
  }

  private struct Report: Encodable {
    var store: String
    var isChanged: Bool
    var checksum: String
    /// What is merged otherwise from now on.
    var rules: [String]
  }

  private var url: URL { URL(fileURLWithPath: file).standardizedFileURL.resolvingSymlinksInPath() }

  func validate() throws {
    guard model != nil || toMany != nil else {
      throw ValidationError("Give --model FILE, --to-many pairs, or both.")
    }
  }

  func perform() throws {
    try StoreAccess.requireFile(at: url)
    if let model { try perform(model) } else { try changeLayout(reporting: true) }
  }

  private func perform(_ model: String) throws {
    let location = URL(fileURLWithPath: model)
    let versions = try ManagedObjectModel.versions(at: location)
    let destination = try ManagedObjectModel(contentsOf: location)
    try destination.freeze()
    output.note(wordsOf: destination, model)
    let there = try WritingVersion.find(among: versions.filter(\.isCurrent), for: url)
    let rules = try GivenModelArguments.ruleChanges(to: there?.model ?? destination, in: url)
    if let there {
      // Renaming identifiers are no part of a version.
      try checkNames(there.model)
      // A file of Core Data's is taken over: it carries its model from now on.
      try StoreAccess.open(url, model: there.model, configuration: there.configuration).close()
    } else {
      let configuration = try takeOver(versions, destination)
      try PersistentStore.migrate(
        at: url, to: destination, configuration: configuration, toManyLayout: toMany,
        goesBack: goesBack)
    }
    if there != nil, toMany != nil, try changeLayout(reporting: false) { return }
    let name = location.lastPathComponent
    try output.put(
      Report(
        store: url.path, isChanged: there == nil || !rules.isEmpty,
        checksum: destination.versionChecksum, rules: rules),
      lines: [
        there == nil
          ? "migrated \(file) to \(name)" : "\(file) has this version of \(name) already"
      ]
        + (rules.isEmpty
          ? []
          : ["It merges otherwise from now on; give all programs of its zone this model:"]
            + rules.map { "  \($0)" }))
  }

  /// Gives a file that carries no model the one that it was written with. Returns the configuration that it has.
  private func takeOver(
    _ versions: [ModelVersion], _ destination: ManagedObjectModel
  ) throws -> String? {
    let store: PersistentStore
    do {
      store = try StoreAccess.open(url)
    } catch let error as StoreError where error.code == .missingModel {
      guard let found = try WritingVersion.find(among: versions, for: url) else {
        let names = versions.map(\.name).joined(separator: ", ")
        let unreadable = WritingVersion.unreadable(among: versions).map { " \($0)" }.joined()
        let told = try WritingVersion.differences(among: versions, for: url).map { " \($0)" }
          .joined()
        throw StoreError(
          error.code,
          "\(error.message) It was written with none of the versions \(names).\(told)\(unreadable)",
          suggestion: "Give the .momd or .xcdatamodeld that has the version it was written with.")
      }
      output.note("written with version \(found.version.name)")
      store = try StoreAccess.open(url, model: found.model, configuration: found.configuration)
    }
    defer { store.close() }
    if try SyncEngine.home(of: store) != nil { try check(destination, after: store.model) }
    try checkDropped(store, destination)
    return store.configurationName
  }

  /// What the names of a model say in a zone, of a store that has its version already.
  private func checkNames(_ destination: ManagedObjectModel) throws {
    // A file of Core Data's may carry no model, and has no zone.
    guard let store = try? StoreAccess.inspect(url) else { return }
    defer { store.close() }
    guard try SyncEngine.home(of: store) != nil else { return }
    try check(destination, after: store.model)
  }

  private func check(
    _ destination: ManagedObjectModel, after present: ManagedObjectModel
  ) throws {
    if let shared = destination.sharedFormerNames.first {
      throw Failure(
        .badData, code: "shared-name",
        "\(shared.first) and \(shared.second) both say that they were called \(shared.name) before: what the zone has "
          + "under that name would be taken for either.",
        suggestion: "take the name away from one of them (renamingIdentifier, "
          + "\(PropertyDescription.formerNamesKey)): the store syncs with them")
    }
    try checkReused(destination, present)
    try checkForgotten(destination, present)
  }

  /// To programs of the model before, a name means what it meant then: in a zone both would be one.
  private func checkReused(
    _ destination: ManagedObjectModel, _ present: ManagedObjectModel
  ) throws {
    func check(
      _ prefix: String, _ name: String, _ former: [String], among now: Set<String>,
      _ before: Set<String>
    ) throws {
      // What the store's model has already is as it is.
      guard
        let taken = former.first(where: { now.contains($0) && !before.isSuperset(of: [name, $0]) })
      else { return }
      throw reusedName("\(prefix)\(name)", taken)
    }
    let (now, before) = (Set(destination.entitiesByName.keys), Set(present.entitiesByName.keys))
    for entity in destination.entities.sorted(by: { $0.name < $1.name }) {
      try check("", entity.name, entity.formerNames, among: now, before)
      let properties = entity.propertiesByName
      let own = present.entitiesByName[entity.name]?.propertiesByName ?? [:]
      for (name, property) in properties.sorted(by: { $0.key < $1.key }) {
        try check(
          "\(entity.name).", name, property.formerNames, among: Set(properties.keys), Set(own.keys))
      }
    }
  }

  private func reusedName(_ label: String, _ former: String) -> Failure {
    Failure(
      .badData, code: "reused-name",
      "\(label) was \(former), and \(former) is another thing in this model: programs of the model before would "
        + "take the one for the other.",
      suggestion: "give the new one a name that none had: the store syncs with them")
  }

  /// A zone's log has what was said under each name. Who joins with a model that knows fewer of them would miss that.
  private func checkForgotten(
    _ destination: ManagedObjectModel, _ present: ManagedObjectModel
  ) throws {
    func check(
      _ label: String, _ now: [String], _ own: [String], among names: Set<String>,
      _ before: Set<String>
    ) throws {
      for name in own where !now.contains(name) {
        // Another thing has the name: as it had it before, or anew.
        if names.contains(name) {
          guard before.contains(name), name != own[0] else { throw reusedName(label, name) }
          continue
        }
        throw Failure(
          .badData, code: "forgotten-name",
          "\(label) was called \(name), and the new model does not say so: who joins the zone with it would miss "
            + "what was said under that name.",
          suggestion:
            "add \(name) to \(PropertyDescription.formerNamesKey) in the userInfo of \(label) "
            + "(names between commas)")
      }
    }
    let (now, before) = (Set(destination.entitiesByName.keys), Set(present.entitiesByName.keys))
    for entity in destination.entities.sorted(by: { $0.name < $1.name }) {
      let names = [entity.name] + entity.formerNames
      let own =
        names.lazy.compactMap { present.entitiesByName[$0] }.first
        ?? present.entities.first { $0.renamingIdentifier == entity.renamingIdentifier }
      guard let own else { continue }
      try check(entity.name, names, [own.name] + own.formerNames, among: now, before)
      let (properties, former) = (entity.propertiesByName, own.propertiesByName)
      for (name, property) in properties.sorted(by: { $0.key < $1.key }) {
        let names = [name] + property.formerNames
        let own =
          names.lazy.compactMap { former[$0] }.first
          ?? former.values.first { $0.renamingIdentifier == property.renamingIdentifier }
        guard let own else { continue }
        try check(
          "\(entity.name).\(name)", names, [own.name] + own.formerNames,
          among: Set(properties.keys), Set(former.keys))
      }
    }
  }

  /// Whoever gives another model by mistake loses nothing by it.
  private func checkDropped(
    _ store: PersistentStore, _ destination: ManagedObjectModel
  ) throws {
    let drops: MigrationDrops
    do {
      drops = try MigrationDrops(
        from: store, to: destination, path: url.path, goesBack: goesBack)
    } catch let error as StoreError where error.code == .cannotMigrate {
      // Refused where it is done, with the reason.
      return
    }
    for name in dropped where !drops.entities.contains(where: { $0.name == name }) {
      guard !drops.properties.contains(where: { $0.isNamed(by: name) }) else { continue }
      let all = (drops.entities.map(\.name) + drops.properties.map(\.path))
      throw Failure(
        .failed, code: "nothing-to-drop",
        "--drop \(name) names nothing that this migration leaves behind.",
        suggestion: all.isEmpty
          ? "leave it out: the model has all that \(file) has"
          : "name what goes, Entity or Entity.property: \(all.joined(separator: ", "))")
    }
    try checkLosses(drops, store)
  }

  private func checkLosses(_ drops: MigrationDrops, _ store: PersistentStore) throws {
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    var lost: [(name: String, text: String)] = []
    for entity in drops.entities where !dropped.contains(entity.name) {
      var request = FetchRequest<ManagedObject>(entityName: entity.name)
      request.includesSubentities = false
      let count = try context.count(for: request)
      if count > 0 { lost.append((entity.name, "\(count) object\(count == 1 ? "" : "s")")) }
    }
    let losesObjects = !lost.isEmpty
    for property in drops.properties where !dropped.contains(where: property.isNamed) {
      var request = FetchRequest<ManagedObject>(entityName: property.entity.name)
      request.includesSubentities = false
      request.predicate = try FetchPredicate(
        format: property.isToMany ? "%K.@count > 0" : "%K != nil", property.name)
      let count = try context.count(for: request)
      if count > 0 { lost.append((property.path, "\(count) value\(count == 1 ? "" : "s")")) }
    }
    guard !lost.isEmpty else { return }
    let what = lost.map { "\($0.name): \($0.text)" }.joined(separator: ", ")
    throw Failure(
      .failed, code: losesObjects ? "would-drop-objects" : "would-drop-values",
      "The model has no place for what \(file) holds (\(what)): they would be deleted.",
      suggestion: """
        look whether it is the right model; when they are to go, copy the store first (syncctl store backup \(file.shellWord) COPY), \
        then add\(lost.map { " --drop " + $0.name }.joined())
        """)
  }

  /// Brings a store with the model that it has to the layout that is asked for. False when it has that already.
  @discardableResult
  private func changeLayout(reporting: Bool) throws -> Bool {
    guard let toMany else { return false }
    let store = try StoreAccess.open(url)
    let (model, configuration) = (store.model, store.configurationName)
    let isOther = store.schema.differs(from: toMany)
    store.close()
    if isOther {
      try PersistentStore.migrate(
        at: url, to: model, configuration: configuration, toManyLayout: toMany)
    }
    guard isOther || reporting else { return false }
    try output.put(
      Report(store: url.path, isChanged: isOther, checksum: model.versionChecksum, rules: []),
      line: isOther
        ? "\(file) keeps to-many relationships without inverse in \(toMany.rawValue) now"
        : "\(file) has no to-many relationships without inverse but in \(toMany.rawValue)")
    return true
  }
}

extension MigrationDrops.Property {
  /// How messages and `--drop` name it.
  fileprivate var path: String { "\(entity.name).\(name)" }

  /// Whether a word of `--drop` names it: also by an entity that it is inherited from, or by the composite attribute around it.
  fileprivate func isNamed(by word: String) -> Bool {
    var current: EntityDescription? = entity
    while let entity = current {
      let path = "\(entity.name).\(name)"
      if path == word || path.hasPrefix(word + ".") && word.contains(".") { return true }
      current = entity.superentity
    }
    return false
  }
}
