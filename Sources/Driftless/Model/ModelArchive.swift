package import Foundation

/// The form in which a model travels inside a store: JSON with sorted keys, absent where a value is
/// the default. It holds every model exactly; equal models give equal bytes.
///
/// ```json
/// {"entities":[{"name":"Book","properties":[{"kind":"attribute","name":"title","type":700}]}],
///  "format":1}
/// ```
///
/// `format` is 1. A reader refuses a greater one, and passes over keys that it does not know: what
/// changes the meaning of a model therefore needs a new number. Entities and properties are sorted
/// by name; types, delete rules and collations are Core Data's raw values.
package enum ModelArchive {
  static let format = 1

  /// - Throws: ``ModelError`` for a default value that is a reference.
  package static func encode(_ model: ManagedObjectModel) throws(ModelError) -> Data {
    try json(archive(of: model))
  }

  private static func archive(of model: ManagedObjectModel) throws(ModelError) -> ArchivedModel {
    var archive = ArchivedModel(format: format)
    archive.entities = []
    for entity in model.entities.sorted(by: { $0.name < $1.name }) {
      archive.entities.append(try ArchivedEntity(entity))
    }
    archive.configurations = ArchivedModel.present(
      Dictionary(
        uniqueKeysWithValues: model.configurations.map {
          ($0, model.entityNames(ofConfiguration: $0))
        }))
    archive.templates = ArchivedModel.present(
      model.fetchRequestTemplatesByName.mapValues(ArchivedTemplate.init))
    archive.versionIdentifiers = ArchivedModel.present(model.versionIdentifiers.sorted())
    archive.localization = ArchivedModel.present(model.localizationDictionary)
    archive.fileAttributes = ArchivedModel.present(model.fileAttributes)
    archive.cloud = ArchivedModel.present(model.cloudConfigurations.sorted())
    archive.hashes = ArchivedModel.present(
      model.recordedHashes.mapValues { [$0.own, $0.recorded] })
    return archive
  }

  /// Reads a model and freezes it.
  ///
  /// - Throws: ``ModelError`` when the bytes are no model, or one that is wrong.
  package static func decode(_ data: Data) throws(ModelError) -> ManagedObjectModel {
    let model = try model(from: data)
    try model.freeze()
    return model
  }

  /// Reads a model that can still be changed.
  static func model(from data: Data) throws(ModelError) -> ManagedObjectModel {
    let archive: ArchivedModel
    do {
      let format = try JSONDecoder().decode(ArchivedFormat.self, from: data).format
      guard format == Self.format else {
        throw ModelError(
          .unsupportedFormat, element: "the archived model",
          "its format is \(format), and this version reads \(Self.format)",
          suggestion: "Open the store with the version of Driftless that wrote it, or a newer one.")
      }
      archive = try JSONDecoder().decode(ArchivedModel.self, from: data)
    } catch let error as ModelError {
      throw error
    } catch {
      throw ModelError(
        .malformed, element: "the archived model", "\(error)",
        suggestion: "Open the store with a model file.")
    }
    let model = ManagedObjectModel()
    var entities: [EntityDescription] = []
    for entity in archive.entities { entities.append(try entity.description()) }
    model.entities = entities
    for (name, members) in archive.configurations ?? [:] {
      model.set(configuration: name, entityNames: members)
    }
    model.fetchRequestTemplatesByName = archive.templates?.mapValues { $0.template } ?? [:]
    model.versionIdentifiers = Set(archive.versionIdentifiers ?? [])
    model.localizationDictionary = archive.localization ?? [:]
    model.fileAttributes = archive.fileAttributes ?? [:]
    model.cloudConfigurations = Set(archive.cloud ?? [])
    model.recordedHashes = (archive.hashes ?? [:]).compactMapValues { pair in
      pair.count == 2 ? RecordedHash(own: pair[0], recorded: pair[1]) : nil
    }
    model.linkNames()
    return model
  }

  /// What a model says, whatever file it came from: two that say the same give equal bytes.
  static func meaning(of model: ManagedObjectModel) throws(ModelError) -> Data {
    var archive = try archive(of: model)
    archive.fileAttributes = nil
    archive.hashes = nil
    archive.configurations = archive.configurations?.mapValues { $0.sorted() }
    archive.entities = archive.entities.map(\.withoutFileAttributes)
    return try json(archive)
  }

  /// What an entity says, whatever file it came from.
  static func meaning(of entity: EntityDescription) throws(ModelError) -> Data {
    try json(ArchivedEntity(entity).withoutFileAttributes)
  }

  private static func json(_ value: some Encodable) throws(ModelError) -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return try encoder.encode(value)
    } catch {
      throw ModelError(
        .invalidValue, element: "the model", "it cannot be archived: \(error)",
        suggestion: "Take the value that the message names out of the model.")
    }
  }
}
