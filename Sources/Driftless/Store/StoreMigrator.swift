import Foundation

/// Brings a store to another model. A store does not know how: that is the affair of rooms above, and the options carry it
/// here.
protocol StoreMigrating: Hashable, Sendable {
  /// Whether a store of another model is migrated when it is opened; otherwise opening it fails.
  var isWanted: Bool { get }

  /// Migrates the closed store in a file.
  ///
  /// - Parameter configuration: The configuration of the model whose entities the store has; nil for all.
  func migrate(
    at url: URL, to model: ManagedObjectModel, _ configuration: String?, options: StoreOptions
  ) throws
}

/// Holds what migrates, so that options that carry it can be compared.
struct StoreMigrator: Hashable, Sendable {
  let migrating: any StoreMigrating

  static func == (left: Self, right: Self) -> Bool {
    AnyHashable(left.migrating) == AnyHashable(right.migrating)
  }

  func hash(into hasher: inout Hasher) { migrating.hash(into: &hasher) }
}
