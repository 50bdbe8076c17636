/// The coordinator's stores as one context has taken them over, and what it looked up in them.
struct AttachedStores {
  /// In the order of their coming.
  private(set) var plans: [ObjectPlan] = []
  private var planByIndex: [ObjectPlan?] = []
  /// Which of the coordinator's changes of stores were taken over.
  private var version = -1
  private var shapesByType: [ObjectIdentifier: ObjectShape] = [:]
  /// The class that was asked for last, with its shape.
  private var latest: (type: ManagedObject.Type, shape: ObjectShape)?

  /// Whether the coordinator changed its stores since this was asked last.
  mutating func isOlder(than version: Int) -> Bool {
    defer { self.version = version }
    return version != self.version
  }

  /// Takes the stores over that there are now.
  mutating func attach(_ attached: [ObjectPlan]) {
    plans = attached
    planByIndex = []
    for plan in attached {
      while planByIndex.count <= plan.index { planByIndex.append(nil) }
      planByIndex[plan.index] = plan
    }
    shapesByType = [:]
    latest = nil
  }

  /// nil for a store that is not attached any more.
  func plan(at index: Int) -> ObjectPlan? {
    planByIndex.indices.contains(index) ? planByIndex[index] : nil
  }

  /// Whether the plan is one of them.
  func has(_ plan: ObjectPlan) -> Bool { self.plan(at: plan.index) === plan }

  /// The shape that was found for a class.
  @inline(__always)
  mutating func shape(for type: ManagedObject.Type) -> ObjectShape? {
    if let latest, latest.type == type { return latest.shape }
    guard let shape = shapesByType[ObjectIdentifier(type)] else { return nil }
    latest = (type, shape)
    return shape
  }

  /// Keeps what was found for a class.
  mutating func keep(_ shape: ObjectShape, for type: ManagedObject.Type) {
    shapesByType[ObjectIdentifier(type)] = shape
  }
}
