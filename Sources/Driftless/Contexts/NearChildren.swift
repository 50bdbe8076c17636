/// The contexts on a context that are used where that is. None is kept.
struct NearChildren {
  private struct WeakContext {
    weak var context: ManagedObjectContext?
  }

  private var contexts: [WeakContext] = []

  var areThere: Bool { contexts.contains { $0.context != nil } }

  mutating func add(_ child: ManagedObjectContext) {
    contexts.removeAll { $0.context == nil }
    contexts.append(WeakContext(context: child))
  }

  var all: [ManagedObjectContext] { contexts.compactMap(\.context) }
}
