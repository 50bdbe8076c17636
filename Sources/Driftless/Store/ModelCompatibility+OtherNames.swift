package import Foundation

/// For the module that gives the library under Core Data's names: there this gives nil in place of an error.
extension ManagedObjectModel {
  /// ``init(byMerging:forStoreMetadata:)``.
  package convenience init?(
    merging models: [ManagedObjectModel], forStoreMetadata metadata: [String: Any]
  ) throws(ModelError) {
    try self.init(byMerging: models, forStoreMetadata: metadata)
  }

  /// ``mergedModel(from:forStoreMetadata:)``.
  package static func merged(
    from bundles: [Bundle]?, forStoreMetadata metadata: [String: Any]
  ) throws(ModelError) -> ManagedObjectModel? {
    try mergedModel(from: bundles, forStoreMetadata: metadata)
  }
}
