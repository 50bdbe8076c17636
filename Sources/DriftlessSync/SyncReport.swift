/// What a push did.
public struct PushReport: Hashable, Sendable {
  /// Change sets that the zone accepted.
  public var changeSets = 0
  /// Objects in them.
  public var objects = 0
  /// Properties of objects in them.
  public var properties = 0
  /// Bytes sent.
  public var bytes = 0
  /// How often the zone answered that something newer must be pulled first.
  public var staleAnswers = 0
  /// Objects that the zone refuses for good and that were set aside.
  public var quarantined = 0

  /// Nothing was done.
  public init() {}

  /// A change set that the zone accepted.
  mutating func add(_ outbox: Outbox) {
    changeSets += 1
    objects = objects.addingClamped(outbox.objects)
    properties = properties.addingClamped(outbox.properties)
    bytes = bytes.addingClamped(outbox.bytes)
  }

  mutating func add(_ other: PushReport) {
    changeSets = changeSets.addingClamped(other.changeSets)
    objects = objects.addingClamped(other.objects)
    properties = properties.addingClamped(other.properties)
    bytes = bytes.addingClamped(other.bytes)
    staleAnswers = staleAnswers.addingClamped(other.staleAnswers)
    quarantined = quarantined.addingClamped(other.quarantined)
  }
}

/// What a pull did.
public struct PullReport: Hashable, Sendable {
  /// Change sets of other replicas that were applied.
  public var changeSets = 0
  /// Change sets of this replica that the cursor walked past.
  public var ownChangeSets = 0
  /// Objects that were inserted, updated and deleted here.
  public var inserted = 0
  /// Objects that were updated here.
  public var updated = 0
  /// Objects that were deleted here.
  public var deleted = 0
  /// Conflicts that were settled.
  public var conflicts = 0
  /// Bytes received.
  public var bytes = 0

  /// Nothing was done.
  public init() {}

  mutating func add(_ other: PullReport) {
    changeSets += other.changeSets
    ownChangeSets += other.ownChangeSets
    inserted += other.inserted
    updated += other.updated
    deleted += other.deleted
    conflicts += other.conflicts
    bytes += other.bytes
  }
}

/// What a sync did: everything it pulled and pushed until nothing was left to do.
public struct SyncReport: Hashable, Sendable {
  /// What its pulls did.
  public var pull = PullReport()
  /// What its pushes did.
  public var push = PushReport()
  /// How the replica came back to a server whose log was another one; mostly empty.
  public var reconciliations: [Reconciliation] = []

  /// Nothing was done.
  public init() {}

  mutating func add(_ other: SyncReport) {
    pull.add(other.pull)
    push.add(other.push)
    reconciliations += other.reconciliations
  }
}

extension FixedWidthInteger {
  /// What a damaged row says of a change set is counted as far as numbers go.
  func addingClamped(_ other: Self) -> Self {
    let (sum, hasPassed) = addingReportingOverflow(other)
    return hasPassed ? (other > 0 ? .max : .min) : sum
  }
}

extension Int {
  /// Of two numbers that are not negative.
  func multipliedClamped(by other: Int) -> Int {
    let (product, hasPassed) = multipliedReportingOverflow(by: other)
    return hasPassed ? .max : product
  }
}
