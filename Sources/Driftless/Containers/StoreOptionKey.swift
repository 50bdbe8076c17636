import Foundation
import Logging

/// Core Data's keys of options, and what they are here.
package enum StoreOptionKey {
  static let pragmas = "NSSQLitePragmasOption"
  static let vacuum = "NSSQLiteManualVacuumOption"
  static let toManyPairs = "DriftlessToManyPairsOption"

  private static let flags: [String: @Sendable (inout StoreOptions, Bool) -> Void] = [
    "NSReadOnlyPersistentStoreOption": { $0.isReadOnly = $1 },
    "NSMigratePersistentStoresAutomaticallyOption": { $0.migratesAutomatically = $1 },
    "NSInferMappingModelAutomaticallyOption": { $0.infersMappingModel = $1 },
    "NSPersistentStoreDeferredLightweightMigrationOptionKey": { $0.defersMigrationCleanup = $1 },
    "NSIgnorePersistentStoreVersioningOption": { $0.ignoresVersioning = $1 },
    "NSPersistentStoreRemoteChangeNotificationOptionKey": { $0.postsRemoteChanges = $1 },
    "NSPersistentStoreRemoteChangeNotificationPostOptionKey": { $0.postsRemoteChanges = $1 },
    toManyPairs: { $0.holdsToManyInColumns = !$1 },
  ]
  /// Without a meaning on Linux, or done anyway.
  private static let without: Set<String> = [
    "NSPersistentStoreFileProtectionKey", "NSSQLiteAnalyzeOption",
    "NSPersistentStoreForceDestroyOption", "NSBinaryStoreSecureDecodingClasses",
    "NSBinaryStoreInsecureDecodingCompatibilityOption", "NSValidateXMLStoreOption",
  ]
  /// Those with values of their own.
  private static let others: Set<String> = [
    "NSPersistentHistoryTrackingKey", "NSPersistentStoreTimeoutOption",
    "NSPersistentStoreConnectionPoolMaxSize", "NSPersistentStoreConnectionPoolMaxSizeKey", vacuum,
    pragmas, "NSPersistentStoreStagedMigrationManagerOptionKey",
  ]

  /// Whether a key is none of a store's, so that code for Core Data, which passes such keys over, goes on; the log says so. One
  /// of this library's own that is not spelt right is no such key: it is refused.
  package static func isPassedOver(_ key: String) -> Bool {
    guard flags[key] == nil, !others.contains(key), !without.contains(key),
      !key.hasPrefix("Driftless")
    else { return false }
    Logger(label: "driftless.store").warning(
      "The option \(key) of a store is unknown here, and without effect")
    return true
  }

  static func apply(_ value: any Sendable, forKey key: String, to options: inout StoreOptions)
    throws
  {
    if let flag = flags[key] {
      guard let isOn = bool(value) else { throw refusal(key, "\(value) is neither yes nor no") }
      return flag(&options, isOn)
    }
    switch key {
    case "NSPersistentHistoryTrackingKey":
      guard bool(value) == true else { throw refusal(key, "the history is always kept") }
    case "NSPersistentStoreTimeoutOption":
      guard let seconds = number(value), seconds >= 0 else {
        throw refusal(key, "\(value) is no number of seconds")
      }
      options.busyTimeoutMilliseconds = Int32(min(seconds * 1000, 0x7fff_ffff))
    case "NSPersistentStoreConnectionPoolMaxSize", "NSPersistentStoreConnectionPoolMaxSizeKey":
      guard let count = number(value), 1...1_000_000 ~= count else {
        throw refusal(key, "\(value) is no number of connections")
      }
      options.readersMax = Int(count)
    case vacuum:
      guard bool(value) != nil else { throw refusal(key, "\(value) is neither yes nor no") }
    case pragmas:
      for (name, value) in value as? [String: any Sendable] ?? [:] {
        try apply(pragma: name, text(value), to: &options)
      }
    default:
      guard without.contains(key) else { throw refusal(key, "it is unknown here") }
    }
  }

  private static func apply(
    pragma name: String, _ value: String, to options: inout StoreOptions
  ) throws {
    switch (name.lowercased(), value.uppercased()) {
    case ("synchronous", "FULL"), ("synchronous", "EXTRA"), ("synchronous", "2"),
      ("synchronous", "3"):
      options.durability = .full
    case ("synchronous", "NORMAL"), ("synchronous", "1"): options.durability = .normal
    case ("journal_mode", "WAL"): options.hasRollbackJournalWhenClosed = false
    // A file that is open has a log, by which several processes share it. What is asked for is one file that anybody opens, which it
    // is once it is closed: of these modes it keeps no more than that it has no log.
    case ("journal_mode", "DELETE"), ("journal_mode", "TRUNCATE"), ("journal_mode", "PERSIST"):
      options.hasRollbackJournalWhenClosed = true
    default:
      throw StoreError(
        .invalidArgument, "A store does not take the pragma \(name) = \(value).",
        suggestion:
          "Set synchronous to FULL or NORMAL, and journal_mode to WAL or DELETE; the rest is the store's own affair."
      )
    }
  }

  /// A number as SQLite has it, in whatever type it was given.
  private static func text(_ value: any Sendable) -> String {
    (value as? Double).flatMap(Int64.init(exactly:)).map { "\($0)" } ?? "\(value)"
  }

  static func isOn(_ value: any Sendable) -> Bool { bool(value) ?? false }

  private static func bool(_ value: any Sendable) -> Bool? {
    (value as? Bool) ?? (value as? NSNumber)?.boolValue
      ?? (value as? String).flatMap { ["YES": true, "NO": false][$0.uppercased()] }
  }

  private static func number(_ value: any Sendable) -> Double? {
    (value as? Double) ?? (value as? Int).map(Double.init) ?? (value as? NSNumber)?.doubleValue
  }

  private static func refusal(_ key: String, _ reason: String) -> StoreError {
    StoreError(
      .invalidArgument, "The option \(key) cannot be set: \(reason).",
      suggestion: "Leave it out, or set storeOptions of the description.")
  }
}
