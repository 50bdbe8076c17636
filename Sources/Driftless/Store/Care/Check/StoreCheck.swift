import DriftlessSQLite

/// What a look at all of a store's file found.
public struct StoreCheck: Sendable {
  /// Something that is not as it should be: one rule of one table, and the rows that break it.
  public struct Finding: Hashable, Sendable, Codable {
    /// How bad a finding is.
    public enum Weight: String, Sendable, Codable {
      /// Data is lost or cannot be trusted.
      case damage
      /// Two parts of the file say different things; each can be read.
      case disagreement
    }

    /// How bad it is.
    public let weight: Weight
    /// The table that it is in; empty for the file as a whole.
    public let table: String
    /// What is wrong, and where, as a sentence.
    public let message: String
    /// What a person can do about it.
    public let suggestion: String
    /// How many rows it is about.
    public let count: Int
  }

  /// What was found, in the order in which the file was read.
  public internal(set) var findings: [Finding] = []
  /// How many objects were looked at.
  public internal(set) var objectCount = 0

  /// Whether nothing was found.
  public var isSound: Bool { findings.isEmpty }
}

extension PersistentStore {
  /// Looks at the whole file: SQLite's own check, then every rule of every table that the library keeps. It reads
  /// everything, and changes nothing. What an engine keeps in the file, `SyncEngine.check(_:)` looks at as well.
  ///
  /// - Throws: `StoreError` when the file cannot be read at all.
  public func check() throws -> StoreCheck { try check(with: []) }

  /// As ``check()``, with those who keep tables of their own in the file.
  package func check(with others: [any TableCheck]) throws -> StoreCheck {
    try read { transaction in
      try transaction.connection.withCache(kibibytes: StoreTuning.walkCacheKibibytes) {
        let inspection = try StoreInspection(transaction, file: file)
        return try inspection.run(Self.tableChecks + others)
      }
    }
  }

  /// Who looks after which of the library's tables, in the order in which they look.
  private static let tableChecks: [any TableCheck] = [
    DefinitionCheck(), MetadataCheck(), KeyCheck(), SettingCheck(), EntityTableCheck(),
    ReferenceCheck(), JoinTableCheck(), HeldColumnsCheck(), DerivedValueCheck(), HistoryCheck(),
    HistoryNotesCheck(), IdentityCheck(), KeptValueCheck(), DeltaCheck(),
  ]
}
