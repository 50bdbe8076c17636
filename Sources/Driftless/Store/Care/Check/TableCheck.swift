/// Who keeps tables of a store's file looks after their rules with one of these.
package protocol TableCheck: Sendable {
  /// The tables, but those of entities and relationships, whose names come from the model.
  var tables: [String] { get }

  /// Whether there is something to look at: an engine's tables are in a store that syncs alone.
  func isWanted(_ inspection: StoreInspection) throws -> Bool

  /// Reports what is not as it should be. It reads each table a fixed number of times, and keeps nothing a row.
  func check(_ inspection: StoreInspection) throws
}

extension TableCheck {
  package func isWanted(_ inspection: StoreInspection) throws -> Bool { true }
}
