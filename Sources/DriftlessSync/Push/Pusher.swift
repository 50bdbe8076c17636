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
    case stale
    /// The zone is of another generation.
    case generationChanged
    /// The zone knows other change sets of this replica than the replica does: the store was
    /// restored or copied.
    case forked
    /// More than the zone takes in one request.
    case tooLarge
    /// Refused for good, with the reason.
    case refused(SyncError)
    /// No answer, or one that says "later". The change set stays in flight.
    case failed(any Error)
  }

  package enum Event: Sendable {
    case begin(hasOutbox: Bool)
    /// A change set was built and saved in the outbox, or there is nothing to push.
    case built(isEmpty: Bool, objects: Int)
    case answered(Answer)
    case acknowledged
    case discarded
    case pulled
    case renewed
    case quarantined
  }

  package enum Action: Sendable {
    /// Build a change set of at most so many objects from pending history, and save it in the
    /// outbox.
    case build(objectsMax: Int)
    case sendOutbox
    /// Save the zone's answer and empty the outbox, in one transaction.
    case acknowledge(PushReply)
    /// Empty the outbox: the zone has refused it, so it can never take effect.
    case discardOutbox
    case pull
    /// Become a new incarnation, so that push numbers start anew.
    case renewIncarnation
    case quarantine(SyncError)
    case finish
    case fail(any Error)
  }

  private enum State {
    case idle, building, sending, acknowledging, discarding(Next), waiting, done
  }
  private enum Next { case pull, build, renew }

  private var state = State.idle
  private var objectsMax: Int
  private var objectsInFlight = 0
  private let staleRetriesMax: Int
  private var hasRenewed = false
  private var changeSets = 0
  /// How often the zone said *stale* since the last change set that it took.
  package private(set) var staleAnswers = 0

  package init(objectsMax: Int, staleRetriesMax: Int) {
    self.objectsMax = max(1, objectsMax)
    self.staleRetriesMax = staleRetriesMax
  }

  package mutating func handle(_ event: Event) -> Action {
    switch (state, event) {
    case (.idle, .begin(let hasOutbox)):
      state = hasOutbox ? .sending : .building
      return hasOutbox ? .sendOutbox : .build(objectsMax: objectsMax)
    case (.building, .built(let isEmpty, let objects)):
      objectsInFlight = objects
      state = isEmpty ? .done : .sending
      return isEmpty ? .finish : .sendOutbox
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
      state = .acknowledging
      return .acknowledge(reply)
    case .stale:
      staleAnswers += 1
      guard staleAnswers <= staleRetriesMax else {
        return fail(
          SyncError(
            .stillStale,
            "Other replicas wrote to the same properties during \(staleAnswers) pushes.",
            suggestion: "Nothing is lost: sync again in a moment."))
      }
      state = .discarding(.pull)
      return .discardOutbox
    case .generationChanged:
      return fail(
        SyncError(
          .generationChanged, "The zone was restored or replaced: its generation is another one.",
          suggestion: "Enroll the store with the zone again; what it holds is offered anew."))
    case .forked:
      guard !hasRenewed else {
        return fail(
          SyncError(
            .refused, "The zone refuses this replica's push numbers even as a new incarnation.",
            suggestion: "Enroll the store again."))
      }
      hasRenewed = true
      state = .discarding(.renew)
      return .discardOutbox
    case .tooLarge:
      guard objectsInFlight > 1, objectsMax > 1 else {
        state = .waiting
        return .quarantine(
          SyncError(
            .tooLarge, "One transaction is larger than the server takes.",
            suggestion: "Raise the server's body limit, then push again."))
      }
      objectsMax = max(1, min(objectsMax, objectsInFlight) / 2)
      state = .discarding(.build)
      return .discardOutbox
    case .refused(let error):
      return fail(error)
    case .failed(let error):
      return fail(error)
    }
  }

  private mutating func after(_ next: Next) -> Action {
    switch next {
    case .pull:
      state = .waiting
      return .pull
    case .renew:
      state = .waiting
      return .renewIncarnation
    case .build:
      return build()
    }
  }

  private mutating func build() -> Action {
    state = .building
    return .build(objectsMax: objectsMax)
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
