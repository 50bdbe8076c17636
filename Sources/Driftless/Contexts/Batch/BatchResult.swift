/// What a batch request tells about what it did. The raw values are Core Data's.
public enum BatchResultType: Int, Sendable {
  /// That it was done.
  case statusOnly = 0
  /// The IDs of the objects.
  case objectIDs = 1
  /// How many objects.
  case count = 2
}

/// What a batch request did. A request that could not be carried out throws, and has changed nothing.
public struct BatchResult: Sendable {
  /// What the request asked for.
  public let resultType: BatchResultType
  /// The objects that were inserted, updated or deleted, when the request asked for them.
  public let objectIDs: [ManagedObjectID]?
  /// How many they are, when the request asked for it.
  public let count: Int?

  /// - Parameter tallies: One for each store that was written.
  init(_ tallies: [BatchTally], _ type: BatchResultType) {
    resultType = type
    objectIDs =
      resultType == .objectIDs ? tallies.flatMap { $0.keys.compactMap($0.plan.objectID) } : nil
    count = resultType == .count ? tallies.reduce(0) { $0 + $1.count } : nil
  }
}

/// Counts the objects of a batch, and keeps their keys only when they are asked for.
struct BatchTally {
  let type: BatchResultType
  let plan: ObjectPlan
  private(set) var count = 0
  private(set) var keys: [ObjectKey] = []

  init(_ type: BatchResultType, _ plan: ObjectPlan) {
    self.type = type
    self.plan = plan
  }

  mutating func add(_ key: ObjectKey) {
    count += 1
    if type == .objectIDs { keys.append(key) }
  }
}
