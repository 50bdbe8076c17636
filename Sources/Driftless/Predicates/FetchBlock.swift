/// A condition in Swift, which is asked of what a predicate is evaluated on.
public struct FetchBlock: Hashable, Sendable {
  typealias Condition = @Sendable (any PropertySource) throws(FetchError) -> Bool

  private final class Body: Sendable {
    let condition: Condition

    init(_ condition: @escaping Condition) { self.condition = condition }
  }

  private let body: Body

  init(_ condition: @escaping Condition) { body = Body(condition) }

  func callAsFunction(_ source: any PropertySource) throws(FetchError) -> Bool {
    try body.condition(source)
  }

  public static func == (left: Self, right: Self) -> Bool { left.body === right.body }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(body)) }
}
