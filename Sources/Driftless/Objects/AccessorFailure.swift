/// Why a context is not saved, where accessors of its objects met several things that they could not throw.
///
/// ``ManagedObjectContext/save()`` throws it for two or more errors that differ; a single one is thrown as it is.
public struct AccessorFailure: Error, CustomStringConvertible {
  /// The oldest first, none twice; a hundred at most.
  public let errors: [any Error]

  /// What to do about it.
  public var suggestion: String {
    "Correct what each says; roll the context back, or clear its accessorErrors."
  }

  public var description: String {
    let list = errors.prefix(20).map { "\($0)" }.joined(separator: "\n")
    return "Accessors met \(errors.count) errors. \(suggestion)\n\(list)"
  }

  /// One error that stands for all; nil for none.
  static func error(of errors: [any Error]) -> (any Error)? {
    var known: Set<ObjectError> = []
    let distinct = errors.filter { ($0 as? ObjectError).map { known.insert($0).inserted } ?? true }
    return distinct.count > 1 ? AccessorFailure(errors: distinct) : distinct.first
  }
}
