import Driftless
import Foundation

/// The types of stores that there are.
enum StoreTypes {
  private static let own = [NSSQLiteStoreType, NSInMemoryStoreType]

  /// - Throws: 134000 for a type that there is not, and 134060 for an option that such a store cannot have.
  static func check(_ type: String, _ options: [AnyHashable: Any]? = nil) throws {
    _ = try options.map { try StoreOptions().with($0) }
    guard !own.contains(type) else { return }
    let all = (own + StoreClasses.all.keys.sorted()).joined(separator: ", ")
    throw CocoaError(
      .persistentStoreInvalidType,
      userInfo: [
        NSLocalizedDescriptionKey: "There are no stores of type \(type), but of these: \(all).",
        NSLocalizedRecoverySuggestionErrorKey:
          "Use one of them, or register a class for the type: registerStoreClass(_:forStoreType:).",
      ])
  }
}

extension StoreOptions {
  /// These with what is given by Core Data's keys.
  /// - Throws: 134060 for what a store cannot have.
  func with(_ given: [AnyHashable: Any]) throws -> StoreOptions {
    var options = self
    var known: [String: any Sendable] = [:]
    for (key, value) in given {
      guard let key = key.base as? String, !isWithoutEffect(key, value) else { continue }
      if let manager = value as? NSStagedMigrationManager {
        options.stagedMigration = manager.known
      } else {
        known[key] = optionValue(value)
      }
    }
    try options.apply(known)
    return options
  }
}

extension PersistentStoreDescription {
  static func made(
    _ type: String, _ configuration: String?, _ url: URL?, _ options: [AnyHashable: Any]?
  ) -> PersistentStoreDescription {
    let description = PersistentStoreDescription()
    description.type = type
    description.url = url
    description.configuration = configuration
    // By this way a store is not migrated unless an option says so.
    description.shouldMigrateStoreAutomatically = false
    for (key, value) in options ?? [:] {
      guard let key = key.base as? String, !isWithoutEffect(key, value) else { continue }
      if let manager = value as? NSStagedMigrationManager {
        description.storeOptions.stagedMigration = manager.known
      } else {
        description.setKnownOption(optionValue(value), forKey: key)
      }
    }
    return description
  }
}
