import ArgumentParser
import Driftless
import Foundation
import Glibc
import SyncDaemon

struct InitCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "init", abstract: "Create a store from a model.",
    discussion: "Example: syncctl init --store shop.sqlite --model Shop.xcdatamodeld")

  @OptionGroup var target: StoreArguments
  @Option(
    name: .long, help: "A model: an .xcdatamodeld, a .momd, or a file of XML.", completion: .file())
  var model: String
  @OptionGroup var output: OutputOptions

  func perform() throws {
    // One that was begun and not finished, for want of space say, is begun again.
    guard
      !FileManager.default.fileExists(atPath: target.url.path)
        || PersistentStore.isUnfinished(at: target.url)
    else {
      throw PlaceTaken.failure(at: target)
    }
    let read = try ManagedObjectModel(contentsOf: URL(fileURLWithPath: model))
    output.note(wordsOf: read, model)
    let store = try create(read)
    let entities = store.model.entities.count
    try output.put(
      Created(
        store: target.url.path, identifier: store.identifier.lowercased(), entities: entities),
      line: "created \(target.store), \(entities) entit\(entities == 1 ? "y" : "ies")")
  }

  /// Creates the store, or leaves nothing where nothing was.
  private func create(_ model: ManagedObjectModel) throws -> PersistentStore {
    let path = PersistentStore.resolvedURL(target.url).path
    try StoreAccess.requireName(path)
    let paths = [path] + StoreSideFile.suffixes.map { path + $0 }
    let absent = paths.filter { access($0, F_OK) != 0 }
    do {
      return try PersistentStore.open(url: target.url, model: model)
    } catch {
      // Where the file was there before, or is locked, another process is at it.
      if absent.contains(path), (error as? StoreError)?.code != .busy,
        !FileManager.default.fileExists(atPath: path)
          || PersistentStore.isUnfinished(at: target.url)
      {
        for path in absent { unlink(path) }
      }
      throw error
    }
  }

  private struct Created: Encodable {
    var store: String
    var identifier: String
    var entities: Int
  }
}
