import Driftless
import DriftlessSQLite
import Foundation
import TestSupport

/// A damaged store that is migrated to a newer model, or refused: then it has what it had before.
enum MigrationTrial {
  /// The model of the sample, with other properties, names and rules.
  static func models() throws -> [ManagedObjectModel] {
    // One that an added column makes, and one that has the file written anew.
    let within = try Samples.model(isFrozen: false)
    let added = AttributeDescription("rank", .integer32)
    added.defaultValue = .integer(3)
    within.entitiesByName["Tag"]?.properties.append(added)
    let anew = try Samples.model(isFrozen: false)
    if let book = anew.entitiesByName["Book"], let tag = anew.entitiesByName["Tag"] {
      book.properties.removeAll { $0.name == "weight" }
      book.properties.first { $0.name == "pages" }?.isOptional = false
      (book.properties.first { $0.name == "pages" } as? AttributeDescription)?.defaultValue =
        .integer(0)
      tag.uniquenessConstraints = [["name"]]
      let label = tag.properties.first { $0.name == "name" }
      label?.renamingIdentifier = "name"
      label?.name = "label"
      tag.uniquenessConstraints = [["label"]]
    }
    for model in [within, anew] { try model.freeze() }
    return [within, anew]
  }

  /// Migrates a file to the model, and says what is wrong with what is left where that was refused.
  static func run(_ file: URL, to model: ManagedObjectModel) throws -> String? {
    let before = content(of: file)
    do {
      try PersistentStore.migrate(at: file, to: model)
    } catch {
      let after = content(of: file)
      guard let before, before != after else { throw error }
      let changed = Set(after ?? []).symmetricDifference(before).sorted().first ?? ""
      return "the file is another one after a migration that was refused: \(error): \(changed)"
    }
    let store = try PersistentStore.open(
      url: file, model: model, options: StoreOptions(durability: .normal))
    defer { store.close() }
    _ = try store.check()
    return nil
  }

  /// All rows of the tables that Core Data has as well; nil for a file that nobody can read.
  ///
  /// What Driftless notes of itself is noted when a file is opened, whatever becomes of it then.
  private static func content(of file: URL) -> [String]? {
    guard let connection = try? SQLiteConnection(path: file.path, mode: .readOnly) else {
      return nil
    }
    defer { connection.close() }
    guard
      let names = try? connection.rows(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB '[ZA]*' ORDER BY name")
    else { return nil }
    var rows: [String] = []
    for case .text(let name) in names.map({ $0[0] })
    where !name.hasPrefix("ZDL_") && !name.hasPrefix("Z_M") {
      guard let found = try? connection.rows("SELECT * FROM \"\(name)\" LIMIT 1000") else {
        rows.append("\(name) cannot be read")
        continue
      }
      rows += found.map { "\(name) \($0)" }.sorted()
    }
    return rows
  }
}
