/// How much a change set may claim before it is refused: the tuning file of the protocol.
///
/// All bounds hold before memory is taken: what a frame declares is checked first, and what it then
/// holds must be what it declared. A server tells its own bounds by refusing with *too-large*.
public struct ChangeSetLimits: Hashable, Sendable {
  /// A whole frame, as sent. Bytes. Well above the 10⁵ inserts that one push of an import makes.
  public var frameBytesMax = 64 << 20
  /// The index section, inflated. Bytes. An object takes 1 to 4; explicit identities 16 more.
  public var indexBytesMax = 32 << 20
  /// The values section, inflated. Bytes. Room for a few binary values of many megabytes.
  public var valuesBytesMax = 256 << 20
  /// How many times larger than its compressed form a section may be. Real columns stay below 50;
  /// DEFLATE itself ends at 1032, which is what a bomb uses. The encoder leaves a section
  /// uncompressed rather than pass it.
  public var inflationRatioMax = 250
  /// Sections up to this size may inflate at any ratio. Bytes: small enough to harm nobody.
  public var inflationRatioFreeBytes = 1 << 20
  /// Objects in the object table.
  public var objectsMax = 1_000_000
  /// Groups: kinds of change to different sets of properties.
  public var groupsMax = 20_000
  /// Columns: properties of all groups together.
  public var columnsMax = 400_000
  /// Rows of all groups together.
  public var rowsMax = 4_000_000
  /// Values, present or null, of all columns together: each takes 1 to 16 bytes of memory.
  public var cellsMax = 16_000_000
  /// Elements added to or removed from relationships, all columns together.
  public var elementsMax = 8_000_000
  /// Transactions told by one change set.
  public var transactionsMax = 200_000
  /// Runs of rows that share a transaction, all groups together.
  public var transactionRunsMax = 2_000_000
  /// Entities named.
  public var entitiesMax = 4_000
  /// Properties named, all entities together.
  public var propertiesMax = 40_000
  /// Large values named: 40 bytes of the index section each.
  public var valuesMax = 200_000
  /// Bytes of the large values that rows name, once for each row, where more than one row names any: whoever reads the change set
  /// has them in memory.
  public var valueRowBytesMax = 1 << 30
  /// A name of an entity, property, author or context, in UTF-8. Bytes.
  public var nameBytesMax = 1_000

  /// The limits above.
  public init() {}
}
