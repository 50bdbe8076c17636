public import Foundation

// Foundation's index paths on Linux are numbers alone; lists of fetched results speak of sections and rows.
extension IndexPath {
  /// The place of a row in a section.
  public init(row: Int, section: Int) { self.init(indexes: [section, row]) }
  /// The place of an item in a section.
  public init(item: Int, section: Int) { self.init(indexes: [section, item]) }

  /// The index of the section.
  public var section: Int { self[0] }
  /// The index in the section.
  public var row: Int { self[1] }
  /// The index in the section.
  public var item: Int { self[1] }
}
