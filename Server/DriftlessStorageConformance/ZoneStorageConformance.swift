/// What every storage owes the routes, whatever database it is made of: one case a rule.
///
/// Each case is given a storage that is new, runs on it, and throws `ConformanceFailure` where a rule does not hold:
///
///     for item in ZoneStorageConformance.cases { try await item.run(StorageUnderTest(open: …, administer: …)) }
public enum ZoneStorageConformance {
  /// All of them. A storage that keeps no large values, say, has no case less: each says what such a one owes.
  public static let cases = logs + lives + forgetting + access + values + snapshots

  /// Zones and their logs: what is appended, refused and given, by which bounds. An author begins with these.
  public static let logs = AppendCases.all + StaleCases.all + LimitCases.all

  /// Generations, tokens, and several openings.
  public static let lives = LifeCases.all

  /// Replicas that are forgotten, and formats that are raised.
  public static let forgetting = ForgettingCases.all

  /// Codes for one use.
  public static let access = CodeCases.all

  /// Large values.
  public static let values = ValueCases.all

  /// Logs that are added up, and shortened.
  public static let snapshots = SnapshotCases.all + PurgeCases.all
}

/// One rule, and what shows that it holds.
public struct StorageCase: Sendable, CustomStringConvertible {
  /// The rule.
  public let description: String
  /// Shows it on a storage that is new.
  ///
  /// - Throws: `ConformanceFailure`, and what the storage throws where it must not.
  public let run: @Sendable (StorageUnderTest) async throws -> Void

  init(
    _ description: String, _ run: @escaping @Sendable (StorageUnderTest) async throws -> Void
  ) {
    self.description = description
    self.run = run
  }
}
