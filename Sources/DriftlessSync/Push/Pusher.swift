package import DriftlessProtocol

/// Decides what a push does next. No I/O: an event goes in, one action comes out.
///
/// One change set is in flight at a time. Its bytes are saved before they are sent, and sent again
/// unchanged until the zone has answered: a lost reply, a crash on either side or a duplicate on
/// the way all have one effect, because the zone answers a push number that it knows with the
/// answer that it gave.
package struct Pusher: Sendable {
  /// What the zone, or the way to it, said about the change set in flight.
  package enum Answer: Sendable {
    case accepted(PushReply)
    /// Something that the change set touches is newer at the zone: pull first.
    ///
    /// - Parameters: the zone's numbers of the objects, the place that the change set was made on
    ///   where a pull is to mend it, and what the zone said.
    case stale([UInt64], at: UInt64?, reason: String)
    /// The zone knows other change sets of this replica than the replica does: the store was
    /// restored or copied.
    case forked
    /// Refused for what it holds: too large, or not acceptable. The same bytes never get in.
    case refused(SyncError)
    /// Refused whatever it holds. Another attempt builds it anew.
    case rejected(any Error)
    /// No answer, or one that says "later". The change set stays in flight.
    case failed(any Error)
  }

  package enum Event: Sendable {
    case begin(hasOutbox: Bool)
    /// A change set was built and saved in the outbox, or there is nothing to push.
    case built(isEmpty: Bool, objects: Int)
    /// So many objects make no change set: they pass a limit of the format.
    case unbuildable(SyncError, objects: Int)
    case answered(Answer)
    case acknowledged
    case discarded
    case pulled
    case renewed
    case quarantined
    /// What is to wait for room waits, or nothing of what was asked for was found.
    case leftOut(isFound: Bool)
  }

  package enum Action: Sendable {
    /// Build a change set from pending history, and save it in the outbox.
    case build(Portion)
    case sendOutbox
    /// Save the zone's answer and empty the outbox, in one transaction.
    case acknowledge(PushReply)
    /// Empty the outbox: the zone has refused it, so it can never take effect.
    case discardOutbox
    case pull
    /// Become a replica of another ID, so that push numbers start anew.
    case renewReplica
    /// Set the one object in flight aside, with the reason, and empty the outbox.
    case quarantine(SyncError)
    /// Leave the saves of these objects of the zone out, since what they meet there does not fit the disk; where none of them
    /// is in flight, and the change set is one save, that one.
    case leaveOut([UInt64])
    case finish
    case fail(any Error)
  }

  /// How much of what is pending the next change set carries.
  package struct Portion: Hashable, Sendable {
    /// History is cut between transactions so that a change set has at most so many objects.
    package var objectsMax: Int
    /// So many objects were refused: a transaction that has as many is cut too, so that what is
    /// refused is found and the rest proceeds.
    package var refusedObjects: Int?
    /// The zone's numbers of objects that it named when it said *stale*: what is pending of them comes along.
    package var inTheWay: Set<UInt64> = []
  }

  private enum State {
    case idle, building, sending, acknowledging, discarding(Next), waiting, done
  }
  private enum Next {
    case pull, build, renew
    case fail(any Error)
  }

  private var state = State.idle
  private var portion: Portion
  private let objectsMax: Int
  /// Zero when it is not known: the change set was in the outbox before.
  private var objectsInFlight = 0
  /// Objects set aside since the zone took something, without those that are stale for good.
  private var quarantinedInARow = 0
  /// Objects set aside as stale for good since the zone took something.
  private var conflictingInARow = 0
  /// The most objects of a change set that was stale for good since then.
  private var conflictingObjects = 0
  private let triedAgain: Int
  private let staleRetriesMax: Int
  private var hasRenewed = false
  private var changeSets = 0
  /// How often the zone said *stale* since the last change set that it took.
  package private(set) var staleAnswers = 0
  /// The place of the last change set that was stale.
  private var stalePlace: UInt64?
  /// What the zone refuses though nothing is newer there is looked for at this place.
  private var narrowedPlace: UInt64?
  /// Of what is tried again: whether what the zone names next comes along, though nothing is newer at the place.
  private var mayBringAlong = true
  /// The disk has no room for all of the log: what is older than the zone waits for that, and is not what is wrong.
  package var isCut = false

  /// - Parameter triedAgain: So many objects of what is pending were stale for good before, and are expected to be: each is
  ///   sent alone until the zone takes one.
  package init(objectsMax: Int, staleRetriesMax: Int, triedAgain: Int = 0) {
    self.triedAgain = triedAgain
    self.objectsMax = max(1, objectsMax)
    portion = triedAgain > 0 ? Self.alone : Portion(objectsMax: self.objectsMax)
    self.staleRetriesMax = staleRetriesMax
  }

  /// One object, also where its transaction has more.
  private static var alone: Portion { Portion(objectsMax: 1, refusedObjects: 2) }

  package mutating func handle(_ event: Event) -> Action {
    switch (state, event) {
    case (.idle, .begin(let hasOutbox)):
      state = hasOutbox ? .sending : .building
      return hasOutbox ? .sendOutbox : .build(portion)
    case (.building, .built(let isEmpty, let objects)):
      objectsInFlight = objects
      state = isEmpty ? .done : .sending
      return isEmpty ? .finish : .sendOutbox
    case (.building, .unbuildable(let error, let objects)):
      objectsInFlight = objects
      return refused(error, next: Self.build)
    case (.sending, .answered(let answer)):
      return handle(answer)
    case (.acknowledging, .acknowledged):
      changeSets += 1
      guard changeSets < SyncTuning.pushChangeSetsMax else { return finish() }
      return build()
    case (.discarding(let next), .discarded):
      return after(next)
    case (.waiting, .pulled), (.waiting, .renewed), (.waiting, .quarantined):
      return build()
    case (.waiting, .leftOut(let isFound)):
      // Saves are looked for, and never cut.
      portion = Portion(
        objectsMax: isFound ? objectsMax : max(1, min(objectsInFlight, portion.objectsMax) / 2))
      return build()
    default:
      state = .done
      return .fail(
        SyncError(
          .damagedState, "The pusher got an event out of turn.",
          suggestion: "Sync again; report this with the log when it comes back."))
    }
  }

  private mutating func handle(_ answer: Answer) -> Action {
    switch answer {
    case .accepted(let reply):
      staleAnswers = 0
      stalePlace = nil
      if !isCut { narrowedPlace = nil }
      quarantinedInARow = 0
      conflictingInARow = 0
      conflictingObjects = 0
      portion = Portion(objectsMax: min(objectsMax, portion.objectsMax.doubledClamped))
      state = .acknowledging
      return .acknowledge(reply)
    case .stale(let objects, let place, let reason):
      if isStuck(objects, at: place) { return stuck(objects, at: place, reason) }
      staleAnswers += 1
      stalePlace = place
      bringAlong(objects)
      guard staleAnswers <= staleRetriesMax else {
        return fail(
          SyncError(
            .stillStale,
            "Other replicas wrote to the same properties during \(staleAnswers) pushes. The server's "
              + "last answer: \(reason)",
            suggestion: "Nothing is lost: sync again in a moment."))
      }
      state = .discarding(.pull)
      return .discardOutbox
    case .forked:
      guard !hasRenewed else {
        return fail(
          SyncError(
            .refused, "The zone refuses this replica's push numbers even under another ID.",
            suggestion: "Run syncctl enroll --anew."))
      }
      hasRenewed = true
      state = .discarding(.renew)
      return .discardOutbox
    case .refused(let error):
      return refused(error) { pusher in
        pusher.state = .discarding(.build)
        return .discardOutbox
      }
    case .rejected(let error):
      state = .discarding(.fail(error))
      return .discardOutbox
    case .failed(let error):
      return fail(error)
    }
  }

  /// Whether a pull between two change sets brought nothing, and the second one is stale by what was known with the first:
  /// no pull ever mends that.
  private func isStuck(_ objects: [UInt64], at place: UInt64?) -> Bool {
    guard let place else { return false }
    if place == narrowedPlace { return true }
    return place == stalePlace && portion.inTheWay.isSuperset(of: objects)
  }

  /// What the zone named comes along where it is pending, beside what is tried alone too.
  private mutating func bringAlong(_ objects: [UInt64]) {
    portion.inTheWay.formUnion(objects)
    guard triedAgain > 0, portion.refusedObjects != nil else { return }
    portion.objectsMax = min(objectsMax, portion.objectsMax + objects.count)
    portion.refusedObjects = portion.objectsMax + 1
  }

  /// What is stale for good is found as what is refused: alone, so that the rest goes on.
  private mutating func stuck(
    _ objects: [UInt64], at place: UInt64?, _ reason: String
  ) -> Action {
    if triedAgain > 0, mayBringAlong, place == narrowedPlace, !objects.isEmpty {
      // Nothing is newer there, so no pull is needed.
      mayBringAlong = false
      bringAlong(objects)
      state = .discarding(.build)
      return .discardOutbox
    }
    narrowedPlace = place
    portion.inTheWay = []
    if isCut {
      state = .waiting
      return .leaveOut(objects)
    }
    conflictingObjects = max(conflictingObjects, objectsInFlight)
    let error = SyncError(
      .conflicting,
      "The server says that it is older than the zone, and the zone has nothing newer: \(reason)",
      suggestion: "It is sent again when it changes, when the zone's log goes on, or by: "
        + "syncctl quarantine retry")
    return refused(error) { pusher in
      pusher.state = .discarding(.build)
      return .discardOutbox
    }
  }

  /// Halves what was refused until it is one object, and sets that one aside.
  private mutating func refused(
    _ error: SyncError, next: (inout Pusher) -> Action
  ) -> Action {
    if objectsInFlight == 1 {
      guard maySetAside(error) else {
        state = .discarding(.fail(error))
        return .discardOutbox
      }
      staleAnswers = 0
      if triedAgain > 0, error.code == .conflicting {
        // What is left is expected to be stale as well, and nothing is newer there: a push each is enough.
        portion = Self.alone
        mayBringAlong = true
      } else {
        // What is left is looked at anew: it may be stale by something that comes along.
        stalePlace = nil
        narrowedPlace = nil
        portion = Portion(objectsMax: objectsMax)
      }
      state = .waiting
      return .quarantine(error)
    }
    if objectsInFlight > 1 {
      portion = Portion(
        objectsMax: max(1, objectsInFlight / 2), refusedObjects: objectsInFlight,
        inTheWay: portion.inTheWay)
    }
    return next(&self)
  }

  /// Whether one more object may be set aside, with nothing taken in between. A server that takes nothing at all (a proxy
  /// before it, another version) says little about the objects.
  private mutating func maySetAside(_ error: SyncError) -> Bool {
    guard error.code == .conflicting else {
      quarantinedInARow += 1
      return quarantinedInARow <= SyncTuning.quarantinedInARowMax
    }
    // Many of one import may be stale by one cause, and the rest behind them is not. Where half of what was to be sent is,
    // the server is what is wrong.
    conflictingInARow += 1
    let half = min(conflictingObjects / 2, SyncTuning.conflictingInARowMax)
    return conflictingInARow <= triedAgain + max(half, SyncTuning.quarantinedInARowMax)
  }

  private mutating func after(_ next: Next) -> Action {
    switch next {
    case .pull:
      state = .waiting
      return .pull
    case .renew:
      state = .waiting
      return .renewReplica
    case .build:
      return build()
    case .fail(let error):
      return fail(error)
    }
  }

  private mutating func build() -> Action { Self.build(&self) }

  private static func build(_ pusher: inout Pusher) -> Action {
    pusher.state = .building
    return .build(pusher.portion)
  }

  private mutating func finish() -> Action {
    state = .done
    return .finish
  }

  private mutating func fail(_ error: any Error) -> Action {
    state = .done
    return .fail(error)
  }
}

extension Int {
  fileprivate var doubledClamped: Int { self > Int.max / 2 ? .max : self * 2 }
}
