extension RelationshipDescription {
  /// Checks the validation predicates on what an object has in the relationship: `SELF` is the
  /// object at the other end, or the objects (`SELF.@count < 10`).
  ///
  /// - Throws: ``ValidationError`` for the first predicate that does not hold.
  func validatePredicates(on owner: any PropertySource) throws(ValidationError) {
    for (index, predicate) in validationPredicates.enumerated() {
      let ofOwner = predicate.mapExpressions { expression in
        guard case .keyPath(let path) = expression else { return expression }
        return FetchExpression.keyPath([name] + path)
      }
      let holds: Bool
      do throws(FetchError) {
        holds = try ofOwner.evaluate(owner)
      } catch {
        throw ValidationError(
          code: ValidationError.managedObjectValidation, property: self, message: "\(error)")
      }
      guard holds else { throw ValidationError(self, validationWarnings, at: index, predicate) }
    }
  }
}
