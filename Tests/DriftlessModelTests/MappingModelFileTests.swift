import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Compiled mapping models, made as Xcode's compiler makes them.
struct MappingModelFileTests {
  private typealias Value = ArchiveBuilder.Value

  private func constant(_ text: String) -> Value {
    .object(
      "NSConstantValueExpression",
      ["NSExpressionType": .integer(0), "NSConstantValue": .text(text)])
  }

  private func variable(_ name: String) -> Value {
    .object(
      "NSVariableExpression", ["NSExpressionType": .integer(2), "NSVariable": .text(name)])
  }

  private func call(_ receiver: Value, _ selector: String, _ arguments: [Value]) -> Value {
    .object(
      "NSFunctionExpression",
      [
        "NSExpressionType": .integer(4), "NSOperand": receiver, "NSSelectorName": .text(selector),
        "NSArguments": .object("NSArray", ["NS.objects": .array(arguments)]),
      ])
  }

  private func keyPath(_ variable: String, _ path: String) -> Value {
    call(
      self.variable(variable), "valueForKeyPath:",
      [
        .object(
          "NSKeyPathSpecifierExpression",
          ["NSExpressionType": .integer(10), "NSKeyPath": .text(path)])
      ])
  }

  private func property(_ name: String, _ expression: Value) -> Value {
    .object(
      "NSPropertyMapping",
      ["NSDestinationPropertyName": .text(name), "NSValueExpression": expression])
  }

  private func list(_ values: [Value]) -> Value {
    .object("NSArray", ["NS.objects": .array(values)])
  }

  private func mapping(_ more: [String: Value] = [:]) -> Value {
    .object(
      "NSEntityMapping",
      [
        "NSMappingName": .text("CarToCar"), "NSMappingType": .integer(4),
        "NSSourceEntityName": .text("Car"), "NSDestinationEntityName": .text("Vehicle"),
        "NSSourceEntityVersionHash": .data(Data(repeating: 1, count: 32)),
        "NSEntityMigrationPolicyClassName": .text("Shop.CarPolicy"),
        "NSUserInfo": .object(
          "NSDictionary",
          ["NS.keys": .array([.text("k")]), "NS.objects": .array([.text("v")])]),
        "NSSourceExpression": .object(
          "NSFetchRequestExpression",
          [
            "NSExpressionType": .integer(50),
            "NSFRExpression": call(
              variable("manager"), "fetchRequestForSourceEntityNamed:predicateString:",
              [constant("Car"), constant("year > 1990")]),
            "NSMOCExpression": keyPath("manager", "sourceContext"),
          ]),
        "NSAttributeMappings": list([
          property("plate", keyPath("source", "number.plate")), property("extra", .null),
        ]),
        "NSRelationshipMappings": list([
          property(
            "owner",
            call(
              variable("manager"), MigrationManager.byMapping,
              [constant("PersonToPerson"), keyPath("source", "owner")]))
        ]),
      ].merging(more) { $1 })
  }

  private func read(_ mappings: [Value]) throws -> MappingModel {
    let directory = try TemporaryDirectory()
    let url = directory.file("Test.cdm")
    try ArchiveBuilder.archive(
      .object("NSMappingModel", ["NSEntityMappings": list(mappings)])
    ).write(to: url)
    return try MappingModel(contentsOf: url)
  }

  @Test("A compiled mapping model is read: names, hashes, expressions, policy, user info")
  func whole() throws {
    let model = try read([mapping()])
    let mapping = try #require(model.entityMappingsByName["CarToCar"])
    #expect(mapping.mappingType == .copy)
    #expect(mapping.sourceEntityName == "Car" && mapping.destinationEntityName == "Vehicle")
    #expect(mapping.sourceEntityVersionHash == Data(repeating: 1, count: 32))
    #expect(mapping.destinationEntityVersionHash == nil)
    #expect(mapping.entityMigrationPolicyClassName == "Shop.CarPolicy")
    #expect(mapping.userInfo == ["k": "v"])
    let texts = [
      mapping.sourceExpression, mapping.attributeMappings["plate"]?.valueExpression,
      mapping.relationshipMappings["owner"]?.valueExpression,
    ].map { $0?.description ?? "" }
    #expect(
      texts == [
        #"FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "Car", "year > 1990")"#,
        "$source.number.plate",
        #"FUNCTION($manager, "\#(MigrationManager.byMapping)", "PersonToPerson", $source.owner)"#,
      ])
    for text in texts { #expect(try FetchExpression(format: text).description == text) }
    #expect(mapping.attributeMappings["extra"]?.valueExpression == nil)
  }

  @Test("A mapping model that is wrong is refused by an error that names the file or the mapping")
  func wrong() throws {
    let directory = try TemporaryDirectory()
    let url = directory.file("Wrong.cdm")
    func error(_ data: Data) throws -> ModelError? {
      try data.write(to: url)
      do {
        _ = try MappingModel(contentsOf: url)
        return nil
      } catch {
        return error
      }
    }
    #expect(try error(Data("no archive".utf8))?.element == url.path)
    #expect(try error(ArchiveBuilder.model([:]))?.code == .unsupportedFormat)
    #expect(throws: ModelError.self) {
      _ = try MappingModel(contentsOf: directory.file("absent.cdm"))
    }
    #expect { _ = try read([mapping(["NSMappingType": .integer(9)])]) } throws: {
      ($0 as? ModelError)?.element == "CarToCar"
    }
    let whole = ArchiveBuilder.archive(
      .object("NSMappingModel", ["NSEntityMappings": list([mapping()])]))
    for place in stride(from: 8, to: whole.count, by: 7) {
      var bytes = whole
      bytes[place] ^= 0x5A
      // An error or a model, never a trap.
      _ = try error(bytes)
    }
  }

  @Test("The mapping model of a folder is the one for the two models")
  func folder() throws {
    func model(_ names: String...) throws -> ManagedObjectModel {
      let model = ManagedObjectModel(entities: names.map { EntityDescription($0) })
      try model.freeze()
      return model
    }
    let directory = try TemporaryDirectory()
    for (name, source) in [("A", "Boat"), ("B", "Car")] {
      let mapping = mapping([
        "NSSourceEntityName": .text(source), "NSSourceExpression": .null,
        "NSRelationshipMappings": .null, "NSAttributeMappings": .null,
      ])
      try ArchiveBuilder.archive(
        .object("NSMappingModel", ["NSEntityMappings": list([mapping])])
      ).write(to: directory.file("\(name).cdm"))
    }
    let found = try MappingModel(
      from: [directory.url], forSourceModel: model("Car"), destinationModel: model("Vehicle"))
    #expect(found?.entityMappings.first?.sourceEntityName == "Car")
    let none = try MappingModel(
      from: [directory.url], forSourceModel: model("Plane"), destinationModel: model("Vehicle"))
    #expect(none == nil)
  }
}
