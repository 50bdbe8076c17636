/// Requests that name a class, with keys of it.
extension FetchRequest where Result: ManagedObject {
  /// A request for the objects of a class, found and ordered by its keys.
  ///
  /// ```swift
  /// var request = FetchRequest(Book.self, where: Book.pages > 300, sort: Book.title.ascending)
  /// request.fetchBatchSize = 100
  /// for book in try context.fetchBatches(request) { print(book.title) }
  /// ```
  /// Its entity is the one that the class stands for in the model of the context that fetches, which throws `ObjectError`
  /// with the code `unknown-entity` where there is none, and ``FetchError`` with the code `unknownKey` for a key that the
  /// entity does not have.
  ///
  /// - Parameters:
  ///   - type: The class of the objects, which an entity of the model names.
  ///   - predicate: All objects when nil.
  ///   - sort: Later keys order what earlier ones leave equal; none for any order.
  ///   - limit: At most this many; 0 for all.
  ///   - offset: Leaves out this many from the start.
  public init(
    _ type: Result.Type, where predicate: TypedPredicate<Result>? = nil,
    sort: TypedSort<Result>..., limit: Int = 0, offset: Int = 0
  ) {
    self.init(of: type, predicate?.predicate, sort.map(\.sort), limit: limit, offset: offset)
  }

  /// A request for the objects of a class, found and ordered by keys that a class above it declares.
  ///
  /// ```swift
  /// let novels = try context.fetch(FetchRequest(Novel.self, sort: Book.title.ascending))
  /// ```
  /// - Parameters:
  ///   - type: The class of the objects, which an entity of the model names.
  ///   - predicate: All objects when nil.
  ///   - sort: Later keys order what earlier ones leave equal.
  ///   - limit: At most this many; 0 for all.
  ///   - offset: Leaves out this many from the start.
  @_disfavoredOverload
  public init<Base: ManagedObject>(
    _ type: Result.Type, where predicate: TypedPredicate<Base>? = nil, sort: TypedSort<Base>...,
    limit: Int = 0, offset: Int = 0
  ) {
    self.init(of: type, predicate?.predicate, sort.map(\.sort), limit: limit, offset: offset)
  }

  private init(
    of type: Result.Type, _ predicate: FetchPredicate?, _ sort: [FetchSort], limit: Int,
    offset: Int
  ) {
    // Whoever takes the name without a context, say a fetch inside of a predicate, has that of the models in use.
    let name = (try? type.entity().name) ?? String(describing: type)
    self.init(entityName: name, predicate: predicate, sort: sort, limit: limit, offset: offset)
    ofClass = type
  }
}
