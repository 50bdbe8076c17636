import ArgumentParser
import Driftless
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

      Objects of an entity that the model no longer has are deleted, with what is pending of them: \
      they have to be named with --drop.

      --to-many says how to-many relationships without inverse are kept: as pairs, where several \
      objects may hold one, or in columns, as Core Data has them. A store that is to be enrolled for \
      sync needs pairs.
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
    help: "An entity whose objects are deleted, since the model has it no more; repeatable.")
  var dropped: [String] = []
  @OptionGroup var output: OutputOptions

  private static func layout(_ text: String) throws -> ToManyLayout {
    if let layout = ToManyLayout(rawValue: text) { return layout }
    throw ValidationError("\(text) is no layout: give pairs or columns.")
  }

  private struct Report: Encodable {
    var store: String
    var isChanged: Bool
    var checksum: String
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
    let there = try WritingVersion.find(among: versions.filter(\.isCurrent), for: url)
    if let there {
      // A file of Core Data's is taken over: it carries its model from now on.
      try StoreAccess.open(url, model: there.model, configuration: there.configuration).close()
    } else {
      let configuration = try takeOver(versions, destination)
      try PersistentStore.migrate(
        at: url, to: destination, configuration: configuration, toManyLayout: toMany)
    }
    if there != nil, toMany != nil, try changeLayout(reporting: false) { return }
    let name = location.lastPathComponent
    try output.put(
      Report(store: url.path, isChanged: there == nil, checksum: destination.versionChecksum),
      line: there == nil
        ? "migrated \(file) to \(name)" : "\(file) has this version of \(name) already")
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
        throw StoreError(
          error.code,
          "\(error.message) It was written with none of the versions \(names).\(unreadable)",
          suggestion: "Give the .momd or .xcdatamodeld that has the version it was written with.")
      }
      output.note("written with version \(found.version.name)")
      store = try StoreAccess.open(url, model: found.model, configuration: found.configuration)
    }
    defer { store.close() }
    try checkDropped(store, destination)
    return store.configurationName
  }

  /// Whoever gives another model by mistake loses nothing by it.
  private func checkDropped(
    _ store: PersistentStore, _ destination: ManagedObjectModel
  ) throws {
    // What cannot be inferred is refused where it is done, with the reason.
    guard
      let mapping = try? MappingModel.inferredMappingModel(
        forSourceModel: store.model, destinationModel: destination)
    else { return }
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    var lost: [String] = []
    for mapping in mapping.entityMappings where mapping.mappingType == .remove {
      guard let name = mapping.sourceEntityName, !dropped.contains(name) else { continue }
      var request = FetchRequest<ManagedObject>(entityName: name)
      request.includesSubentities = false
      let count = try context.count(for: request)
      if count > 0 { lost.append("\(name): \(count)") }
    }
    guard !lost.isEmpty else { return }
    let options = lost.map { " --drop " + ($0.split(separator: ":").first ?? "") }.joined()
    throw Failure(
      .failed, code: "would-drop-objects",
      "The model has no entity for objects of \(file) (\(lost.joined(separator: ", "))): they would be deleted.",
      suggestion: """
        look whether it is the right model; when they are to go, copy the store first (syncctl store backup \(file) COPY), \
        then add\(options)
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
      Report(store: url.path, isChanged: isOther, checksum: model.versionChecksum),
      line: isOther
        ? "\(file) keeps to-many relationships without inverse in \(toMany.rawValue) now"
        : "\(file) has no to-many relationships without inverse but in \(toMany.rawValue)")
    return true
  }
}
