/// What one replica changed, as it crosses the wire: which objects, which properties, which values.
///
/// A change set in memory is columns, like its bytes: `columns` holds one column for each property
/// of each group, in the order of `index.groups` and of each group's properties; row `i` of a
/// column belongs to object `i` of its group.
///
/// ```swift
/// let frame = try ChangeSetEncoder().encode(changeSet)
/// let same = try ChangeSetDecoder().decode(frame)
/// ```
///
/// Laws, checked when bytes are read and when they are made: every (object, property) occurs at
/// most once; each new object stands in exactly one insert group; a deleted object in no other
/// group; known objects are sorted by number; all indexes are within their tables.
public struct ChangeSet: Hashable, Sendable {
  /// Who made it, on what.
  public var header: ChangeSetHeader
  /// What it touches, without a value.
  public var index: ChangeSetIndex
  /// The values: a column for each property of each group.
  public var columns: [Column]

  /// Takes the parts as they are; whether they fit each other is checked by the encoder.
  public init(header: ChangeSetHeader, index: ChangeSetIndex, columns: [Column]) {
    self.header = header
    self.index = index
    self.columns = columns
  }
}
