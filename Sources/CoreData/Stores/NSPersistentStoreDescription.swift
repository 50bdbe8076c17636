public import Driftless
public import Foundation

extension PersistentStoreDescription {
  /// `NSSQLiteStoreType`, unless set, or `NSInMemoryStoreType`. Another type makes loading the store fail.
  public var type: String {
    get { knownType.rawValue }
    set { knownType = StoreType(rawValue: newValue) }
  }

  /// The options that were set by their keys.
  public var options: [String: NSObject] {
    var options = knownOptions.compactMapValues(foundationObject)
    options[NSPersistentStoreStagedMigrationManagerOptionKey] =
      storeOptions.stagedMigration?.counterpart as? NSStagedMigrationManager
    return options
  }

  /// Sets an option by its key; nil sets it back. A key or a value that a store cannot have makes loading fail.
  public func setOption(_ option: NSObject?, forKey key: String) {
    if key == NSPersistentStoreStagedMigrationManagerOptionKey {
      storeOptions.stagedMigration = (option as? NSStagedMigrationManager)?.known
      return
    }
    if let option, isWithoutEffect(key, option) { return }
    setKnownOption(option.flatMap(optionValue), forKey: key)
  }

  /// Sets a pragma of SQLite's: `synchronous` is the one that a store leaves to its user.
  public func setValue(_ value: NSObject?, forPragmaNamed name: String) {
    setKnownValue(value.flatMap(optionValue), forPragmaNamed: name)
  }

  /// The pragmas that were set by name.
  public var sqlitePragmas: [String: NSObject] {
    knownPragmas.compactMapValues(foundationObject)
  }
}

private func foundationObject(_ value: any Sendable) -> NSObject? {
  switch foundationValue(value) {
  case let object as NSObject: object
  case let text as String: NSString(string: text)
  case let values as [String: Any]: NSDictionary(dictionary: values)
  default: nil
  }
}

/// An option's value as Swift's.
func optionValue(_ value: Any) -> (any Sendable)? {
  switch value {
  case let number as NSNumber:
    number.objCType.pointee == 99 || number.objCType.pointee == 66
      ? number.boolValue : number.doubleValue
  case let text as String: text
  case let values as [String: Any]: values.compactMapValues(optionValue)
  default: "\(value)"
  }
}
