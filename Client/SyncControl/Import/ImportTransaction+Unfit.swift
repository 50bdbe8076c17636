import Driftless

extension ImportTransaction {
  /// Takes values of an object as the line has them, though the model refuses them: a merge left a required reference empty,
  /// say, and an export of that store says so.
  func admit(
    _ names: [String], of object: ManagedObject, _ line: Int
  ) throws(ImportError) {
    guard !names.isEmpty else { return }
    let shape = shapes.shape(of: object.entity)
    var slots: Set<Int> = []
    for name in names {
      guard let slot = object.entity.layout.index(named: name) else {
        throw shape.unknown(name, line)
      }
      slots.insert(slot)
    }
    if unfit.isEmpty {
      context.admitsUnfit = { [weak self] object, slot in
        self?.unfit[ObjectIdentifier(object)]?.contains(slot) == true
      }
    }
    unfit[ObjectIdentifier(object), default: []].formUnion(slots)
    counts.unfit += 1
  }
}
