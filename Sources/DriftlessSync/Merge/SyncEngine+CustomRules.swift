public import Driftless
import DriftlessSQLite

/// Rules of an application: properties whose policy is `custom:NAME`.
extension SyncEngine {
  static let withoutRulesSetting = "sync.withoutRules"

  /// The properties of a store whose conflicts a rule of an application settles, as `Entity.property`, by name; each with the
  /// name of its rule. What has no rule of that name in ``SyncOptions/customPolicies`` settles them by the later edit.
  ///
  /// ```swift
  /// let unknown = SyncEngine.customRules(of: store).filter { options.customPolicies[$0.rule] == nil }
  /// ```
  public static func customRules(
    of store: PersistentStore
  ) -> [(property: String, rule: String)] {
    SyncSchema(store.schema).entities.flatMap { entity in
      entity.properties.compactMap { property in
        guard case .custom(let rule) = property.policy,
          PlaceName.property(ofPlace: property.name) == nil
        else { return nil }
        return ("\(entity.name).\(property.name)", rule)
      }
    }
  }

  /// Says whether programs that do not know the rules of the store's application may sync it all the same: conflicts that
  /// they meet are settled by the later edit then.
  ///
  /// - Throws: `StoreError`.
  public static func setSyncsWithoutRules(_ allowed: Bool, of store: PersistentStore) throws {
    let info = TransactionInfo(author: importAuthor, kind: .imported)
    _ = try store.write(info) {
      try $0.setSetting(withoutRulesSetting, allowed ? .integer(1) : nil)
    }
  }

  /// Whether programs that do not know the rules of the store's application may sync it.
  ///
  /// - Throws: `StoreError`.
  public static func syncsWithoutRules(_ store: PersistentStore) throws -> Bool {
    try store.read { try $0.setting(withoutRulesSetting) != nil }
  }
}
