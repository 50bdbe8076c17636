import Foundation
import Testing

@testable import Driftless

/// Each member of `NSFetchIndexDescription`, `NSFetchIndexElementDescription` and
/// `NSExpressionDescription`.
struct FetchIndexDescriptionMembers {
  private func place() -> EntityDescription {
    let entity = EntityDescription("Place")
    entity.properties = [
      AttributeDescription("name", .string), AttributeDescription("lat", .double),
      AttributeDescription("lon", .double),
    ]
    return entity
  }

  private func copies(_ entity: EntityDescription) throws -> [EntityDescription] {
    let model = ManagedObjectModel(entities: [entity])
    return [try model.copy(), try ManagedObjectModel(xml: ModelDocument.xml(of: model))]
      .map { $0.entities[0] }
  }

  @Test("A compound index has elements by property, ascending unless said otherwise")
  func compound() throws {
    let entity = place()
    let name = try #require(entity.propertiesByName["name"])
    let first = FetchIndexElementDescription(property: name, collationType: .binary)
    let second = FetchIndexElementDescription(propertyName: "lat")
    #expect(first.isAscending && first.collationType == .binary && first.indexDescription == nil)
    second.isAscending = false
    let index = FetchIndexDescription(name: "byName", elements: [first, second])
    #expect(index.entity == nil && index.partialIndexPredicate == nil)
    #expect(first.indexDescription === index && second.property == nil)
    entity.indexes = [index]
    #expect(index.entity === entity && first.property === name)
    #expect(second.property === entity.propertiesByName["lat"])
    for copy in try copies(entity) {
      #expect(copy.indexes == [index])
      #expect(copy.indexes[0].elements.map(\.isAscending) == [true, false])
      #expect(copy.indexes[0].elements.map(\.propertyName) == ["name", "lat"])
      #expect(copy.indexes[0].entity === copy)
    }
    index.name = "byPlace"
    index.elements.removeLast()
    #expect(entity.indexes[0].name == "byPlace" && second.indexDescription == nil)
    entity.indexes = []
    #expect(index.entity == nil)
  }

  @Test("A partial index has a predicate, an R-tree elements of its own kind")
  func partialAndTree() throws {
    let entity = place()
    let tree = FetchIndexDescription(
      name: "byPosition",
      elements: ["lat", "lon"].map {
        FetchIndexElementDescription(propertyName: $0, collationType: .rTree)
      })
    let partial = FetchIndexDescription(
      name: "named", elements: [FetchIndexElementDescription(propertyName: "name")])
    partial.partialIndexPredicate = try FetchPredicate(format: "name != nil")
    entity.indexes = [tree, partial]
    for copy in try copies(entity) {
      #expect(copy.indexes[0].elements.map(\.collationType) == [.rTree, .rTree])
      #expect(copy.indexes[1].partialIndexPredicate == partial.partialIndexPredicate)
      #expect(copy.indexes[1].partialIndexPredicateFormat == "name != nil")
    }
    #expect(FetchIndexElementDescription.CollationType.rTree.rawValue == 1)
    tree.elements[0].collationType = .binary
    let error = #expect(throws: ModelError.self) {
      try ManagedObjectModel(entities: [entity]).freeze()
    }
    #expect(error?.element == "Place.byPosition" && error?.code == .invalidValue)
  }

  @Test("An element can be an expression, described as such")
  func expressions() throws {
    let entity = place()
    let expression = ExpressionDescription()
    #expect(expression.expression == nil && expression.expressionResultType == .undefined)
    expression.name = "upper"
    expression.expression = try FetchExpression(format: "uppercase:(name)")
    expression.expressionResultType = .string
    #expect(expression.resultType == .string)
    let element = FetchIndexElementDescription(property: expression)
    entity.indexes = [FetchIndexDescription(name: "byUpper", elements: [element])]
    #expect(element.propertyName == "")
    for copy in try copies(entity) {
      let twin = try #require(copy.indexes[0].elements[0].property as? ExpressionDescription)
      #expect(twin.expression == expression.expression)
      #expect(twin.expressionResultType == .string)
    }
    expression.expressionFormat = ")"
    #expect(expression.expression == nil)
    expression.resultType = .integer64
    #expect(expression.expressionResultType == .integer64)
  }

  @Test("Indexes are in no version hash")
  func notInHash() throws {
    let (plain, indexed) = (place(), place())
    indexed.indexes = [
      FetchIndexDescription(
        name: "i", elements: [FetchIndexElementDescription(propertyName: "name")])
    ]
    #expect(
      ManagedObjectModel(entities: [plain]).versionChecksum
        == ManagedObjectModel(entities: [indexed]).versionChecksum)
  }
}
