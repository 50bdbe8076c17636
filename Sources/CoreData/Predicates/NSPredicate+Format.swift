import Driftless
public import Foundation
import Synchronization

// Foundation's predicates on Linux are constants, blocks and combinations of them. One that is made here is a block that
// evaluates what the format says, and the tree is kept beside it for stores.
extension NSPredicate {
  /// A predicate in words, with arguments for `%@`, `%K`, `%d`, `%ld`, `%f` and the like, in their order.
  ///
  /// A string that does not parse, or arguments that do not fit it, make the fetch that uses the predicate throw; evaluating
  /// it is a precondition failure.
  public convenience init(format predicateFormat: String, _ args: Any?...) {
    self.init(format: predicateFormat, arguments: args)
  }

  /// A predicate in words, with its arguments in an array.
  public convenience init(format predicateFormat: String, argumentArray arguments: [Any]?) {
    self.init(format: predicateFormat, arguments: arguments ?? [])
  }

  private convenience init(format: String, arguments: [Any?]) {
    let values = arguments.map(predicateArgument)
    self.init(
      outcome: Result { () throws(FetchError) in
        try FetchPredicate(format: format, argumentArray: values)
      })
  }

  /// A predicate of the library's.
  convenience init(known predicate: FetchPredicate) { self.init(outcome: .success(predicate)) }

  convenience init(outcome: Result<FetchPredicate, FetchError>) {
    self.init(block: PredicateTrees.block(outcome))
    PredicateTrees.note(outcome, of: self)
  }

  /// The predicate with each `$NAME` replaced by the value of that name. A variable without a value makes the fetch that
  /// uses the predicate throw.
  public func withSubstitutionVariables(_ variables: [String: Any]) -> NSPredicate {
    let values: [String: Any?] = variables.mapValues(predicateArgument)
    let outcome = Result { () throws(FetchError) in
      do {
        return try known().withSubstitutionVariables(values)
      } catch let error as FetchError { throw error } catch {
        throw FetchError(.argument, "\(error)", suggestion: "Correct the predicate.")
      }
    }
    return NSPredicate(outcome: outcome)
  }

  /// The predicate as the library has it. A block of the application's is one for objects in memory, which fetches refuse.
  /// - Throws: `FetchError` for a format that does not parse.
  func known() throws -> FetchPredicate {
    if let compound = self as? NSCompoundPredicate {
      let parts = try compound.subpredicates.map { try $0.known() }
      switch compound.compoundPredicateType {
      case .and: return .and(parts)
      case .or: return .or(parts)
      case .not: return .not(parts.first ?? .constant(false))
      @unknown default: break
      }
    }
    if let outcome = PredicateTrees.outcome(of: self) { return try outcome.get() }
    for value in [true, false] where isEqual(NSPredicate(value: value)) { return .constant(value) }
    let block = Carried(self)
    return FetchPredicate { block.value.evaluate(with: $0) }
  }
}

/// What predicates that were made here ask.
enum PredicateTrees {
  private struct Entry: Sendable {
    let predicate: WeakReference<NSPredicate>
    let outcome: Result<FetchPredicate, FetchError>
  }

  private struct Entries {
    var byObject: [ObjectIdentifier: Entry] = [:]
    /// Entries of predicates that are gone are dropped when there are so many.
    var limit = 256
  }

  private static let entries = Mutex(Entries())

  static func note(_ outcome: Result<FetchPredicate, FetchError>, of predicate: NSPredicate) {
    let entry = Entry(predicate: WeakReference(predicate), outcome: outcome)
    let id = ObjectIdentifier(predicate)
    entries.withLock { entries in
      entries.byObject[id] = entry
      guard entries.byObject.count > entries.limit else { return }
      entries.byObject = entries.byObject.filter { $0.value.predicate.object != nil }
      entries.limit = max(256, 2 * entries.byObject.count)
    }
  }

  static func outcome(of predicate: NSPredicate) -> Result<FetchPredicate, FetchError>? {
    let id = ObjectIdentifier(predicate)
    let entry = entries.withLock { $0.byObject[id] }
    // The place may be that of one that is gone.
    return entry?.predicate.object === predicate ? entry?.outcome : nil
  }

  /// Evaluates what a predicate asks on an object, or on a dictionary.
  static func block(
    _ outcome: Result<FetchPredicate, FetchError>
  ) -> @Sendable (Any?, [String: Any]?) -> Bool {
    { object, variables in
      do {
        var predicate = try outcome.get()
        if let variables {
          predicate = try predicate.withSubstitutionVariables(
            variables.mapValues(predicateArgument))
        }
        switch object {
        case let object as ManagedObject: return try predicate.evaluate(with: object)
        case let values as [String: Any]: return try predicate.evaluate(Values(values: values))
        case let values as NSDictionary:
          let named = values.reduce(into: [String: Any]()) { $0["\($1.key)"] = $1.value }
          return try predicate.evaluate(Values(values: named))
        default:
          throw FetchError(
            .unsupported, "A predicate with a format is for managed objects and dictionaries",
            suggestion: "Use a block for other objects.")
        }
      } catch {
        preconditionFailure("\(error)")
      }
    }
  }

  /// A dictionary as something that predicates read.
  private struct Values: PropertySource {
    let values: [String: Any]

    var predicateObjectKey: ObjectKey? { nil }

    func predicateValue(forKey key: String) -> PredicateValue? {
      .scalar(propertyValue(values[key]) ?? .null)
    }
  }
}

/// An argument as the library takes it: Foundation's classes as Swift's types.
func predicateArgument(_ argument: Any?) -> Any? {
  switch argument {
  case let list as [Any?]: list.map(predicateArgument)
  case let set as Set<AnyHashable>: set.map { predicateArgument($0.base) }
  case let array as NSArray: array.map { predicateArgument($0) }
  case let set as NSSet: set.allObjects.map { predicateArgument($0) }
  case let set as NSOrderedSet: set.array.map { predicateArgument($0) }
  case let token as NSPersistentHistoryToken: token.known
  case let value as ManagedObject: value
  case let value as ManagedObjectID: value
  // A text may be a key path, which the library takes as it is.
  default: propertyValue(argument).map { $0.plain } ?? argument
  }
}

/// A value of Swift's or Foundation's as the library's; nil for what is none.
func propertyValue(_ value: Any?) -> PropertyValue? {
  switch value {
  case nil, is NSNull: .null
  case let value as PropertyValue: value
  case let value as NSDecimalNumber: .decimal(value.decimalValue)
  case let value as any AttributeConvertible: value.propertyValue
  case let value as any BinaryInteger: Int64(exactly: value).map { .integer($0) }
  case let value as NSString: .string(String(describing: value))
  case let value as NSNumber: numberValue(value)
  case let value as NSDate:
    .date(Date(timeIntervalSinceReferenceDate: value.timeIntervalSinceReferenceDate))
  case let value as NSData: .data(Data(referencing: value))
  case let value as NSUUID: UUID(uuidString: value.uuidString).map { .uuid($0) }
  case let value as NSURL: URL(string: value.absoluteString).map { .uri($0) }
  default: nil
  }
}

/// A truth value is stored in one byte, like small numbers, of which 0 and 1 mean the same to a store.
private func numberValue(_ number: NSNumber) -> PropertyValue? {
  switch UInt8(bitPattern: number.objCType.pointee) {
  case UInt8(ascii: "d"), UInt8(ascii: "f"): .double(number.doubleValue)
  case UInt8(ascii: "Q"): Int64(exactly: number.uint64Value).map { .integer($0) }
  case UInt8(ascii: "B"),
    UInt8(ascii: "c") where (0...1).contains(number.intValue):
    .bool(number.boolValue)
  default: .integer(number.int64Value)
  }
}
