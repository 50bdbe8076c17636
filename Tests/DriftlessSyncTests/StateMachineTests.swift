import DriftlessProtocol
import DriftlessSync
import Foundation
import Testing

/// What the pusher and the puller decide, without I/O.
struct StateMachineTests {
  private struct Offline: Error {}

  private static let chain = LogChain.start(generation: UUID())
  private let reply = PushReply(
    sequence: 1, firstObjectNumber: 1, chain: chain, generation: UUID(), pushNumber: 1,
    digest: Data(), serverTimeMilliseconds: 0)

  private func name(_ action: Pusher.Action) -> String {
    switch action {
    case .build(let portion):
      "build \(portion.objectsMax)"
        + (portion.refusedObjects.map { " of \($0)" } ?? "")
    case .sendOutbox: "send"
    case .acknowledge: "acknowledge"
    case .discardOutbox: "discard"
    case .pull: "pull"
    case .renewReplica: "renew"
    case .quarantine: "quarantine"
    case .leaveOut(let objects): "leave out \(objects)"
    case .finish: "finish"
    case .fail(let error): "fail \((error as? SyncError)?.code.rawValue ?? "other")"
    }
  }

  private func run(
    _ events: [Pusher.Event], staleRetriesMax: Int = 3, isCut: Bool = false
  ) -> [String] {
    var pusher = Pusher(objectsMax: 8, staleRetriesMax: staleRetriesMax)
    pusher.isCut = isCut
    return events.map { name(pusher.handle($0)) }
  }

  @Test("A push builds, sends, acknowledges, and looks again")
  func plainPush() {
    #expect(
      run([
        .begin(hasOutbox: false), .built(isEmpty: false, objects: 3), .answered(.accepted(reply)),
        .acknowledged, .built(isEmpty: true, objects: 0),
      ]) == ["build 8", "send", "acknowledge", "build 8", "finish"])
  }

  @Test("What is in the outbox goes first, before anything is built")
  func outboxFirst() {
    #expect(
      run([.begin(hasOutbox: true), .answered(.accepted(reply)), .acknowledged])
        == ["send", "acknowledge", "build 8"])
  }

  @Test("Stale: the change set is dropped, then pulled, then built anew")
  func stale() {
    #expect(
      run([
        .begin(hasOutbox: false), .built(isEmpty: false, objects: 3),
        .answered(.stale([], at: nil, reason: "")),
        .discarded, .pulled,
      ]) == ["build 8", "send", "discard", "pull", "build 8"])
  }

  @Test("Stale again and again ends with an error, not in a loop")
  func staleForEver() {
    var events: [Pusher.Event] = [.begin(hasOutbox: false)]
    for _ in 0..<3 {
      events += [
        .built(isEmpty: false, objects: 1), .answered(.stale([], at: nil, reason: "")), .discarded,
        .pulled,
      ]
    }
    #expect(run(events, staleRetriesMax: 2).last == "fail damaged-state")
    #expect(run(events, staleRetriesMax: 2).contains("fail still-stale"))
  }

  @Test("Stale twice on one place: what it is about is found, set aside, and the rest goes on")
  func staleForGood() {
    let stale = Pusher.Event.answered(.stale([4], at: 7, reason: "no"))
    #expect(
      run([
        .begin(hasOutbox: false), .built(isEmpty: false, objects: 4), stale, .discarded, .pulled,
        .built(isEmpty: false, objects: 4), stale, .discarded,
        .built(isEmpty: false, objects: 2), stale, .discarded,
        .built(isEmpty: false, objects: 1), stale, .quarantined,
        // Not set aside at once: the next one may be stale by what comes along.
        .built(isEmpty: false, objects: 3), stale, .discarded, .pulled,
        .built(isEmpty: false, objects: 3), .answered(.accepted(reply)),
      ]) == [
        "build 8", "send", "discard", "pull", "build 8", "send", "discard", "build 2 of 4", "send",
        "discard", "build 1 of 2", "send", "quarantine", "build 8", "send", "discard", "pull",
        "build 8", "send", "acknowledge",
      ])
  }

  @Test("Where a pull was cut, what is stale waits by its saves, and nothing is set aside")
  func staleUntilThereIsRoom() {
    let stale = Pusher.Event.answered(.stale([4], at: 7, reason: "no"))
    #expect(
      run(
        [
          .begin(hasOutbox: false), .built(isEmpty: false, objects: 6), stale, .discarded, .pulled,
          .built(isEmpty: false, objects: 6), stale, .leftOut(isFound: true),
          // Another one that the zone did not name: it is looked for, by saves.
          .built(isEmpty: false, objects: 5), stale, .leftOut(isFound: false),
          .built(isEmpty: false, objects: 4), stale, .leftOut(isFound: true),
          .built(isEmpty: false, objects: 1), .answered(.accepted(reply)), .acknowledged,
          .built(isEmpty: false, objects: 9), stale, .leftOut(isFound: true),
          .built(isEmpty: true, objects: 0),
        ], isCut: true) == [
          "build 8", "send", "discard", "pull", "build 8", "send", "leave out [4]", "build 8",
          "send", "leave out [4]", "build 2", "send", "leave out [4]", "build 8", "send",
          "acknowledge", "build 8", "send", "leave out [4]", "build 8", "finish",
        ])
  }

  @Test("What is set aside as stale for good does not count against what comes after it")
  func staleForGoodOften() {
    let stale = Pusher.Event.answered(.stale([4], at: 7, reason: "no"))
    func setAside(_ count: Int, of all: Int) -> [Pusher.Event] {
      (0..<count).flatMap { done -> [Pusher.Event] in
        [
          .built(isEmpty: false, objects: all - done), stale, .discarded, .pulled,
          .built(isEmpty: false, objects: all - done), stale, .discarded,
          .built(isEmpty: false, objects: 1), stale, .quarantined,
        ]
      }
    }
    // More than there are retries for what is stale by others.
    let once = setAside(10, of: 20)
    let taken: [Pusher.Event] = [
      .built(isEmpty: false, objects: 10), .answered(.accepted(reply)), .acknowledged,
    ]
    let actions = run([.begin(hasOutbox: false)] + once + taken + once)
    #expect(actions.filter { $0 == "quarantine" }.count == 20)
    #expect(!actions.contains { $0.hasPrefix("fail") })
    // Half of what was to be sent is stale, with nothing taken in between: the server is what is wrong.
    #expect(
      run([.begin(hasOutbox: false)] + once + setAside(1, of: 10).dropLast(1) + [.discarded]).last
        == "fail conflicting")
  }

  @Test("Stale twice on one place by other objects is no dead end: what is in the way comes along")
  func staleByOthers() {
    #expect(
      run([
        .begin(hasOutbox: false), .built(isEmpty: false, objects: 4),
        .answered(.stale([4], at: 7, reason: "no")), .discarded, .pulled,
        .built(isEmpty: false, objects: 4), .answered(.stale([5], at: 7, reason: "no")), .discarded,
        .pulled,
      ]) == ["build 8", "send", "discard", "pull", "build 8", "send", "discard", "pull", "build 8"])
  }

  @Test("Without an answer the change set stays in the outbox")
  func offline() {
    #expect(
      run([
        .begin(hasOutbox: false), .built(isEmpty: false, objects: 3), .answered(.failed(Offline())),
      ]) == ["build 8", "send", "fail other"])
  }

  private let large = SyncError(.tooLarge, "large", suggestion: "less")

  @Test("Refused: half as much is built; a single object is set aside, and the rest goes on")
  func refused() {
    #expect(
      run([
        .begin(hasOutbox: false), .built(isEmpty: false, objects: 6), .answered(.refused(large)),
        .discarded, .built(isEmpty: false, objects: 3), .answered(.refused(large)), .discarded,
        .built(isEmpty: false, objects: 1), .answered(.refused(large)), .quarantined,
        .built(isEmpty: false, objects: 5), .answered(.accepted(reply)),
      ]) == [
        "build 8", "send", "discard", "build 3 of 6", "send", "discard", "build 1 of 3", "send",
        "quarantine", "build 8", "send", "acknowledge",
      ])
  }

  @Test("After a part was taken, the parts grow again")
  func partsGrow() {
    #expect(
      run([
        .begin(hasOutbox: false), .built(isEmpty: false, objects: 8), .answered(.refused(large)),
        .discarded, .built(isEmpty: false, objects: 4), .answered(.accepted(reply)), .acknowledged,
      ]) == ["build 8", "send", "discard", "build 4 of 8", "send", "acknowledge", "build 8"])
  }

  @Test("A refused change set of before is built anew, not set aside unseen")
  func refusedOutbox() {
    #expect(
      run([.begin(hasOutbox: true), .answered(.refused(large)), .discarded])
        == ["send", "discard", "build 8"])
  }

  @Test("A fork makes a new replica, once")
  func forked() {
    #expect(
      run([
        .begin(hasOutbox: true), .answered(.forked), .discarded, .renewed,
        .built(isEmpty: false, objects: 1), .answered(.forked),
      ]) == ["send", "discard", "renew", "build 8", "send", "fail refused"])
  }

  @Test("A page that leaves out a change set is refused whole")
  func gapInTheLog() {
    let generation = UUID()
    for (sequences, isGood) in [
      ([5, 6, 7] as [UInt64], true), ([5, 7], false), ([6], false), ([4, 5], false),
      ([5, 5], false),
    ] {
      var puller = Puller()
      _ = puller.handle(
        .begin(cursor: Cursor(generation: generation, sequence: 4, chain: Self.chain)))
      let action = puller.handle(
        .page(
          places: sequences.map { LogMark(sequence: $0, chain: Self.chain) },
          generation: generation, head: 9))
      if case .apply(let cursor, let head) = action {
        #expect(isGood, "\(sequences)")
        #expect(cursor.sequence == 7)
        #expect(head == 9)
      } else {
        #expect(!isGood, "\(sequences)")
      }
    }
  }

  @Test("F60 A page of another generation, or a head before the cursor, moves nothing")
  func otherGeneration() {
    for (generation, head) in [(UUID(), 9), (nil, 3)] as [(UUID?, UInt64)] {
      let own = UUID()
      var puller = Puller()
      _ = puller.handle(.begin(cursor: Cursor(generation: own, sequence: 4, chain: Self.chain)))
      let action = puller.handle(
        .page(places: [], generation: generation ?? own, head: head))
      guard case .fail = action else {
        Issue.record("taken: \(action)")
        continue
      }
    }
  }
}
