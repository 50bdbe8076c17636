package import Foundation

/// For the module that gives the library under Core Data's names: there these give nil in place of an error.
extension ManagedObjectModel {
  /// ``init(contentsOf:)``.
  package convenience init(reading url: URL) throws(ModelError) { try self.init(contentsOf: url) }

  /// ``init(byMerging:)``.
  package convenience init(merging models: [ManagedObjectModel]) throws(ModelError) {
    try self.init(byMerging: models)
  }

  /// ``mergedModel(from:)``.
  package static func merged(from bundles: [Bundle]?) throws(ModelError) -> ManagedObjectModel? {
    try mergedModel(from: bundles)
  }

  /// ``versionIdentifiers``.
  package var knownVersionIdentifiers: Set<String> {
    get { versionIdentifiers }
    set { versionIdentifiers = newValue }
  }

  /// ``localizationDictionary``.
  package var knownLocalization: [String: String] {
    get { localizationDictionary }
    set { localizationDictionary = newValue }
  }

  /// ``fetchRequestTemplatesByName``.
  package var knownTemplates: [String: FetchRequestTemplate] { fetchRequestTemplatesByName }
}
