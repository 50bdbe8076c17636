public import Foundation

extension FetchPredicate {
  /// What a predicate made by Foundation's `#Predicate` asks, for a store.
  ///
  /// ```swift
  /// let long = #Predicate<Book> { $0.pages > 300 && $0.author?.name == "Eco" }
  /// let predicate = try FetchPredicate(long, in: context)
  /// ```
  ///
  /// A Swift property stands for the attribute or relationship that its getter gives as it is. Which one that is, is
  /// found by asking the getter of an object with marked values; a property that computes something is refused, unless
  /// ``PredicateNaming`` names it. Optionals compare as in Swift: `subtitle != "x"` finds objects without a subtitle.
  /// Texts compare by their bytes. A missing value of a property that is not optional in Swift is never found.
  /// - Throws: ``FetchError`` that names what in the predicate cannot be asked of a store.
  public init<Object: ManagedObject>(
    _ predicate: Foundation.Predicate<Object>, in context: ManagedObjectContext
  ) throws(FetchError) {
    let translation = PredicateTranslation(PropertyProbe(context.persistentStoreCoordinator))
    translation.variables[predicate.variable.key] = .keyPath([])
    self = try translation.condition(predicate.expression)
  }
}

/// Names properties for `#Predicate` whose getters do not give the stored value as it is.
///
/// ```swift
/// extension Book: PredicateNaming {
///   static var predicateNames: [AnyKeyPath: String] { [\Book.kind: "kindCode"] }
/// }
/// ```
public protocol PredicateNaming: ManagedObject {
  /// The attribute or relationship that each of these key paths stands for.
  static var predicateNames: [AnyKeyPath: String] { get }
}

extension ManagedObjectContext {
  /// Objects of a class that satisfy a predicate made by Foundation's `#Predicate`.
  ///
  /// ```swift
  /// try context.fetch(Book.self, matching: #Predicate { $0.pages > 300 }, order: Book.title.ascending)
  /// ```
  /// - Throws: as `fetch(_:)`; ``FetchError`` for what cannot be asked of a store, before anything is read.
  public func fetch<Object: ManagedObject>(
    _ type: Object.Type, matching predicate: Foundation.Predicate<Object>,
    order: TypedSort<Object>..., limit: Int = 0, offset: Int = 0
  ) throws -> [Object] {
    try fetch(
      FetchRequest<Object>(
        entityName: try shape(for: type).entity.name,
        predicate: try FetchPredicate(predicate, in: self), sort: order.map(\.sort), limit: limit,
        offset: offset))
  }

  /// How many objects of a class satisfy the predicate.
  ///
  /// - Throws: ``FetchError`` for a predicate that no store can answer; otherwise as `fetch(_:)`.
  public func count<Object: ManagedObject>(
    _ type: Object.Type, matching predicate: Foundation.Predicate<Object>
  ) throws -> Int {
    try count(
      for: FetchRequest<Object>(
        entityName: try shape(for: type).entity.name,
        predicate: try FetchPredicate(predicate, in: self)))
  }
}
