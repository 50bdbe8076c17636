/// What accessors met and could not throw.
extension ManagedObjectContext {
  /// What accessors met since the last rollback, reset or ``clearAccessorErrors()`` and could not throw, the oldest first and
  /// a hundred at most: objects that could not be read, values that do not fit, properties that there are not.
  ///
  /// While there is one, ``save()`` throws it, or an ``AccessorFailure`` with all, and writes nothing: what could not be read reads as empty, and what was
  /// worked out from that must not become data.
  ///
  /// ```swift
  /// if !context.accessorErrors.isEmpty { context.rollback() }
  /// ```
  public var accessorErrors: [any Error] { graph.accessorErrors }

  /// Lets saves write again what the context has, after a look at ``accessorErrors``. What could not be read is read anew at
  /// its next access. ``rollback()`` does it too, and gives up what was changed.
  public func clearAccessorErrors() { graph.clearAccessorErrors() }

  /// Throws what keeps a save from being done.
  func throwAccessorError() throws {
    guard let error = AccessorFailure.error(of: graph.accessorErrors) else { return }
    if standIn.tellsAccessorErrorsOnce { graph.clearAccessorErrors() }
    throw error
  }

  /// Works with objects in `body`, and throws the first error that their accessors meet, in place of keeping it for the
  /// next save. The change that failed was not made; others of `body` stand.
  ///
  /// ```swift
  /// let sum = try context.accessing { books.reduce(0) { $0 + $1.pages } }
  /// ```
  /// - Throws: what `body` throws, else ``ObjectError`` with the code `unreadable`, `typeMismatch` or `unknownProperty`.
  public func accessing<Result>(_ body: () throws -> Result) throws -> Result {
    try graph.throwingErrors(of: body)
  }
}
