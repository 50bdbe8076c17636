import Synchronization

/// The frozen models of the process, for classes that ask for the entity that they stand for.
enum FrozenModels {
  private struct Weak: Sendable { weak let model: ManagedObjectModel? }

  private static let models = Mutex<[Weak]>([])

  static func note(_ model: ManagedObjectModel) {
    models.withLock { models in
      guard !models.contains(where: { $0.model === model }) else { return }
      models.removeAll { $0.model == nil }
      models.append(Weak(model: model))
    }
  }

  /// Those that are still in use.
  static var all: [ManagedObjectModel] { models.withLock { $0.compactMap(\.model) } }
}
