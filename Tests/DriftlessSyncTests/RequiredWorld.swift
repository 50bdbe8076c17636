import Driftless
import DriftlessSync
import DriftlessTesting
import Foundation
import Testing

/// Replicas with models that require things of their objects.
extension World {
  init(_ count: Int, of model: () -> ManagedObjectModel) async throws {
    try await self.init(0)
    for index in 0..<count {
      replicas.append(
        try await TestReplica("r\(index)", zone: zone, clock: clock, model: model()))
    }
  }

  /// Every object has what its model requires, or is named with what it lacks.
  func expectFilled(_ location: SourceLocation = #_sourceLocation) throws {
    for replica in replicas {
      #expect(try replica.lacking == [], "\(replica.name)", sourceLocation: location)
      #expect(try replica.status.parked == 0, "\(replica.name)", sourceLocation: location)
    }
  }

  /// Every replica names the same as lacking, and waits for a person.
  func expectLacking(
    _ lacking: [String], _ location: SourceLocation = #_sourceLocation
  ) throws {
    for replica in replicas {
      #expect(
        try replica.lacking.sorted() == lacking.sorted(), "\(replica.name)",
        sourceLocation: location)
      let named = try SyncEngine.parked(of: replica.store).filter { $0.code == "required-empty" }
        .map { "\($0.object?.uuidString ?? "").\($0.property ?? "")" }
      #expect(named.sorted() == lacking.sorted(), "\(replica.name)", sourceLocation: location)
      #expect(
        try replica.status.parked == lacking.count, "\(replica.name)", sourceLocation: location)
      // An import takes them with this word, and refuses them without.
      let told = try replica.export.components(separatedBy: #""unfit":["#).count - 1
      let objects = Set(lacking.map { $0.prefix { $0 != "." } }).count
      #expect(told >= objects, "\(replica.name)", sourceLocation: location)
    }
  }
}

extension TestReplica {
  /// The required properties that are empty, as `IDENTITY.property`.
  var lacking: [String] {
    get throws {
      let model = store.model
      var lacking: [String] = []
      for entity in model.entities where entity.superentity == nil {
        for id in try identities(of: entity.name) {
          guard let own = try self.entity(id), let description = model.entitiesByName[own] else {
            continue
          }
          for (name, property) in description.propertiesByName
          where !property.isOptional && !property.isTransient {
            if let relationship = property as? RelationshipDescription, relationship.isToMany {
              continue
            }
            if try value(id, name)?.isNull ?? true { lacking.append("\(id.uuidString).\(name)") }
          }
        }
      }
      return lacking
    }
  }

  /// Points an object at another one, with all that the graph does then.
  func point(_ id: UUID, _ name: String, _ target: UUID?) throws {
    try save { context in
      let object = try #require(try context.object(withIdentity: id))
      try object.setValue(
        try target.flatMap { try context.object(withIdentity: $0) }, forKey: name)
    }
  }

  /// Makes an object with references.
  func make(
    _ entity: String, _ values: [String: PropertyValue] = [:], to targets: [String: UUID] = [:]
  ) throws -> UUID {
    var id = UUID()
    try save { context in
      let object = try context.insert(entityNamed: entity)
      for (name, value) in values { try object.setValue(value, forKey: name) }
      for (name, target) in targets {
        try object.setValue(
          try context.object(withIdentity: target) as ManagedObject?, forKey: name)
      }
      id = try object.identity
    }
    return id
  }
}
