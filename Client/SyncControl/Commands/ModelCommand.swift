import ArgumentParser
import Driftless
import Foundation
import SyncDaemon

struct ModelCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "model", abstract: "Look at a model, or write Swift classes for it.",
    subcommands: [ModelShowCommand.self, ModelLintCommand.self, ModelGenerateCommand.self])
}

/// Where a model comes from: a file, or a store that carries it.
struct ModelArguments: ParsableArguments {
  @Option(
    name: .long, help: "A model: an .xcdatamodeld, a .momd, or a file of XML.", completion: .file())
  var model: String?
  @Option(name: .long, help: "A store, whose own model is meant.", completion: .file())
  var store: String?

  func validate() throws {
    guard (model == nil) != (store == nil) else {
      throw ValidationError("Give either --model or --store.")
    }
  }

  /// The model, frozen.
  func read() throws -> ManagedObjectModel {
    if let model {
      let read = try ManagedObjectModel(contentsOf: URL(fileURLWithPath: model))
      try read.freeze()
      return read
    }
    return try StoreAccess.open(URL(fileURLWithPath: store ?? ""), reading: true).model
  }
}
