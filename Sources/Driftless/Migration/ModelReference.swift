public import Foundation

/// A version of a model, by itself or by where it is found, with the checksum that it must have.
public struct ModelReference: Sendable {
  private enum Place: Sendable {
    case model(ManagedObjectModel)
    case file(URL)
    case named(String, URL)
    case hashes([String: Data], URL)
  }

  /// Base64 of the model's hash: ``ManagedObjectModel/versionChecksum``.
  public let versionChecksum: String
  private let place: Place

  /// A model that is at hand. It is frozen.
  ///
  /// - Throws: ``ModelError`` with all that is wrong in the model.
  public init(model: ManagedObjectModel, versionChecksum: String? = nil) throws(ModelError) {
    try model.freeze()
    place = .model(model)
    self.versionChecksum = versionChecksum ?? model.versionChecksum
  }

  /// A model file, such as one version of a `.momd`.
  public init(fileURL: URL, versionChecksum: String) {
    place = .file(fileURL)
    self.versionChecksum = versionChecksum
  }

  /// The version of that name in an `.xcdatamodeld` or `.momd`.
  public init(named name: String, in bundle: URL, versionChecksum: String) {
    place = .named(name, bundle)
    self.versionChecksum = versionChecksum
  }

  /// The version in an `.xcdatamodeld` or `.momd` whose entities have these hashes.
  public init(entityVersionHashes: [String: Data], in bundle: URL, versionChecksum: String) {
    place = .hashes(entityVersionHashes, bundle)
    self.versionChecksum = versionChecksum
  }

  /// The model, frozen.
  ///
  /// - Throws: `StoreError` with code `modelNotFound` when there is none, or it has another checksum; ``ModelError`` when
  ///   a file cannot be read.
  public var resolvedModel: ManagedObjectModel {
    get throws {
      guard let model = try find() else {
        throw StoreError(
          .modelNotFound, "There is no model with the checksum \(versionChecksum) \(location).",
          suggestion: "Keep every model version that a stage names with the program.")
      }
      try model.freeze()
      guard model.versionChecksum == versionChecksum else {
        throw StoreError(
          .modelNotFound,
          "The model \(location) has the checksum \(model.versionChecksum), not \(versionChecksum).",
          suggestion: "Give the model as it was, or correct the checksum.")
      }
      return model
    }
  }

  private func find() throws -> ManagedObjectModel? {
    switch place {
    case .model(let model): return model
    case .file(let url): return try ManagedObjectModel(contentsOf: url)
    case .named(let name, let bundle):
      return try ManagedObjectModel.versions(at: bundle).first { $0.name == name }?.model()
    case .hashes(let hashes, let bundle):
      for version in try ManagedObjectModel.versions(at: bundle) {
        let model = try version.model()
        try model.freeze()
        if model.isConfiguration(withName: nil, compatibleWithVersionHashes: hashes) {
          return model
        }
      }
      return nil
    }
  }

  private var location: String {
    switch place {
    case .model: "of the reference"
    case .file(let url): "at \(url.path)"
    case .named(let name, let bundle): "named \(name) in \(bundle.path)"
    case .hashes(_, let bundle): "of those hashes in \(bundle.path)"
    }
  }
}
