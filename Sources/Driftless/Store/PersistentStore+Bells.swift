/// Words between the processes of a store that change nothing in its history.
extension PersistentStore {
  /// Tells all who listen for it (``bells()``), in this process and others, that there is something to look at. A store in memory has
  /// nobody who would hear.
  package func ring() { connections.ring() }

  /// A stream that yields when somebody rings, and after commits.
  package func bells() -> AsyncStream<Void> {
    notifications.bells { [weak self] in self?.newestTransaction }
  }
}
