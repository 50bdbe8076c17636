import Driftless
public import Foundation

extension CocoaError {
  /// The name of the property that breaks a rule.
  public var validationKey: String? { userInfo[NSValidationKeyErrorKey] as? String }
  /// The object that breaks a rule.
  public var validationObject: Any? { userInfo[NSValidationObjectErrorKey] }
  /// The value that breaks a rule.
  public var validationValue: Any? { userInfo[NSValidationValueErrorKey] }
  /// The predicate that a value breaks.
  public var validationPredicate: NSPredicate? {
    userInfo[NSValidationPredicateErrorKey] as? NSPredicate
  }
  /// The objects that the error is about.
  public var affectedObjects: [AnyObject]? { userInfo[NSAffectedObjectsErrorKey] as? [AnyObject] }
  /// The stores that the error is about.
  public var affectedStores: [AnyObject]? { userInfo[NSAffectedStoresErrorKey] as? [AnyObject] }
  /// The conflicts that a save met.
  public var persistentStoreSaveConflicts: [NSMergeConflict]? {
    userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict]
  }
}

/// An error as Core Data gives it: one of the library's as an `NSError` of Core Data's domain, code and keys, which is caught
/// as `CocoaError` too. Others, an application's own among them, stay as they are.
///
/// - Parameter context: Whose objects take the places of their IDs; nil to leave these.
func cocoaError(_ error: any Error, in context: NSManagedObjectContext? = nil) -> any Error {
  switch error {
  case is ModelError, is FetchError:
    return NSError(
      domain: NSCocoaErrorDomain, code: NSCoreDataError,
      userInfo: [NSLocalizedDescriptionKey: "\(error)", NSUnderlyingErrorKey: error])
  case let failure as AccessorFailure:
    return NSError(
      domain: NSCocoaErrorDomain, code: NSValidationMultipleErrorsError,
      userInfo: [
        NSLocalizedDescriptionKey: failure.localizedDescription,
        NSLocalizedRecoverySuggestionErrorKey: failure.suggestion,
        NSDetailedErrorsKey: failure.errors.map { cocoaError($0, in: context) as NSError },
      ])
  case is ObjectError, is StoreError, is ValidationError, is ValidationErrors, is ValidationFailure,
    is SaveConflictError, is ConstraintConflictError:
    let known = error as NSError
    // An application's error that is the only one of an object is thrown as it is.
    guard known.domain == NSCocoaErrorDomain else { return error }
    return described(known, in: context)
  default: return error
  }
}

/// An error that an object throws itself, as Core Data gives it, with the object.
func cocoaError(_ error: any Error, of object: ManagedObject) -> any Error {
  if error is ValidationErrors {
    let known = error as NSError
    guard known.domain == NSCocoaErrorDomain else { return error }
    let details = known.userInfo[NSDetailedErrorsKey] as? [NSError]
    var userInfo = described(known, in: nil).userInfo
    userInfo[NSDetailedErrorsKey] = details?.map { named(described($0, in: nil), object) }
    return NSError(domain: known.domain, code: known.code, userInfo: userInfo)
  }
  let known = cocoaError(error)
  return error is ValidationError ? named(known as NSError, object) : known
}

private func named(_ error: NSError, _ object: ManagedObject) -> NSError {
  guard error.domain == NSCocoaErrorDomain else { return error }
  let userInfo = error.userInfo.merging([
    NSValidationObjectErrorKey: object, NSAffectedObjectsErrorKey: [object],
  ]) { own, _ in own }
  return NSError(domain: error.domain, code: error.code, userInfo: userInfo)
}

private func described(_ error: NSError, in context: NSManagedObjectContext?) -> NSError {
  var userInfo = error.userInfo
  if let id = userInfo[NSValidationObjectErrorKey] as? ManagedObjectID,
    let object = context?.base.registeredObject(for: id)
  {
    userInfo[NSValidationObjectErrorKey] = object
  }
  if let value = userInfo[NSValidationValueErrorKey] {
    userInfo[NSValidationValueErrorKey] = foundationValue(value)
  }
  if let details = userInfo[NSDetailedErrorsKey] as? [NSError] {
    userInfo[NSDetailedErrorsKey] = details.map { described($0, in: context) }
  }
  if let predicate = userInfo[NSValidationPredicateErrorKey] as? FetchPredicate {
    userInfo[NSValidationPredicateErrorKey] = NSPredicate.made(of: predicate)
  }
  if let context {
    if let ids = userInfo[NSAffectedObjectsErrorKey] as? [ManagedObjectID] {
      userInfo[NSAffectedObjectsErrorKey] = ids.compactMap(context.base.registeredObject)
    }
    switch userInfo[NSPersistentStoreSaveConflictsErrorKey] {
    case let conflicts as [MergeConflict]:
      userInfo[NSPersistentStoreSaveConflictsErrorKey] = conflicts.map {
        NSMergeConflict($0, context)
      }
    case let conflicts as [ConstraintConflict]:
      userInfo[NSPersistentStoreSaveConflictsErrorKey] = conflicts.map {
        NSConstraintConflict($0, context)
      }
    default: break
    }
  }
  return NSError(domain: error.domain, code: error.code, userInfo: userInfo)
}
