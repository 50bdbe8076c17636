import Driftless
import DriftlessSync
import Foundation

/// What can be done at a till. All of it works on the till's own store, with a network or without.
struct Shop: Sendable {
  let library: LocalStore
  let till: String

  // MARK: Changes

  func add(_ new: NewProduct) async throws {
    let name = new.name.trimmingCharacters(in: .whitespacesAndNewlines)
    guard !name.isEmpty, name.count <= Limits.name, name.utf8.count <= Limits.name * 8 else {
      throw TillError.badName
    }
    let price = try Self.price(new.price)
    guard 0...Limits.stock ~= new.stock else { throw TillError.badStock }
    do {
      try await library.write(author: till) { context in
        let product = try context.insert(Product.self)
        product[Product.name] = name
        product[Product.price] = price
        product[Product.stock] = new.stock
      }
    } catch is ConstraintConflictError {
      throw TillError.nameTaken(name)
    }
  }

  func setPrice(of id: UUID, to text: String) async throws {
    let price = try Self.price(text)
    try await library.write(author: till) { context in
      try Self.product(id, in: context)[Product.price] = price
    }
  }

  /// Makes the sale and takes its goods from the stock: all of it or nothing.
  ///
  /// A stock may fall below nothing: another till sold the same goods while neither knew of the other, and the goods are
  /// gone all the same.
  func sell(_ new: NewSale) async throws {
    guard 1...Limits.number ~= new.number.utf8.count else { throw TillError.badNumber }
    guard !new.lines.isEmpty else { throw TillError.emptySale }
    guard new.lines.count <= Limits.lines else { throw TillError.tooManyLines }
    guard new.lines.allSatisfy({ 1...Limits.quantity ~= $0.quantity }) else {
      throw TillError.badQuantity
    }
    let till = till
    try await library.write(author: till) { context in
      // The page sent it before, and did not hear the answer.
      guard try context.count(Sale.self, where: Sale.number == new.number) == 0 else { return }
      let sale = try context.insert(Sale.self)
      sale[Sale.number] = new.number
      sale[Sale.till] = till
      sale[Sale.soldAt] = Date()
      for item in new.lines {
        let product = try Self.product(item.product, in: context)
        let line = try context.insert(Line.self)
        line[Line.sale] = sale
        line[Line.product] = product
        line[Line.quantity] = item.quantity
        line[Line.price] = product[Product.price]
        product[Product.stock] -= item.quantity
      }
    }
  }

  /// A person decides between two prices: the one of here, or the one that stands.
  func decide(_ number: Int64, for side: JournalEntry.Side) throws {
    guard try waiting().contains(where: { $0.number == number }) else {
      throw TillError.noDecision
    }
    try SyncEngine.decide(conflict: number, for: side, of: library.store, author: till)
  }

  private static func product(_ id: UUID, in context: ManagedObjectContext) throws -> Product {
    guard let product = try context.object(withIdentity: id) as? Product else {
      throw TillError.noProduct
    }
    return product
  }

  /// A price as somebody typed it, with a point or a comma.
  private static func price(_ text: String) throws -> Decimal {
    let parts = text.trimmingCharacters(in: .whitespaces).replacing(",", with: ".")
      .split(separator: ".", omittingEmptySubsequences: false)
    let areDigits = parts.allSatisfy { $0.allSatisfy { "0123456789".contains($0) } }
    guard areDigits, 1...2 ~= parts.count, 1...5 ~= parts[0].count,
      parts.count == 1 || 1...2 ~= parts[1].count,
      let price = Decimal(string: parts.joined(separator: ".")), price <= Decimal(Limits.price)
    else { throw TillError.badPrice }
    return price
  }

  // MARK: What a page shows

  var products: FetchRequest<Product> {
    FetchRequest(Product.self, sort: Product.name.ascending, limit: Limits.productsShown)
  }

  var sales: FetchRequest<Sale> {
    var sales = FetchRequest(Sale.self, sort: Sale.soldAt.descending, limit: Limits.salesShown)
    sales.relationshipKeyPathsForPrefetching = ["lines.product"]
    return sales
  }

  func productRows() async throws -> [View.Product] {
    try await library.read { [products] context in
      try context.fetch(products).map {
        try View.Product(
          id: $0.identity, name: $0[Product.name], price: Self.text($0[Product.price]),
          stock: $0[Product.stock])
      }
    }
  }

  func saleRows() async throws -> [View.Sale] {
    try await library.read { [sales] context in
      try context.fetch(sales).map { sale in
        let lines = sale[Sale.lines].array
        let total = lines.reduce(Decimal()) { $0 + $1[Line.price] * Decimal($1[Line.quantity]) }
        return View.Sale(
          number: sale[Sale.number], till: sale[Sale.till], soldAt: sale[Sale.soldAt],
          lines: lines.map { "\($0[Line.quantity]) × \($0[Line.product]?[Product.name] ?? "?")" }
            .sorted(),
          total: Self.text(total))
      }
    }
  }

  func decisionRows() async throws -> [View.Decision] {
    let waiting = try waiting()
    return try await library.read { context in
      try waiting.map { entry in
        let product = try context.object(withIdentity: entry.object) as? Product
        return View.Decision(
          number: entry.number, product: product?[Product.name] ?? "?",
          here: Self.text(json: entry.local), there: Self.text(json: entry.remote))
      }
    }
  }

  private func waiting() throws -> [JournalEntry] {
    guard try SyncEngine.status(of: library.store).waiting > 0 else { return [] }
    var found: [JournalEntry] = []
    var last: Int64 = 0
    // The journal keeps all, and gives so many entries at a time.
    while case let page = try SyncEngine.conflicts(of: library.store, after: last),
      let end = page.last
    {
      found += page.filter(\.isWaiting)
      last = end.number
    }
    return found
  }

  /// A price with two decimals.
  private static func text(_ price: Decimal) -> String {
    let parts = "\(price)".split(separator: ".")
    return "\(parts[0])." + "\(parts.count > 1 ? String(parts[1]) : "")00".prefix(2)
  }

  /// A price of the journal, which has values as JSON.
  private static func text(json: String?) -> String {
    let text = json.flatMap { try? JSONDecoder().decode(String.self, from: Data($0.utf8)) }
    return text.flatMap { Decimal(string: $0) }.map(Self.text) ?? "?"
  }
}

/// What a page sends.
struct NewProduct: Decodable {
  var name: String
  var price: String
  var stock: Int64
}

struct NewPrice: Decodable {
  var price: String
}

struct NewSale: Decodable {
  struct Line: Decodable {
    var product: UUID
    var quantity: Int64
  }

  var number: String
  var lines: [Line]
}

struct Decision: Decodable {
  var side: JournalEntry.Side
}
