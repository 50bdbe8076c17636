import Driftless
import Foundation

/// What a shop has: products, and sales with their lines. The policies say what becomes of a property that two tills change
/// while they have no network.
enum ShopModel {
  static func make() -> ManagedObjectModel {
    ManagedObject.register(Product.self, Sale.self, Line.self)
    return ManagedObjectModel(entities: [product(), sale(), line()])
  }

  private static func product() -> EntityDescription {
    let product = EntityDescription("Product")
    product.managedObjectClassName = "Product"
    product.properties = [
      AttributeDescription("name", .string, isOptional: false),
      // A person decides between two new prices; until then the one that came to the server first stands.
      AttributeDescription("price", .decimal, isOptional: false, conflictPolicy: .manual),
      // Three sold here and four there are seven sold.
      AttributeDescription(
        "stock", .integer64, isOptional: false, defaultValue: .integer(0), conflictPolicy: .counter),
      RelationshipDescription(
        "lines", to: "Line", inverse: "product", toMany: true, deleteRule: .deny),
    ]
    // Two tills that both take up tea have one product, not two.
    product.uniquenessConstraints = [["name"]]
    return product
  }

  private static func sale() -> EntityDescription {
    let sale = EntityDescription("Sale")
    sale.managedObjectClassName = "Sale"
    sale.properties = [
      AttributeDescription("number", .string, isOptional: false),
      AttributeDescription("till", .string, isOptional: false),
      AttributeDescription("soldAt", .date, isOptional: false),
      RelationshipDescription(
        "lines", to: "Line", inverse: "sale", toMany: true, deleteRule: .cascade),
    ]
    sale.uniquenessConstraints = [["number"]]
    return sale
  }

  private static func line() -> EntityDescription {
    let line = EntityDescription("Line")
    line.managedObjectClassName = "Line"
    line.properties = [
      AttributeDescription("quantity", .integer64, isOptional: false),
      AttributeDescription("price", .decimal, isOptional: false),
      RelationshipDescription("product", to: "Product", inverse: "lines", isOptional: false),
      RelationshipDescription("sale", to: "Sale", inverse: "lines", isOptional: false),
    ]
    return line
  }
}

final class Product: ManagedObject {
  static let name = Attribute<Product, String>("name")
  static let price = Attribute<Product, Decimal>("price")
  static let stock = Attribute<Product, Int64>("stock")
}

final class Sale: ManagedObject {
  /// What the page calls the sale, so that one that is sent twice is made once.
  static let number = Attribute<Sale, String>("number")
  static let till = Attribute<Sale, String>("till")
  static let soldAt = Attribute<Sale, Date>("soldAt")
  static let lines = ToMany<Sale, Line>("lines")
}

/// So many of one product, at the price of the time.
final class Line: ManagedObject {
  static let quantity = Attribute<Line, Int64>("quantity")
  static let price = Attribute<Line, Decimal>("price")
  static let product = ToOne<Line, Product>("product")
  static let sale = ToOne<Line, Sale>("sale")
}
