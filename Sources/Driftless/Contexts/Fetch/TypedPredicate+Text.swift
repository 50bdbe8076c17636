/// The values that text comparisons work on: `String` and `String?`.
public protocol TextValue: AttributeConvertible {}

extension String: TextValue {}
extension Optional: TextValue where Wrapped == String {}

extension ComparableKey where Value: TextValue {
  /// The text has `text` in it.
  public func contains(
    _ text: String, _ options: FetchComparison.Options = []
  ) -> TypedPredicate<Root> {
    compare(.contains, .constant(.string(text)), options)
  }

  /// The text begins with this.
  public func hasPrefix(
    _ text: String, _ options: FetchComparison.Options = []
  ) -> TypedPredicate<Root> {
    compare(.beginsWith, .constant(.string(text)), options)
  }

  /// The text ends with this.
  public func hasSuffix(
    _ text: String, _ options: FetchComparison.Options = []
  ) -> TypedPredicate<Root> {
    compare(.endsWith, .constant(.string(text)), options)
  }

  /// `*` stands for any run of characters, `?` for one.
  public func like(
    _ pattern: String, _ options: FetchComparison.Options = []
  ) -> TypedPredicate<Root> {
    compare(.like, .constant(.string(pattern)), options)
  }

  /// The regular expression matches the whole text.
  public func matches(
    _ pattern: String, _ options: FetchComparison.Options = []
  ) -> TypedPredicate<Root> {
    compare(.matches, .constant(.string(pattern)), options)
  }

  /// Equal but for what the options ignore.
  public func equals(
    _ text: String, _ options: FetchComparison.Options
  ) -> TypedPredicate<Root> {
    compare(.equal, .constant(.string(text)), options)
  }

  /// Ascending, without regard to case and diacritics.
  public var ascendingIgnoringCase: TypedSort<Root> {
    TypedSort(
      FetchSort(
        path: comparisonPath, ascending: true,
        options: [.caseInsensitive, .diacriticInsensitive]))
  }
}
