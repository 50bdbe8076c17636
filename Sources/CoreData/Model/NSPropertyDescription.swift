public import Driftless
public import Foundation

extension PropertyDescription {
  /// The entity that the property belongs to. One that belongs to none is a precondition failure.
  public var entity: NSEntityDescription {
    guard let entity = knownEntity else {
      preconditionFailure("The property \(name) is in no entity")
    }
    return entity
  }

  /// What an application notes about the property. A model's file, and the model within a store, have the texts of it alone.
  public var userInfo: [AnyHashable: Any]? {
    get { givenUserInfo ?? (knownUserInfo as [AnyHashable: Any]) }
    set {
      knownUserInfo = texts(of: newValue)
      if knownUserInfo.count < newValue?.count ?? 0 { givenUserInfo = newValue }
    }
  }

  /// Conditions that a value has to satisfy, `SELF` being the value.
  public var validationPredicates: [NSPredicate] {
    knownPredicates.map(NSPredicate.made(of:))
  }

  /// For each validation predicate a text or an error code.
  public var validationWarnings: [Any] {
    knownWarnings.map { warning -> Any in
      switch warning {
      case .message(let text): text
      case .code(let code): NSNumber(value: code)
      }
    }
  }

  /// Replaces the conditions. One that does not parse makes loading a store of the model fail.
  public func setValidationPredicates(
    _ validationPredicates: [NSPredicate]?, withValidationWarnings validationWarnings: [String]?
  ) {
    let predicates = validationPredicates?.map { (try? $0.known()) ?? .constant(false) }
    let warnings = validationWarnings?.map { ValidationWarning.message($0) }
    setKnownPredicates(predicates, warnings)
  }
}

extension RelationshipDescription {
  /// What happens to the destinations when the source is deleted.
  public var deleteRule: NSDeleteRule {
    get { NSDeleteRule(rawValue: UInt(knownDeleteRule.rawValue)) ?? .noActionDeleteRule }
    set { knownDeleteRule = DeleteRule(rawValue: Int(newValue.rawValue)) ?? .noAction }
  }
}

extension DerivedAttributeDescription {
  /// What the value follows from; nil for none, and for one that does not parse.
  public var derivationExpression: NSExpression? {
    get { knownExpression.map(NSExpression.init(known:)) }
    set { knownExpression = newValue.flatMap { try? $0.outcome.get() } }
  }
}

extension ExpressionDescription {
  /// What the column holds; nil for none, and for one that does not parse, which makes the fetch throw.
  public var expression: NSExpression? {
    get { knownExpression.map(NSExpression.init(known:)) }
    set { knownExpression = newValue.flatMap { try? $0.outcome.get() } }
  }

  /// The type that the value is given as.
  public var expressionResultType: NSAttributeType {
    get { NSAttributeType(resultType) }
    set { resultType = newValue.known }
  }
}

extension FetchedPropertyDescription {
  /// What is fetched.
  public var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
    get { knownRequest.map { NSFetchRequest($0) } }
    set { knownRequest = newValue.flatMap { try? $0.known(in: nil) } }
  }
}

extension FetchIndexDescription {
  /// An index without a condition.
  public convenience init(name: String, elements: [NSFetchIndexElementDescription]?) {
    self.init(name: name, elements: elements ?? [], partialIndexPredicateFormat: nil)
  }

  /// Only rows that meet it are in the index; nil for all.
  public var partialIndexPredicate: NSPredicate? {
    get { knownPredicate.map(NSPredicate.made(of:)) }
    set { knownPredicate = newValue.flatMap { try? $0.known() } }
  }
}
