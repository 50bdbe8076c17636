import Synchronization

/// What classes of objects add to what the model says, by class and name; a class has what its superclasses have.
package final class ClassMembers<Member: Sendable>: Sendable {
  private struct Registry {
    var own: [ObjectIdentifier: [String: [Member]]] = [:]
    /// With those of the superclasses.
    var all: [ObjectIdentifier: [String: [Member]]] = [:]
  }

  private let registry = Mutex(Registry())
  private let count = Atomic<Int>(0)

  package init() {}

  package func add(_ member: Member, named name: String, of type: ManagedObject.Type) {
    registry.withLock {
      $0.own[ObjectIdentifier(type), default: [:]][name, default: []].append(member)
      $0.all = [:]
    }
    count.add(1, ordering: .releasing)
  }

  /// Whether no class has any: most programs have none, and pay for this question alone.
  package var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

  /// Those of a class, what its superclasses have first.
  package func all(of type: ManagedObject.Type) -> [String: [Member]] {
    if isEmpty { return [:] }
    return registry.withLock { registry in
      if let all = registry.all[ObjectIdentifier(type)] { return all }
      let all = lineage(of: type).reversed().reduce(into: [:]) { all, one in
        all.merge(registry.own[ObjectIdentifier(one)] ?? [:]) { $0 + $1 }
      }
      registry.all[ObjectIdentifier(type)] = all
      return all
    }
  }
}

/// A class and those above it.
private func lineage(of type: AnyClass) -> [AnyClass] {
  [type] + (_getSuperclass(type).map(lineage(of:)) ?? [])
}

/// The members of a module's classes that key-value coding reaches: `CoreDataPlugin` makes one type of it a module, named
/// `ManagedKeys`, which is found by that name.
public protocol KeyedMembers {
  /// Registers the members. It is called once, when the first of the module's classes becomes known.
  static func connect()
}

/// Modules whose ``KeyedMembers`` were looked for.
enum KeyedModules {
  private static let met = Mutex<Set<String>>([])

  /// Connects the module of a class, and those of its superclasses.
  static func meet(_ type: ManagedObject.Type) {
    for one in lineage(of: type) {
      guard let module = String(reflecting: one).split(separator: ".").first.map(String.init)
      else { continue }
      met.withLock { met in
        guard met.insert(module).inserted else { return }
        let mangled = "\(module.utf8.count)\(module)11ManagedKeysO"
        // Other letters are mangled in another way.
        guard module.utf8.allSatisfy({ $0 < 0x80 }) else { return }
        (_typeByName(mangled) as? any KeyedMembers.Type)?.connect()
      }
    }
  }
}
