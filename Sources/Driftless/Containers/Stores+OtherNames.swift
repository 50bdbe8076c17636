package import Foundation

// For the module that gives the library under Core Data's names, whose members of other types hide those of the same name.

extension PersistentStoreDescription {
  /// ``type``.
  package var knownType: StoreType {
    get { type }
    set { type = newValue }
  }

  /// ``options``.
  package var knownOptions: [String: any Sendable] { options }

  /// ``setOption(_:forKey:)``.
  package func setKnownOption(_ option: (any Sendable)?, forKey key: String) {
    setOption(option, forKey: key)
  }

  /// ``setValue(_:forPragmaNamed:)``.
  package func setKnownValue(_ value: (any Sendable)?, forPragmaNamed name: String) {
    setValue(value, forPragmaNamed: name)
  }

  /// ``sqlitePragmas``.
  package var knownPragmas: [String: any Sendable] { sqlitePragmas }
}

extension PersistentStore {
  /// ``options``.
  package var knownOptions: StoreOptions { options }

  /// ``configurationName``.
  package var knownConfigurationName: String? { configurationName }

  /// ``metadata``.
  package var knownMetadata: StoreMetadata { metadata }
}

extension PersistentStoreCoordinator {
  /// ``metadata(for:)``.
  package func knownMetadata(for store: PersistentStore) -> [String: Any] { metadata(for: store) }

  /// ``setURL(_:for:)``.
  package func setKnownURL(_ url: URL, for store: PersistentStore) throws {
    try setURL(url, for: store)
  }

  /// ``setMetadata(_:for:)``.
  package func setKnownMetadata(_ metadata: [String: Any], for store: PersistentStore) throws {
    try setMetadata(metadata, for: store)
  }
}
