import ArgumentParser
import Driftless
import Foundation
import SyncDaemon

struct MigrateCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate", abstract: "Bring a store to another version of its model.",
    discussion: """
      Does what follows from the two models by itself; objects keep their identities, their \
      history and what is pending. What needs a mapping of its own is refused, and the store stays \
      as it was. A file that Core Data wrote and that carries no model is first taken over with \
      the version among those of FILE that it was written with.
      """)

  @Argument(help: "The store's file.", completion: .file())
  var file: String
  @Option(
    name: .long, help: "The model: of several versions the current one is gone to.",
    completion: .file())
  var model: String
  @OptionGroup var output: OutputOptions

  private struct Report: Encodable {
    var store: String
    var isChanged: Bool
    var checksum: String
  }

  private var url: URL { URL(fileURLWithPath: file).standardizedFileURL.resolvingSymlinksInPath() }

  func perform() throws {
    try StoreAccess.requireFile(at: url)
    let location = URL(fileURLWithPath: model)
    let versions = try ManagedObjectModel.versions(at: location)
    let destination = try ManagedObjectModel(contentsOf: location)
    try destination.freeze()
    let there = try WritingVersion.find(among: versions.filter(\.isCurrent), for: url)
    if let there {
      // A file of Core Data's is taken over: it carries its model from now on.
      try StoreAccess.open(url, model: there.model, configuration: there.configuration).close()
    } else {
      let configuration = try takeOver(versions)
      try PersistentStore.migrate(at: url, to: destination, configuration: configuration)
    }
    let name = location.lastPathComponent
    try output.put(
      Report(store: url.path, isChanged: there == nil, checksum: destination.versionChecksum),
      line: there == nil
        ? "migrated \(file) to \(name)" : "\(file) has this version of \(name) already")
  }

  /// Gives a file that carries no model the one that it was written with. Returns the configuration that it has.
  private func takeOver(_ versions: [ModelVersion]) throws -> String? {
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
    return store.configurationName
  }
}
