public import Driftless
public import DriftlessProtocol
import DriftlessSQLite
package import Foundation

/// The name by which people know a replica.
extension SyncEngine {
  static let nameSetting = "sync.replicaName"

  /// The name that a store was given as a replica; nil where it was given none, and goes by its host's (`ReplicaName.ofHost`).
  ///
  /// - Throws: `StoreError`.
  public static func name(of store: PersistentStore) throws -> ReplicaName? {
    try store.read { try name($0) }
  }

  /// The store as a replica, with the name that its server shows; nil for one that is not enrolled.
  package static func ownReplica(
    of store: PersistentStore
  ) throws -> (replica: UUID, name: String?)? {
    try store.read { transaction in
      guard let state = try ReplicaState.load(from: transaction.connection) else { return nil }
      return (state.replica, (try name(transaction) ?? ReplicaName.ofHost)?.text)
    }
  }

  /// Gives a store a name that its server shows to its operator in place of the host's; it is told from the next request of a
  /// new transport on.
  ///
  /// - Parameters:
  ///   - name: Nil for the host's again.
  ///   - store: An open store, enrolled or not.
  /// - Throws: `StoreError`.
  public static func setName(_ name: ReplicaName?, of store: PersistentStore) throws {
    _ = try store.write(TransactionInfo(author: importAuthor, kind: .imported)) {
      try $0.setSetting(nameSetting, name.map { .text($0.text) })
    }
  }

  static func name(_ transaction: ReadTransaction) throws -> ReplicaName? {
    guard case .text(let text)? = try transaction.setting(nameSetting) else { return nil }
    return ReplicaName(text)
  }
}
