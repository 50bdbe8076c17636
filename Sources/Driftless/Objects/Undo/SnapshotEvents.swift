/// What changed an object other than its own setters; see ``ManagedObject/awake(fromSnapshotEvents:)``.
public struct SnapshotEvents: OptionSet, Sendable {
  public let rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }

  public static let undoInsertion = SnapshotEvents(rawValue: 1 << 1)
  public static let undoDeletion = SnapshotEvents(rawValue: 1 << 2)
  public static let undoUpdate = SnapshotEvents(rawValue: 1 << 3)
  public static let rollback = SnapshotEvents(rawValue: 1 << 4)
  public static let refresh = SnapshotEvents(rawValue: 1 << 5)
  public static let mergePolicy = SnapshotEvents(rawValue: 1 << 6)
}
