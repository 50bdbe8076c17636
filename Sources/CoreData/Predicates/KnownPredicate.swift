import Driftless
import Foundation

/// A predicate that knows what it asks: one that was made here.
protocol KnowingPredicate: NSPredicate {
  /// As the library has it, or why it has none.
  var outcome: Result<FetchPredicate, FetchError> { get }
}

extension KnowingPredicate {
  /// Equal are those that ask the same.
  func asksTheSame(as object: Any?) -> Bool {
    guard case .success(let mine) = outcome,
      case .success(let theirs)? = (object as? any KnowingPredicate)?.outcome
    else { return self === object as? NSPredicate }
    return mine == theirs
  }

  var hashOfAsked: Int { (try? outcome.get())?.hashValue ?? 0 }

  var words: String {
    switch outcome {
    case .success(let predicate): predicate.description
    case .failure(let error): "\(error)"
    }
  }
}

/// A constant, or why there is no predicate.
final class KnownPredicate: NSPredicate, KnowingPredicate {
  let outcome: Result<FetchPredicate, FetchError>

  init(_ outcome: Result<FetchPredicate, FetchError>) {
    self.outcome = outcome
    super.init(block: PredicateTrees.block(outcome))
  }

  /// There are no archives of predicates.
  required init?(coder: NSCoder) { nil }

  /// Nothing of it changes.
  override func copy(with zone: NSZone? = nil) -> Any { self }
  override func isEqual(_ object: Any?) -> Bool { asksTheSame(as: object) }
  override var hash: Int { hashOfAsked }
  override var description: String { words }
}

/// A predicate of others whose parts are predicates too, each of the class that shows what it is.
final class KnownCompoundPredicate: NSCompoundPredicate, KnowingPredicate {
  let outcome: Result<FetchPredicate, FetchError>

  init(_ type: LogicalType, _ parts: [FetchPredicate], _ whole: FetchPredicate) {
    outcome = .success(whole)
    super.init(type: type, subpredicates: parts.map(NSPredicate.made(of:)))
  }

  /// There are no archives of predicates.
  required init?(coder: NSCoder) { nil }

  /// Nothing of it changes.
  override func copy(with zone: NSZone? = nil) -> Any { self }
  override func isEqual(_ object: Any?) -> Bool { asksTheSame(as: object) }
  override var hash: Int { hashOfAsked }
  override var description: String { words }

  /// As a whole: data of another type than one part asks for do not satisfy any.
  override func evaluate(
    with object: Any?, substitutionVariables bindings: [String: Any]?
  ) -> Bool {
    PredicateTrees.block(outcome)(object, bindings)
  }
}

/// What a `#Predicate` asks: in memory itself, of a store by what the properties read.
final class TypedPredicate: NSPredicate {
  private let translated: (ManagedObjectContext) throws -> FetchPredicate

  init<Input: ManagedObject>(_ predicate: Foundation.Predicate<Input>) {
    translated = { try FetchPredicate(predicate, in: $0) }
    super.init { object, _ in
      guard let object = object as? Input else { return false }
      return (try? predicate.evaluate(object)) ?? false
    }
  }

  /// There are no archives of predicates.
  required init?(coder: NSCoder) { nil }

  /// Nothing of it changes.
  override func copy(with zone: NSZone? = nil) -> Any { self }

  /// - Throws: `FetchError` for what cannot be asked of a store.
  func asked(in context: NSManagedObjectContext?) throws -> FetchPredicate {
    guard let context else {
      throw FetchError(
        .unsupported, "A #Predicate is asked by the fetch of a context alone",
        suggestion: "Use NSPredicate(format:) here.")
    }
    return try translated(context.base)
  }
}
