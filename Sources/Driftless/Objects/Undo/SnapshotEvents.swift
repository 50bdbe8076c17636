/// What changed an object other than its own setters; see ``ManagedObject/awake(fromSnapshotEvents:)``.
public struct SnapshotEvents: OptionSet, Sendable {
  public let rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }

  /// An insert was taken back.
  public static let undoInsertion = SnapshotEvents(rawValue: 1 << 1)
  /// A delete was taken back.
  public static let undoDeletion = SnapshotEvents(rawValue: 1 << 2)
  /// A change was taken back, or done again.
  public static let undoUpdate = SnapshotEvents(rawValue: 1 << 3)
  /// The context gave its changes up.
  public static let rollback = SnapshotEvents(rawValue: 1 << 4)
  /// The object was refreshed.
  public static let refresh = SnapshotEvents(rawValue: 1 << 5)
  /// A merge policy gave it other values in a save.
  public static let mergePolicy = SnapshotEvents(rawValue: 1 << 6)
}
