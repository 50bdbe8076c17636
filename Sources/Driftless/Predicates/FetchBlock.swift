/// A condition in Swift, which only objects in memory can be asked for.
public struct FetchBlock: Hashable, Sendable {
  private final class Body: Sendable {
    let body: @Sendable (ManagedObject) -> Bool

    init(_ body: @escaping @Sendable (ManagedObject) -> Bool) { self.body = body }
  }

  private let body: Body

  init(_ body: @escaping @Sendable (ManagedObject) -> Bool) { self.body = Body(body) }

  func callAsFunction(_ object: ManagedObject) -> Bool { body.body(object) }

  public static func == (left: Self, right: Self) -> Bool { left.body === right.body }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(body)) }
}

extension FetchPredicate {
  /// A condition in Swift. It filters objects in memory; a fetch refuses it before anything is read.
  ///
  /// ```swift
  /// let odd = FetchPredicate { ($0 as? Book)?.pages.isMultiple(of: 2) == false }
  /// let found = try books.filter { try odd.evaluate(with: $0) }
  /// ```
  public init(block: @escaping @Sendable (ManagedObject) -> Bool) {
    self = .block(FetchBlock(block))
  }
}
