import ArgumentParser
import Driftless
import DriftlessSync
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
      try requireSameRules(found.model, url)
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

  /// A store that carries its model keeps the rules by which it merges: only `migrate` gives it others.
  private func requireSameRules(_ given: ManagedObjectModel, _ url: URL) throws {
    guard let changes = try Self.ruleChanges(to: given, in: url).first else { return }
    throw Failure(
      .badData, code: "other-rules",
      "\(url.path) carries its model, and \(model ?? "the one that is given") merges otherwise: \(changes). Nothing was changed.",
      suggestion:
        "leave --model out; to have the store merge by the other rules: syncctl migrate \(url.path.shellWord) --model \((model ?? "MODEL").shellWord)"
    )
  }

  /// What a store would merge otherwise with another model of its version; none where it carries no model.
  static func ruleChanges(to given: ManagedObjectModel, in url: URL) throws -> [String] {
    guard let store = try? StoreAccess.inspect(url) else { return [] }
    defer { store.close() }
    try given.freeze()
    return MergeRules(given).changes(since: MergeRules(store.model))
  }
}
