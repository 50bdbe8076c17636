import ArgumentParser
import Driftless
import Foundation
import SyncDaemon

/// The option that gives a model to a command on a file that does not carry one.
struct GivenModelArguments: ParsableArguments {
  @Option(
    name: .long, help: "The model, for a file of Core Data's that does not carry it.",
    completion: .file())
  var model: String?

  /// Opens a store for changing it: with the model, where one was given, which the store then carries.
  func open(_ url: URL, _ output: OutputOptions) throws -> PersistentStore {
    try open(url, output) { model, configuration in
      try StoreAccess.open(url, model: model, configuration: configuration)
    }
  }

  /// Gives the store the model, where one was given: those who open it next find it inside.
  func adopt(_ url: URL, _ output: OutputOptions) throws {
    if model != nil { try open(url, output).close() }
  }

  /// Opens a file with the model that was named: of several versions the one that it was written with, which is said; else
  /// the current one.
  func open(
    _ url: URL, _ output: OutputOptions,
    by open: (ManagedObjectModel?, String?) throws -> PersistentStore
  ) throws -> PersistentStore {
    guard let model else { return try open(nil, nil) }
    try StoreAccess.requireFile(at: url)
    let location = URL(fileURLWithPath: model)
    let versions = try ManagedObjectModel.versions(at: location)
    if let found = try WritingVersion.find(among: versions, for: url) {
      if versions.count > 1 {
        output.note("model version \(found.version.name) of \(location.lastPathComponent)")
      }
      output.note(wordsOf: found.model, model)
      return try open(found.model, found.configuration)
    }
    do {
      let read = try ManagedObjectModel(contentsOf: location)
      output.note(wordsOf: read, model)
      return try open(read, nil)
    } catch let error as StoreError where error.code == .incompatibleModel && versions.count > 1 {
      let names = versions.map(\.name).joined(separator: ", ")
      let unreadable = WritingVersion.unreadable(among: versions).map { " \($0)" }.joined()
      let told = try WritingVersion.differences(among: versions, for: url).map { " \($0)" }.joined()
      throw StoreError(
        error.code, "\(error.message) None of the versions \(names) fits.\(told)\(unreadable)",
        suggestion: error.suggestion)
    }
  }
}
