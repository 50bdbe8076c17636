public import Foundation

extension MappingModel {
  /// Reads a compiled mapping model, a `.cdm`.
  ///
  /// - Throws: ``ModelError``, which names the file or the mapping that is wrong.
  public init(contentsOf url: URL) throws(ModelError) {
    self = try MappingModelReader(ModelFile.data(of: url), path: url.path).read()
  }
}

/// Reads a compiled mapping model: a keyed archive of Core Data's mappings.
struct MappingModelReader {
  /// A mapping model is read whole.
  static let bytesMax = 16 << 20

  private typealias Record = KeyedArchive.Record

  private let archive: KeyedArchive
  private let path: String

  init(_ data: Data, path: String) throws(ModelError) {
    self.path = path
    guard data.count <= Self.bytesMax else {
      throw ModelError(
        .tooLarge, element: path,
        "it has \(data.count) bytes, and no more than \(Self.bytesMax) are read",
        suggestion: "Write the mapping in code.")
    }
    do {
      archive = try KeyedArchive(data)
    } catch {
      throw Self.damaged(path, error)
    }
  }

  func read() throws(ModelError) -> MappingModel {
    do {
      let root = try archive.root()
      guard root.className == "NSMappingModel" else {
        throw ModelError(
          .unsupportedFormat, element: path,
          "it holds an object of the class \(root.className), and no mapping model",
          suggestion: "Give a .cdm that Xcode's compiler made.")
      }
      var model = MappingModel()
      model.isOfCoreData = true
      for value in try archive.elements(root, "NSEntityMappings") {
        guard case .record(let record) = value else { continue }
        model.entityMappings.append(try entityMapping(record))
      }
      return model
    } catch let error as ModelError {
      throw error
    } catch let error as KeyedArchive.Damage {
      throw Self.damaged(path, error)
    } catch {
      throw ModelError(
        .malformed, element: path, "\(error)", suggestion: "Write the mapping in code.")
    }
  }

  private func entityMapping(_ record: Record) throws -> EntityMapping {
    let name = try archive.text(record, "NSMappingName") ?? ""
    let number = try archive.integer(record, "NSMappingType") ?? 0
    guard let type = EntityMappingType(rawValue: number) else {
      throw ModelError(
        .unknownType, element: name, "the mapping type \(number) is unknown",
        suggestion: "Write the mapping in code.")
    }
    var mapping = EntityMapping(
      name: name, type: type, from: try archive.text(record, "NSSourceEntityName"),
      to: try archive.text(record, "NSDestinationEntityName"))
    mapping.sourceEntityVersionHash = try data(record, "NSSourceEntityVersionHash")
    mapping.destinationEntityVersionHash = try data(record, "NSDestinationEntityVersionHash")
    mapping.entityMigrationPolicyClassName = try archive.text(
      record, "NSEntityMigrationPolicyClassName")
    mapping.userInfo = try userInfo(record)
    if let expression = try archive.record(record, "NSSourceExpression") {
      mapping.sourceExpression = try reader(name).expression(expression)
    }
    mapping.attributeMappings = try properties(record, "NSAttributeMappings", of: name)
    mapping.relationshipMappings = try properties(record, "NSRelationshipMappings", of: name)
    return mapping
  }

  private func properties(
    _ record: Record, _ key: String, of mapping: String
  ) throws -> [PropertyMapping] {
    try archive.elements(record, key).compactMap { value in
      guard case .record(let property) = value else { return nil }
      let name = try archive.text(property, "NSDestinationPropertyName") ?? ""
      let expression = try archive.record(property, "NSValueExpression")
      return PropertyMapping(
        name: name,
        valueExpression: try expression.map { try reader("\(mapping).\(name)").expression($0) },
        userInfo: try userInfo(property))
    }
  }

  private func reader(_ element: String) -> CompiledPredicateReader {
    CompiledPredicateReader(archive: archive, element: element)
  }

  private func data(_ record: Record, _ key: String) throws -> Data? {
    let value = try archive.value(of: record, key)
    guard case .data(let data)? = try CompiledValueReader(archive: archive).constant(value) else {
      return nil
    }
    return data
  }

  private func userInfo(_ record: Record) throws -> [String: String] {
    var info: [String: String] = [:]
    for (key, value) in try archive.entries(record, "NSUserInfo") {
      info[key] = try archive.text(value)
    }
    return info
  }

  private static func damaged(_ path: String, _ damage: KeyedArchive.Damage) -> ModelError {
    ModelError(
      .malformed, element: path, damage.reason,
      suggestion: "Give a .cdm that Xcode's compiler made, or write the mapping in code.")
  }
}
