public import Foundation

/// `localizedStandardContains` in `#Predicate`, which Foundation on Linux expands to but does not have.
public struct LocalizedStandardContains<
  Base: PredicateExpression, Other: PredicateExpression
>: PredicateExpression where Base.Output: StringProtocol, Other.Output: StringProtocol {
  /// Whether it holds.
  public typealias Output = Bool

  let base: Base
  let other: Other

  /// Whether the text holds the other, by the rules of people: without case and diacritics.
  ///
  /// - Throws: what its operands throw.
  public func evaluate(_ bindings: PredicateBindings) throws -> Bool {
    try base.evaluate(bindings).localizedStandardContains(other.evaluate(bindings))
  }
}

extension LocalizedStandardContains: Sendable where Base: Sendable, Other: Sendable {}
extension LocalizedStandardContains: Codable where Base: Codable, Other: Codable {}
extension LocalizedStandardContains: StandardPredicateExpression
where Base: StandardPredicateExpression, Other: StandardPredicateExpression {}

extension PredicateExpressions {
  // swift-format-ignore: AlwaysUseLowerCamelCase
  /// What the macro calls, which gives the name.
  public static func build_localizedStandardContains<Base, Other>(
    _ base: Base, _ other: Other
  ) -> LocalizedStandardContains<Base, Other> {
    LocalizedStandardContains(base: base, other: other)
  }
}
