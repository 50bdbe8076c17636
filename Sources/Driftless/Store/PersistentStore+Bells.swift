/// Words between the processes of a store that change nothing in its history.
extension PersistentStore {
  /// Tells all who listen for it (``bells()``), in this process and others, that there is something to look at. A store in memory has
  /// nobody who would hear.
  package func ring() { connections.ring() }

  /// A stream that yields when somebody rings, and after commits.
  package func bells() -> AsyncStream<Void> {
    notifications.bells { [weak self] in self?.newestTransaction }
  }

  /// A stream that yields the number of the newest transaction after each commit, of this process or another.
  public func changes() -> AsyncStream<Int64> {
    notifications.stream { [weak self] in self?.newestTransaction }
  }

  /// Calls back after each commit, of this process or another, until what is returned is let go of.
  func follow(_ follower: @escaping @Sendable (StoreCommits) -> Void)
    -> CommitNotifications.Following
  {
    notifications.follow({ [weak self] in self?.newestTransaction }, follower)
  }
}
