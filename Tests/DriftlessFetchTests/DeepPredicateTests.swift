import Driftless
import DriftlessSQLite
import Foundation
import Testing

/// Predicates, expressions and key paths that a loop makes deeper than any stack: they say so, and go without a trap.
@Suite struct DeepPredicateTests {
  private static let depth = 100_000

  /// A store with one thing, which is its own parent.
  private let context: ManagedObjectContext

  init() throws {
    let thing = EntityDescription("Thing")
    let parent = RelationshipDescription("parent", to: "Thing", inverse: "children")
    let children = RelationshipDescription(
      "children", to: "Thing", inverse: "parent", toMany: true)
    thing.properties = [AttributeDescription("size", .integer64), parent, children]
    let model = ManagedObjectModel(entities: [thing])
    context = ManagedObjectContext(
      PersistentStoreCoordinator(store: try PersistentStore.open(url: nil, model: model)))
    let object = try context.insert(entityNamed: "Thing")
    object["size"] = Int64(1)
    object["parent"] = object
    try context.save()
  }

  private static let leaf = FetchPredicate.comparison(
    FetchComparison(.keyPath(["size"]), .equal, .constant(.integer(1))))

  private static func around(
    _ start: FetchExpression = .keyPath(["size"]), _ step: (FetchExpression) -> FetchExpression
  ) -> FetchPredicate {
    var expression = start
    for _ in 0..<depth { expression = step(expression) }
    return .comparison(FetchComparison(expression, .equal, .constant(.integer(1))))
  }

  private static func within(_ step: (FetchPredicate) -> FetchPredicate) -> FetchPredicate {
    var predicate = leaf
    for _ in 0..<depth { predicate = step(predicate) }
    return predicate
  }

  private static let one = FetchExpression.constant(.integer(1))

  private static let shapes: [String: @Sendable () -> FetchPredicate] = [
    "not": { within { .not($0) } },
    "and": { within { .and([$0, leaf]) } },
    "or": { within { .or([leaf, $0]) } },
    "list": { around { .list([$0]) } },
    "function": { around { .function(.add, [$0, one]) } },
    "cast": { around { .cast($0, .number) } },
    "distinct": { around(.keyPath(["children"])) { .distinct($0) } },
    "element": { around(.keyPath(["children"])) { .element(of: $0, at: .first, path: []) } },
    "property": { around(.keyPath(["children"])) { .property(of: $0, path: ["size"]) } },
    "collection": { around(.keyPath(["children"])) { .collection(.count, of: $0, path: []) } },
    "message": { around { .message(to: .variable("manager", path: []), selector: "x", [$0]) } },
    "conditional": { around { .conditional(leaf, then: $0, else: one) } },
    "subquery": {
      around(.keyPath(["children"])) { .subquery(of: $0, variable: "x", where: leaf) }
    },
    "subquery's condition": {
      within {
        .comparison(
          FetchComparison(
            .collection(
              .count, of: .subquery(of: .keyPath(["children"]), variable: "x", where: $0), path: []),
            .greater, one))
      }
    },
    "key path": {
      .comparison(
        FetchComparison(
          .keyPath(Array(repeating: "parent", count: depth) + ["size"]), .equal, one))
    },
  ]

  @Test("Fetching, evaluating and substituting say that it is too deep", arguments: shapes.keys)
  func tooDeep(shape: String) throws {
    let make = try #require(Self.shapes[shape])
    let predicate = make()
    var request = FetchRequest<ManagedObject>(entityName: "Thing")
    let object = try #require(try context.fetch(request).first)
    request.predicate = predicate
    #expect(Self.code { _ = try context.fetch(request) } == .tooDeep)
    #expect(Self.code { _ = try predicate.evaluate(with: object) } == .tooDeep)
    if shape != "key path" {
      #expect(Self.code { _ = try predicate.withSubstitutionVariables([:]) } == .tooDeep)
      #expect(predicate.description.contains("DEEPER THAN 1000 LEVELS"))
    }
    #expect(predicate == predicate && Set([predicate]).count == 1)
  }

  @Test("A sort by a key path of too many steps says so, in the store and in memory")
  func sort() throws {
    var request = FetchRequest<ManagedObject>(entityName: "Thing")
    request.sort = [
      FetchSort(Array(repeating: "parent", count: Self.depth).joined(separator: ".") + ".size")
    ]
    #expect(Self.code { _ = try context.fetch(request) } == .tooDeep)
    _ = try context.insert(entityNamed: "Thing")
    #expect(Self.code { _ = try context.fetch(request) } == .tooDeep)
  }

  @Test("Nine hundred levels are evaluated as two are, and a list has any length")
  func deepEnough() throws {
    var request = FetchRequest<ManagedObject>(entityName: "Thing")
    let object = try #require(try context.fetch(request).first)
    for count in [2, 900] {
      var predicate = Self.leaf
      for _ in 0..<count { predicate = .not(predicate) }
      #expect(try predicate.evaluate(with: object))
      #expect(predicate.description.hasSuffix("NOT size == 1"))
    }
    request.predicate = .and(Array(repeating: Self.leaf, count: 5_000))
    #expect(try context.fetch(request).count == 1)
  }

  @Test("Composite attributes within each other beyond 64 levels make a model that is refused")
  func composites() throws {
    func nested(_ count: Int) -> CompositeAttributeDescription {
      var inner: AttributeDescription = AttributeDescription("leaf", .integer64)
      for index in 0..<count {
        let outer = CompositeAttributeDescription()
        outer.name = "level\(index)"
        outer.elements = [inner]
        inner = outer
      }
      return inner as? CompositeAttributeDescription ?? CompositeAttributeDescription()
    }
    func open(_ count: Int) throws {
      let place = EntityDescription("Place")
      let attribute = nested(count)
      place.properties = [attribute]
      _ = try PersistentStore.open(url: nil, model: ManagedObjectModel(entities: [place]))
    }
    try open(63)
    let error = #expect(throws: ModelError.self) { try open(64) }
    #expect(error?.code == .tooLarge && error?.message.contains("deeper than 64") == true)
    // All of it goes away as well.
    #expect(nested(Self.depth).elements.count < 2)
  }

  private static func code(_ work: () throws -> Void) -> FetchError.Code? {
    do { try work() } catch { return (error as? FetchError)?.code }
    return nil
  }
}
