import Foundation

// What predicates and sort keys of a history request see.

extension PersistentHistoryTransaction: PropertySource {
  package var predicateObjectKey: ObjectKey? { nil }

  package func predicateValue(forKey key: String) -> PredicateValue? {
    func text(_ text: String?) -> PredicateValue { .scalar(text.map { .string($0) } ?? .null) }
    return switch key {
    case "author": text(author)
    case "bundleID": text(bundleID)
    case "contextName": text(contextName)
    case "processID": text(processID)
    case "timestamp": .scalar(.date(timestamp))
    case "transactionNumber", "token": .scalar(.integer(transactionNumber))
    default: nil
    }
  }
}

extension PersistentHistoryChange: PropertySource {
  package var predicateObjectKey: ObjectKey? { nil }

  package func predicateValue(forKey key: String) -> PredicateValue? {
    switch key {
    case "changeID": .scalar(.integer(changeID))
    case "changeType": .scalar(.integer(Int64(changeType.rawValue)))
    case "changedEntity": .scalar(changedEntity.map { .string($0.name) } ?? .null)
    case "changedObjectID": .scalar(.reference(changedObjectKey))
    case "transaction": transaction.map { .object($0) } ?? .scalar(.null)
    default: nil
    }
  }
}

/// An entity is compared by its name, as changes of the history have it.
extension EntityDescription: PredicateArgument {
  var predicateArgument: PropertyValue? { .string(name) }
}

extension PersistentHistoryToken: PredicateArgument {
  /// The number of the transaction, for a token of one store.
  var predicateArgument: PropertyValue? {
    numbers.count == 1 ? numbers.first.map { .integer($0.value) } : nil
  }
}
