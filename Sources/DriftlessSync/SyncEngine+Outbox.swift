import Driftless
import DriftlessProtocol
import DriftlessSQLite
import Foundation

extension SyncEngine {
  /// The pending set, brought up to date inside a transaction.
  func pendingSet(
    _ transaction: ReadTransaction, state: ReplicaState
  ) throws -> PendingSet {
    if var cached = pendingCache, cached.acknowledged == state.acknowledged {
      try PendingLoader.extend(&cached.set, transaction, schema: schema)
      pendingCache = cached
      return cached.set
    }
    let set = try PendingLoader.load(
      transaction, schema: schema, acknowledged: state.acknowledged)
    pendingCache = PendingCache(acknowledged: state.acknowledged, set: set)
    return set
  }

  /// Builds the next change set and saves it in the outbox.
  ///
  /// - Returns: how many objects it holds; nil when nothing is pending.
  func buildOutbox(objectsMax: Int) throws -> Int? {
    let built = try store.read { transaction -> (Outbox?, through: Int64, isEmpty: Bool) in
      let state = try Self.state(on: transaction.connection, of: store)
      let pending = try pendingSet(transaction, state: state)
      guard !pending.isEmpty else { return (nil, pending.through, true) }
      let through = pending.cut(objectsMax: objectsMax)
      var builder = ChangeSetBuilder(transaction, schema: schema)
      let header = ChangeSetHeader(
        replica: state.replica, incarnation: state.incarnation,
        pushNumber: state.pushNumber &+ 1, cursor: state.position)
      guard let change = try builder.build(pending.window(through: through), header: header) else {
        return (nil, through, false)
      }
      let outbox = Outbox(
        pushNumber: header.pushNumber, throughTransaction: through, objects: change.objects,
        properties: change.properties, runs: change.runs, frame: change.frame)
      return (outbox, through, false)
    }
    if let outbox = built.0 {
      try bookkeep { try outbox.save(on: $0.connection) }
      return outbox.objects
    }
    // Nothing that the zone needs to hear: history up to here is as good as acknowledged.
    let isDone = try settle(through: built.through, sent: nil)
    return built.isEmpty || isDone ? nil : try buildOutbox(objectsMax: objectsMax)
  }

  /// Saves the zone's answer to the change set in flight: numbers, bases, what is acknowledged; one
  /// transaction.
  func acknowledge(_ reply: PushReply) throws {
    guard let outbox = try store.read({ try Outbox.load(from: $0.connection) }) else {
      throw SyncError.damaged("the change set in flight")
    }
    try settle(through: outbox.throughTransaction, sent: (outbox, reply))
  }

  /// Marks history as acknowledged.
  ///
  /// - Returns: whether nothing is pending any more.
  @discardableResult
  private func settle(through: Int64, sent: (outbox: Outbox, reply: PushReply)?) throws -> Bool {
    defer { pendingCache = nil }
    return try bookkeep { transaction in
      var state = try Self.state(on: transaction.connection, of: store)
      var pending = try pendingSet(transaction, state: state)
      if let (outbox, reply) = sent {
        guard reply.generation == state.generation else {
          throw SyncError(
            .generationChanged, "The zone's answer is of another generation.",
            suggestion: "Enroll the store with the zone again.")
        }
        try assignNumbers(outbox.runs, first: reply.firstObjectNumber, transaction)
        state.pushNumber = outbox.pushNumber
        state.head = max(state.head, reply.sequence)
        // Nothing lies between the cursor and this change set: it need not be pulled.
        if state.cursor &+ 1 == reply.sequence { state.cursor = reply.sequence }
        try Outbox.clear(on: transaction.connection)
      }
      pending.acknowledge(through: through)
      if let outbox = sent?.outbox {
        var frame = SentFrame(outbox, transaction, schema: schema)
        try frame.settleBases(pending)
        try frame.settleDangling()
        // What the log has pointing at a revived object points at it again, here as elsewhere.
        let revived = try frame.revived()
        if !revived.isEmpty {
          let applier = try PageApplier(
            transaction: transaction, schema: schema, replica: state.replica, pending: pending,
            options: options)
          for key in revived { try applier.restoreReferences(to: key) }
        }
      }
      try transaction.connection.perform(
        "DELETE FROM ZDL_GRAVE WHERE transaction_number <= ?", [.integer(through)])
      try acknowledgeStates(through: through, pending, transaction)
      state.acknowledged = max(state.acknowledged, through)
      try state.save(in: transaction)
      return pending.isEmpty
    }
  }

  private func assignNumbers(
    _ runs: [Outbox.Run], first: UInt64, _ transaction: WriteTransaction
  ) throws {
    var number = first
    for run in runs {
      try transaction.assignNumbers(
        root: schema.root(of: ObjectKey(entity: run.entity, key: run.first)), firstKey: run.first,
        count: run.count, firstNumber: number)
      number &+= UInt64(max(0, run.count))
    }
  }

  /// Brings `ZDL_PENDING` in line: what is left of the states that imports wrote.
  private func acknowledgeStates(
    through: Int64, _ pending: PendingSet, _ transaction: WriteTransaction
  ) throws {
    let connection = transaction.connection
    try connection.perform(
      "DELETE FROM ZDL_PENDING WHERE transaction_number <= ?", [.integer(through)])
    var rest: [ObjectKey] = []
    try connection.forEachRow("SELECT entity, key FROM ZDL_PENDING") { row in
      rest.append(
        ObjectKey(entity: Int32(truncatingIfNeeded: row.int64(0)), key: row.int64(1)))
    }
    for key in rest {
      guard let entity = schema.entity(numbered: key.entity) else { continue }
      try PendingState.save(
        pending[key] ?? PendingObject(), of: key, entity: entity, through: pending.through,
        on: connection)
    }
  }
}
