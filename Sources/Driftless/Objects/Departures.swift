import Foundation
import Synchronization

/// What objects leave behind that were let go of elsewhere than their context is used: their places in the graph and the
/// memory of their values. The graph takes it back when it is at work again.
///
/// The values themselves end with the object. Until the graph has looked, it holds a reference that finds nothing.
final class Departures: Sendable {
  /// What one object left.
  struct Departure {
    let reference: ObjectReference
    let shape: ObjectShape
    let key: Int64
    /// Of its values, and of those from before its changes: nothing lies in them.
    let room: ValueRoom
    let committedRoom: ValueRoom?
    /// Where the rooms are of: an object may be of another shape since it got them.
    let pool: ValuePool

    /// Gives the memory back.
    func end() {
      pool.give(room)
      if let committedRoom { pool.give(committedRoom) }
      reference.drop()
    }
  }

  private struct State: @unchecked Sendable {  // used under the lock
    var departed: [Departure] = []
    /// Of a graph that ended: the memory that objects on their way out still have.
    var leftPools: [ValuePool]?
  }

  private let queue = AtomicLazyReference<ContextQueue>()
  /// The same, asked at the end of each object.
  private let queueReference = AtomicUnretained<ContextQueue>()
  /// Whether nobody but the caller of a piece of work ever has the objects.
  private let isCallersOwn: Bool
  private let isPending = Atomic(false)
  private let state = Mutex(State())

  /// - Parameter isCallersOwn: Whether objects stay within the piece of work that makes them. Others that are used on no queue
  ///   may end on any thread: the last to let go of one may be an observer's queue that holds a notification, and nothing
  ///   tells an actor's next thread from that.
  init(isCallersOwn: Bool = false) { self.isCallersOwn = isCallersOwn }

  /// The objects are used on the queue from now on.
  func setQueue(_ new: ContextQueue) { queueReference.set(queue.storeIfNil(new)) }

  /// Whether objects may be in use elsewhere than where this is asked.
  @inline(__always)
  var areElsewhere: Bool {
    queueReference.with { queue in queue.map { !$0.isHeld } ?? !isCallersOwn }
  }

  /// Whether there may be some.
  @inline(__always)
  var arePending: Bool { isPending.load(ordering: .relaxed) }

  /// An object is at its end, elsewhere, and its values are gone.
  func note(
    _ object: ManagedObject, _ room: ValueRoom, _ committedRoom: ValueRoom?,
    of pool: ValuePool
  ) {
    let departure = Departure(
      reference: ObjectReference(object), shape: object.shape, key: object.key, room: room,
      committedRoom: committedRoom, pool: pool)
    // Held until the lock is free: the last to go takes the memory along.
    let left = state.withLock { state -> [ValuePool]? in
      guard let left = state.leftPools else {
        state.departed.append(departure)
        return nil
      }
      departure.end()
      if left.allSatisfy(\.isUnused) { state.leftPools = [] }
      return left
    }
    if left == nil { isPending.store(true, ordering: .relaxed) }
  }

  /// What objects left since the last call.
  func takeAll() -> [Departure] {
    isPending.store(false, ordering: .relaxed)
    return state.withLock { state in
      defer { state.departed = [] }
      return state.departed
    }
  }

  /// The graph ends: it has let go of all objects that were not at their end.
  func end(_ pools: [ValuePool]) {
    state.withLock { state in
      for departure in state.departed { departure.end() }
      state.departed = []
      state.leftPools = pools.filter { !$0.isUnused }
    }
  }
}
