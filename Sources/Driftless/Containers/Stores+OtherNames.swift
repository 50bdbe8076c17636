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

extension StoreOptions {
  /// Takes over options by Core Data's keys.
  ///
  /// - Throws: `StoreError` with code `invalidArgument` for what a store cannot have.
  package mutating func apply(_ given: [String: any Sendable]) throws {
    for (key, value) in given.sorted(by: { $0.key < $1.key }) {
      try StoreOptionKey.apply(value, forKey: key, to: &self)
    }
  }
}

extension PersistentStore {
  /// ``options``.
  package var knownOptions: StoreOptions { options }

  /// ``configurationName``.
  package var knownConfigurationName: String? { configurationName }

  /// ``metadata``.
  package var knownMetadata: StoreMetadata { metadata }

  /// Sets all that the store says of itself beside its own, in one write.
  package func setKnownMetadata(_ metadata: [String: Any]) throws { try setMetadata(metadata) }
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
