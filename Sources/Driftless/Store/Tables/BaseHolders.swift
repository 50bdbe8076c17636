package import DriftlessSQLite
import Foundation

/// Whose kept sets and references hold an object, for who asks that of many objects within one transaction: what is kept of a
/// property is read once, and what is written after that is followed.
package final class BaseHolders {
  /// What is kept of properties of one name.
  private struct Held {
    var elements: [ObjectKey: [ObjectKey]] = [:]
    var owners: [ObjectKey: Set<ObjectKey>] = [:]

    mutating func set(_ elements: [ObjectKey], of owner: ObjectKey) {
      for former in self.elements.removeValue(forKey: owner) ?? [] {
        owners[former]?.remove(owner)
      }
      guard !elements.isEmpty else { return }
      self.elements[owner] = elements
      for element in elements { owners[element, default: []].insert(owner) }
    }
  }

  private let connection: SQLiteConnection
  private var held: [String: Held] = [:]

  package init(_ connection: SQLiteConnection) { self.connection = connection }

  /// The objects of whose kept values of a property of this name one holds or refers to another object, in a set order. A property
  /// of this name in another entity may be another thing.
  package func owners(
    named property: String, of element: ObjectKey
  ) throws -> [ObjectKey] {
    if connection.follower !== self {
      // Others were told meanwhile.
      held = [:]
      connection.follower = self
    }
    if held[property] == nil {
      var all = Held()
      try BaseValues.forEach(named: property, on: connection) { owner, bytes in
        all.set(try BaseValues.ElementSet(bytes).elements, of: owner)
      }
      held[property] = all
    }
    return (held[property]?.owners[element] ?? []).sorted {
      ($0.entity, $0.key) < ($1.entity, $1.key)
    }
  }

  /// Tells who follows what is kept that something is written.
  ///
  /// - Parameters:
  ///   - property: nil for all of the object's.
  ///   - bytes: nil where nothing is kept any more.
  static func tell(
    _ key: ObjectKey, _ property: String?, _ bytes: Data?, on connection: SQLiteConnection
  ) throws {
    guard let follower = connection.follower as? BaseHolders, !follower.held.isEmpty else { return }
    guard let property else {
      for name in Array(follower.held.keys) { follower.held[name]?.set([], of: key) }
      return
    }
    guard follower.held[property] != nil else { return }
    follower.held[property]?.set(
      try bytes.map { try BaseValues.ElementSet($0).elements } ?? [], of: key)
  }
}
