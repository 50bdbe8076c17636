import Driftless
import Foundation
import TestSupport
import Testing

/// Real model files as stores.
struct RealModelStoreTests {
  @Test(
    "Every real model opens a store that takes an object of each entity and gives it back",
    .enabled(if: RealModels.areHere, "no ../shared"))
  func stores() throws {
    for url in try RealModels.urls() {
      let directory = try TemporaryDirectory()
      let file = directory.file("store.sqlite")
      let model = try ManagedObjectModel(contentsOf: url)
      var names: Set<String> = []
      do {
        let store = try PersistentStore.open(url: file, model: model)
        let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
        for (number, entity) in model.entities.enumerated() where !entity.isAbstract {
          let object = try context.insert(entityNamed: entity.name)
          try fill(object, number)
          names.insert(entity.name)
        }
        // What a relationship has to have is not to hand for every entity: those are looked at one by one.
        do {
          try context.save()
        } catch let failure as ValidationFailure {
          let refused = Set(failure.items.compactMap(\.objectID).map(\.entity.name))
          #expect(refused.isSubset(of: names), "\(url.path)")
          for object in context.insertedObjects where refused.contains(object.entity.name) {
            context.delete(object)
            names.remove(object.entity.name)
          }
          try context.save()
        }
        store.close()
      }
      // Opened again without its model: that travels inside.
      let store = try PersistentStore.open(url: file)
      #expect(try store.check().findings == [], "\(url.path)")
      let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
      for name in names {
        var request = FetchRequest<ManagedObject>(entityName: name)
        request.includesSubentities = false
        let objects = try context.fetch(request)
        #expect(objects.count == 1, "\(name) of \(url.path)")
        for object in objects {
          for attribute in object.entity.attributesByName.keys {
            _ = try object.value(forKey: attribute)
          }
        }
      }
    }
  }

  /// Gives required attributes that have no default a value, and unique ones a value of their own.
  private func fill(_ object: ManagedObject, _ number: Int) throws {
    var unique: Set<String> = []
    var entity: EntityDescription? = object.entity
    while let next = entity {
      unique.formUnion(next.uniquenessConstraints.joined())
      entity = next.superentity
    }
    for attribute in object.entity.attributesByName.values
    where attribute.attributeType != .composite {
      let isEmpty = try object.primitiveValue(forKey: attribute.name) == nil
      guard unique.contains(attribute.name) || (isEmpty && !attribute.isOptional) else { continue }
      let value: Any? =
        switch attribute.attributeType {
        case .integer16, .integer32, .integer64: number
        case .double, .float: Double(number)
        case .decimal: Decimal(number)
        case .boolean: true
        case .string: "text \(number)"
        case .date: Date(timeIntervalSinceReferenceDate: Double(number))
        case .binaryData, .transformable: Data([UInt8(number % 256)])
        case .uuid: UUID()
        case .uri: URL(string: "https://example.org/\(number)")
        default: nil
        }
      try object.setPrimitiveValue(value, forKey: attribute.name)
    }
  }
}
