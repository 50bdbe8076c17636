/// What was added to and removed from a many-to-many relationship, row by row, as indexes in the
/// object table.
public struct ElementRows: Hashable, Sendable {
  /// For each row, where its added elements end and where its removed ones end in `elements`.
  private(set) var addedEnds: [Int32] = []
  private(set) var removedEnds: [Int32] = []
  /// Row by row: added, then removed.
  private(set) var elements: [Int32] = []

  /// No rows.
  public init() {}

  init(addedEnds: [Int32], removedEnds: [Int32], elements: [Int32]) {
    self.addedEnds = addedEnds
    self.removedEnds = removedEnds
    self.elements = elements
  }

  /// How many rows there are.
  public var count: Int { removedEnds.count }
  /// Elements of all rows together.
  public var elementCount: Int { elements.count }

  /// Adds a row: indexes in the object table.
  public mutating func append(added: [Int32], removed: [Int32]) {
    elements.append(contentsOf: added)
    addedEnds.append(Int32(clamping: elements.count))
    elements.append(contentsOf: removed)
    removedEnds.append(Int32(clamping: elements.count))
  }

  /// The objects that a row adds, in the order of `append`.
  public func added(at row: Int) -> ArraySlice<Int32> {
    elements[start(of: row)..<Int(addedEnds[row])]
  }

  /// The objects that a row removes, in the order of `append`.
  public func removed(at row: Int) -> ArraySlice<Int32> {
    elements[Int(addedEnds[row])..<Int(removedEnds[row])]
  }

  private func start(of row: Int) -> Int { row == 0 ? 0 : Int(removedEnds[row - 1]) }
}
