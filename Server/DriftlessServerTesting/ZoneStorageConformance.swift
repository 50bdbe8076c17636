/// What every storage owes the routes, whatever database it is made of: one case a rule.
///
/// Each case is given a storage that is new, runs on it, and throws `ConformanceFailure` where a rule does not hold:
///
///     for item in ZoneStorageConformance.cases { try await item.run(StorageUnderTest(open: …, administer: …)) }
package enum ZoneStorageConformance {
  package static let cases =
    AppendCases.all + StaleCases.all + LifeCases.all + SnapshotCases.all
    + CodeCases.all + ValueCases.all + LimitCases.all + ForgettingCases.all + PurgeCases.all
}

/// One rule, and what shows that it holds.
package struct StorageCase: Sendable, CustomStringConvertible {
  /// The rule.
  package let description: String
  /// - Throws: `ConformanceFailure`, and what the storage throws where it must not.
  package let run: @Sendable (StorageUnderTest) async throws -> Void

  init(
    _ description: String, _ run: @escaping @Sendable (StorageUnderTest) async throws -> Void
  ) {
    self.description = description
    self.run = run
  }
}
