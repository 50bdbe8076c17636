import DriftlessSQLite
import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Cars name their maker by a text in the second version of the model, by a relationship in the third.
private final class V2to3MakerPolicy: EntityMigrationPolicy {
  override func createDestinationInstances(
    forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    guard let name = source["maker"] as? String,
      let car = manager.destinationInstances(
        forEntityMappingName: mapping.name, sourceInstances: [source]
      ).first
    else { return }
    var makers = manager.userInfo["makers"] as? [String: ManagedObject] ?? [:]
    let maker = try makers[name] ?? manager.destinationContext.insert(entityNamed: "Maker")
    maker["name"] = name
    makers[name] = maker
    manager.userInfo["makers"] = makers
    car["createdBy"] = maker
  }
}

/// Mapping models that Xcode compiled, and what stands in them.
struct CompiledMappingTests {
  @Test(
    "A store and a mapping model that were made on a Mac are migrated",
    .enabled(
      if: SharedData.has("core-data-stores/SampleModel/V2toV3.cdm"), "no such file in ../shared"))
  func compiled() throws {
    let file = SharedData.url("core-data-stores/SampleModel/SampleModel_V2.sqlite")
    let models = SharedData.url("core-data-stores/SampleModel/SampleModel.momd")
    let compiled = SharedData.url("core-data-stores/SampleModel/V2toV3.cdm")
    EntityMigrationPolicy.register(V2to3MakerPolicy.self)
    let directory = try TemporaryDirectory()
    let url = directory.file("cars.sqlite")
    try Data(contentsOf: file).write(to: url)
    let (second, third) = try (
      ManagedObjectModel(contentsOf: models.appendingPathComponent("SampleModel2.mom")),
      ManagedObjectModel(contentsOf: models.appendingPathComponent("SampleModel3.mom"))
    )
    let former = try PersistentStore.open(url: url, model: second)
    let count = try former.check().objectCount
    let makers = try former.read {
      try $0.connection.rows("SELECT ZMAKER, COUNT(*) FROM ZCAR WHERE ZMAKER NOT NULL GROUP BY 1")
    }
    let plates = try former.read {
      try $0.connection.rows("SELECT Z_PK, ZNUMBERPLATE, ZOWNER FROM ZCAR ORDER BY 1")
    }
    former.close()
    let mapping = try MappingModel(contentsOf: compiled)
    try third.freeze()
    #expect(mapping.isFor(second, third) && !mapping.isFor(third, second))
    let options = StoreOptions(migratesAutomatically: true, mappingModels: [mapping])
    let store = try PersistentStore.open(url: url, model: third, options: options)
    #expect(try store.check().findings == [])
    #expect(try store.check().objectCount == count + makers.count)
    try store.read { transaction throws in
      let connection = transaction.connection
      #expect(
        try connection.rows(
          "SELECT m.ZNAME, COUNT(*) FROM ZCAR c JOIN ZMAKER m ON c.ZCREATEDBY = m.Z_PK GROUP BY 1")
          == makers)
      #expect(
        try connection.rows("SELECT Z_PK, ZNUMBERPLATE, ZOWNER FROM ZCAR ORDER BY 1") == plates)
    }
  }

  @Test("Expressions of mapping models are written as they are read")
  func expressions() throws {
    let text =
      #"FUNCTION($manager, "sourceInstancesForEntityMappingNamed:destinationInstances:", "A", $source.b)"#
    let expression = try FetchExpression(format: text)
    #expect(expression.description == text)
    #expect(throws: FetchError.self) {
      let predicate = FetchPredicate.comparison(
        FetchComparison(expression, .equal, .constant(.integer(1))))
      let model = ManagedObjectModel(entities: [EntityDescription("Car")])
      let store = try PersistentStore.open(url: nil, model: model)
      var request = FetchRequest<ManagedObject>(entityName: "Car")
      request.predicate = predicate
      _ = try ManagedObjectContext(PersistentStoreCoordinator(store: store)).fetch(request)
    }
  }
}
