import Driftless
import Foundation
import TestSupport

/// A store of a model with uniqueness constraints, in a directory of its own.
struct Customers {
  let directory: TemporaryDirectory
  let container: PersistentContainer

  init() throws {
    directory = try TemporaryDirectory()
    container = try Self.open(directory.url.appendingPathComponent("customers.sqlite"))
  }

  /// A second stack on the same file, as another process would have it.
  func another() throws -> PersistentContainer { try Self.open(container.storeURL) }

  private static func open(_ url: URL?) throws -> PersistentContainer {
    let container = PersistentContainer(name: "Customers", model: model(), storeURL: url)
    try container.loadPersistentStores()
    return container
  }

  /// Customers have unique codes, and first and last names that are unique together; employees have unique badges
  /// besides.
  static func model() -> ManagedObjectModel {
    let customer = EntityDescription("Customer")
    customer.properties = [
      AttributeDescription("code", .string), AttributeDescription("first", .string),
      AttributeDescription("last", .string), AttributeDescription("city", .string),
      AttributeDescription("points", .integer32, defaultValue: .integer(5)),
      RelationshipDescription(
        "orders", to: "Order", inverse: "customer", toMany: true, deleteRule: .cascade),
      RelationshipDescription("tags", to: "Mark", inverse: "customers", toMany: true),
      RelationshipDescription("agent", to: "Agent", inverse: "customers"),
    ]
    customer.uniquenessConstraints = [["code"], ["first", "last"]]
    let employee = EntityDescription("Employee")
    employee.properties = [AttributeDescription("badge", .integer64)]
    employee.uniquenessConstraints = [["badge"]]
    customer.subentities = [employee]
    let order = EntityDescription("Order")
    order.properties = [
      AttributeDescription("number", .integer64),
      RelationshipDescription("customer", to: "Customer", inverse: "orders"),
    ]
    let mark = EntityDescription("Mark")
    mark.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("customers", to: "Customer", inverse: "tags", toMany: true),
    ]
    let agent = EntityDescription("Agent")
    agent.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("customers", to: "Customer", inverse: "agent", toMany: true),
    ]
    return ManagedObjectModel(entities: [customer, employee, order, mark, agent])
  }
}

extension ManagedObjectContext {
  /// Makes an object with values by name.
  @discardableResult
  func make(_ entity: String, _ values: [String: Any]) throws -> ManagedObject {
    let object = try insert(entityNamed: entity)
    for (name, value) in values { try object.setValue(value, forKey: name) }
    return object
  }
}
