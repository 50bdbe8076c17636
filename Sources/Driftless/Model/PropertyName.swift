import Synchronization

/// The name of a property, and a small number that stands for it in this process.
///
/// An entity finds the slot of a property by that number in an array, without hashing the name.
public struct PropertyName: Hashable, Sendable {
  @usableFromInline package let id: Int
  /// The name as the model has it.
  public let name: String

  private struct Table {
    var ids: [String: Int] = [:]
  }

  private static let table = Mutex(Table())

  /// Looks the name up among those of the process, and adds it when it is new. It may be called on any thread.
  public init(_ name: String) {
    self.name = name
    id = Self.table.withLock { table in
      if let id = table.ids[name] { return id }
      let id = table.ids.count
      table.ids[name] = id
      return id
    }
  }

  public static func == (a: PropertyName, b: PropertyName) -> Bool { a.id == b.id }
  public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
