package import Driftless
import DriftlessSQLite
import Foundation
import Logging

/// By which rules a model merges. They are no part of a model's version: two programs may have one version and other rules, and
/// come to other values then.
package struct MergeRules: Codable, Hashable, Sendable {
  static let setting = "sync.rules"

  /// The rule of each `Entity.property`, and of an entity's deletes.
  private var names: [String: String] = [:]

  /// - Parameter model: a frozen one.
  package init(_ model: ManagedObjectModel) {
    for entity in model.entities where !entity.isAbstract {
      names[entity.name] = entity.deletePolicy.rawValue
      for (name, property) in entity.propertiesByName where !property.isTransient {
        var rule = entity.effectiveConflictPolicy(for: property).text
        if (property as? RelationshipDescription)?.isTree == true { rule += ", a tree" }
        if (property as? AttributeDescription)?.isEncrypted == true { rule += ", encrypted" }
        names["\(entity.name).\(name)"] = rule
      }
    }
  }

  /// What merges otherwise than it did, sorted: `Item.stock: max, was counter`. What one of the two models does not have is
  /// left out.
  package func changes(since former: MergeRules) -> [String] {
    names.compactMap { name, rule in
      guard let before = former.names[name], before != rule else { return nil }
      return "\(name): \(rule), was \(before)"
    }
    .sorted()
  }

  static func load(_ transaction: ReadTransaction) throws -> MergeRules? {
    guard case .text(let text)? = try transaction.setting(setting) else { return nil }
    return DecodedNote.value(of: text, transaction.schema)
  }

  static func decode(_ text: String) -> MergeRules? {
    try? JSONDecoder().decode(Self.self, from: Data(text.utf8))
  }

  func save(_ transaction: WriteTransaction) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let text = String(decoding: try encoder.encode(self), as: UTF8.self)
    try transaction.setSetting(Self.setting, .text(text))
  }
}

extension SyncEngine {
  /// Notes by which rules the program merges, and tells where it did so by others before.
  func noteRules() throws {
    let rules = store.schema.derived { MergeRules(store.model) }
    let former = try store.read { try MergeRules.load($0) }
    guard former != rules else { return }
    try bookkeep { try rules.save($0) }
    for change in former.map({ rules.changes(since: $0) }) ?? [] {
      log.warning(
        "The model of this program merges otherwise than that of the one before: \(change). Programs of one zone that differ in that come to other values."
      )
    }
  }
}
