import Foundation

/// Why objects cannot be saved: all that is wrong, at once.
public struct ValidationFailure: Error, CustomStringConvertible {
  /// One object's one defect. `error` is a ``ValidationError``, or what an override threw.
  public struct Item: CustomStringConvertible, Sendable {
    /// The object.
    public let objectID: ManagedObjectID
    /// What is wrong with it.
    public let error: any Error

    public var description: String { "\(objectID): \(error)" }
  }

  /// Every defect of every object.
  public let items: [Item]

  /// Throws what is wrong: an application's own error as it is when it is the only one.
  static func check(_ items: [Item]) throws {
    guard let first = items.first else { return }
    if items.count == 1, !(first.error is ValidationError) { throw first.error }
    throw ValidationFailure(items: items)
  }

  /// What to do about it.
  public var suggestion: String { "Correct the values, or delete the objects, and save again." }

  public var description: String {
    let list = items.prefix(20).map(\.description).joined(separator: "\n")
    return "\(items.count) value(s) cannot be saved. \(suggestion)\n\(list)"
  }
}

/// Several defects of one object: what ``ManagedObject/validateForInsert()`` and its like throw for more than one.
///
/// An override that finds more adds to them:
///
/// ```swift
/// override func validateForInsert() throws {
///   var errors: [any Error] = []
///   do { try super.validateForInsert() } catch { errors.append(error) }
///   if ends < starts { errors.append(EventError.endsBeforeItStarts) }
///   if !errors.isEmpty { throw ValidationErrors(errors) }
/// }
/// ```
public struct ValidationErrors: Error, CustomStringConvertible {
  /// At least one.
  public let errors: [any Error]

  /// - Parameter errors: at least one; several that one of them stands for are taken one by one.
  public init(_ errors: [any Error]) {
    self.errors = errors.flatMap { Self.details(of: $0) }
  }

  public var description: String { errors.map { "\($0)" }.joined(separator: "\n") }

  /// Core Data's code of such an error: `NSValidationMultipleErrorsError`.
  static let cocoaCode = 1560

  /// The errors that one error stands for, however it was made.
  static func details(of error: any Error) -> [any Error] {
    if let errors = error as? ValidationErrors { return errors.errors }
    let nsError = error as NSError
    guard nsError.domain == NSCocoaErrorDomain,
      nsError.code == cocoaCode,
      let details = nsError.userInfo["NSDetailedErrors"] as? [any Error], !details.isEmpty
    else { return [error] }
    return details.flatMap { Self.details(of: $0) }
  }
}

extension ManagedObject {
  /// Does a check whose errors an application may meet itself, in the form that its context gives them.
  final func formed(_ check: () throws -> Void) throws {
    do { try check() } catch { throw graph?.errorForm?(error, self) ?? error }
  }

  /// Checks every property against the model's rules.
  final func validateProperties() throws {
    if state.contains(.fault), changed.isEmpty { return }
    var errors: [any Error] = []
    var broken: Set<Int> = []
    applyRules(into: &errors)
    for index in shape.restrictedSlots {
      let slot = shape.layout.slots[index]
      do throws(ValidationError) {
        switch slot.kind {
        case .attribute(let attribute, _):
          // A new key of a fault that only got new related objects: its values did not change.
          if state.contains(.fault) || values[slot.index].isInZone { continue }
          try attribute.validate(values[slot.index])
        case .toOne(let relationship):
          if state.contains(.fault) { continue }
          if !slot.isOptional, values[slot.index].isNull { throw missing(relationship) }
          if !values[slot.index].isNull { try relationship.validatePredicates(on: self) }
        case .toMany(let relationship):
          try validateCount(relationship, slot)
          if isInserted || changed.contains(slot.index) {
            try relationship.validatePredicates(on: self)
          }
        }
      } catch {
        broken.insert(index)
        if graph?.admitsUnfit?(self, index) != true { errors.append(error) }
      }
    }
    applyMethods(except: broken, into: &errors)
    if errors.count == 1 { throw errors[0] }
    if !errors.isEmpty { throw ValidationErrors(errors) }
  }

  private final func validateCount(
    _ relationship: RelationshipDescription, _ slot: PropertySlot
  ) throws(ValidationError) {
    let isBounded = relationship.minCount > 0 || relationship.maxCount > 0 || !slot.isOptional
    guard isBounded, isInserted || changed.contains(slot.index) else { return }
    try validate(destinationKeys(slot.index).count, relationship)
  }

  /// Checks how many objects a to-many relationship holds.
  final func validate(
    _ count: Int, _ relationship: RelationshipDescription
  ) throws(ValidationError) {
    if count == 0 {
      // No object is a value of a relationship to many, as an empty text is one: how many there have to be, its count says.
      if relationship.isOptional || relationship.minCount == 0 { return }
      throw failure(relationship, ValidationError.relationshipLacksMinimumCount, "is required")
    }
    if count < relationship.minCount {
      throw failure(
        relationship, ValidationError.relationshipLacksMinimumCount,
        "holds \(count) objects and needs \(relationship.minCount)")
    }
    if relationship.maxCount > 0, count > relationship.maxCount {
      throw failure(
        relationship, ValidationError.relationshipExceedsMaximumCount,
        "holds \(count) objects and takes \(relationship.maxCount)")
    }
  }

  /// Checks the relationships whose delete rule is deny.
  final func validateDeletion() throws {
    for case let relation? in shape.relations where relation.description.deleteRule == .deny {
      let objects =
        relation.isToMany
        ? destinations(relation.slot)
        : [destination(of: relation, as: ManagedObject.self)].compactMap { $0 }
      if objects.contains(where: { !$0.isDeleted }) {
        throw failure(
          relation.description, ValidationError.relationshipDeniedDelete,
          "still holds objects, and its delete rule is deny")
      }
    }
  }

  final func missing(_ relationship: RelationshipDescription) -> ValidationError {
    failure(relationship, ValidationError.missingMandatoryProperty, "is required")
  }

  private final func failure(
    _ relationship: RelationshipDescription, _ code: Int, _ message: String
  ) -> ValidationError {
    ValidationError(code: code, property: relationship, message: message)
  }
}
