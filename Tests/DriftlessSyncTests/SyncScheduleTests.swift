import Driftless
import Testing

@testable import DriftlessSync

@Suite struct SyncScheduleTests {
  private var delays: SyncSchedule.Delays {
    SyncSchedule.Delays(settle: 0.2, retryFirst: 1, retryMax: 60, idle: 900)
  }

  /// A schedule that has synced once.
  private func listening() -> SyncSchedule {
    var schedule = SyncSchedule(delays: delays)
    #expect(schedule.handle(.started) == [.deafen, .startSync])
    #expect(schedule.handle(.succeeded) == [.listen, .wake(after: 900)])
    return schedule
  }

  @Test("A burst of changes is one sync, a moment later")
  func burst() {
    var schedule = listening()
    #expect(schedule.handle(.changed) == [.wake(after: 0.2)])
    #expect(schedule.handle(.changed) == [])
    #expect(schedule.handle(.changed) == [])
    #expect(schedule.handle(.timer) == [.deafen, .startSync])
  }

  @Test("News is fetched at once, and so is what a person asks for", arguments: [true, false])
  func atOnce(isNews: Bool) {
    var schedule = listening()
    #expect(schedule.handle(isNews ? .news : .asked) == [.deafen, .startSync])
  }

  @Test("A change during a sync is sent by the next one")
  func changeDuringSync() {
    var schedule = listening()
    _ = schedule.handle(.asked)
    #expect(schedule.handle(.changed) == [])
    #expect(schedule.handle(.succeeded) == [.wake(after: 0.2)])
    #expect(schedule.handle(.timer) == [.deafen, .startSync])
  }

  @Test("F23 Failures back off by doubling, up to the ceiling, and success starts over")
  func backOff() {
    var schedule = listening()
    _ = schedule.handle(.asked)
    for seconds in [1.0, 2, 4, 8, 16, 32, 60, 60] {
      let actions = schedule.handle(.failed(isTransient: true, retryAfter: nil), jitter: 1)
      #expect(actions == [.deafen, .wake(after: seconds)])
      #expect(schedule.handle(.timer) == [.deafen, .startSync])
    }
    _ = schedule.handle(.succeeded)
    #expect(schedule.failedAttempts == 0)
    _ = schedule.handle(.asked)
    #expect(
      schedule.handle(.failed(isTransient: true, retryAfter: nil), jitter: 0)
        == [.deafen, .wake(after: 0.5)], "jitter halves at most")
  }

  @Test(
    "F10 A full disk is tried again by doubling, up to half a minute, however long the server was away"
  )
  func fullDisk() {
    var schedule = SyncSchedule(delays: SyncSchedule.Delays())
    func failure() -> [SyncSchedule.Action] {
      schedule.handle(
        .failed(isTransient: true, retryAfter: nil, waitsForRoom: true), jitter: 1)
    }
    _ = schedule.handle(.started)
    for seconds in [1.0, 2, 4, 8, 16, 30, 30] {
      #expect(failure() == [.deafen, .wake(after: seconds)])
      #expect(schedule.handle(.timer) == [.deafen, .startSync])
    }
    for _ in 0..<20 {
      _ = schedule.handle(.failed(isTransient: true, retryAfter: nil), jitter: 1)
      _ = schedule.handle(.timer)
    }
    #expect(failure() == [.deafen, .wake(after: 30)])
  }

  @Test(
    "F10 What fails for want of space is tried again; a log that is not the file's waits for a person"
  )
  func storeFailures() {
    let full = SyncFailure(StoreError(.diskFull, "There is no space.", suggestion: "Make some."))
    #expect(full.isTransient && full.waitsForRoom && !full.needsPerson)
    let stray = SyncFailure(StoreError(.strayLog, "It is another's.", suggestion: "Move it."))
    #expect(!stray.isTransient && !stray.waitsForRoom && stray.needsPerson)
  }

  @Test("A refusal that time does not heal waits the ceiling at once")
  func refusal() {
    var schedule = listening()
    _ = schedule.handle(.asked)
    #expect(
      schedule.handle(.failed(isTransient: false, retryAfter: nil), jitter: 1)
        == [.deafen, .wake(after: 60)])
  }

  @Test(
    "What the server asked to wait is waited, but not for longer than five minutes, or the longest pause"
  )
  func retryAfter() {
    var schedule = listening()
    _ = schedule.handle(.asked)
    #expect(
      schedule.handle(.failed(isTransient: true, retryAfter: 40), jitter: 0)
        == [.deafen, .wake(after: 40)])
    // Anybody on the way can say so much.
    #expect(
      schedule.handle(.failed(isTransient: true, retryAfter: 86_400), jitter: 0)
        == [.deafen, .wake(after: 300)])
  }

  @Test("F23 While backing off, a burst of saves does not bring attempts; a person does")
  func patience() {
    var schedule = listening()
    _ = schedule.handle(.asked)
    _ = schedule.handle(.failed(isTransient: true, retryAfter: nil))
    #expect(schedule.handle(.changed) == [], "the next attempt is sooner")
    #expect(schedule.handle(.news) == [])
    #expect(schedule.state == .backingOff)
    #expect(schedule.handle(.asked) == [.deafen, .startSync])
  }

  @Test(
    "F23 A save in a long pause brings the next attempt nearer, once a pause, and ever less when that was in vain"
  )
  func hasten() {
    var schedule = SyncSchedule(delays: SyncSchedule.Delays())
    _ = schedule.handle(.started)
    // A token that is not known.
    let refusal = SyncSchedule.Event.failed(isTransient: false, retryAfter: nil)
    for seconds in [5.0, 10, 20, 40, 60, 60] {
      #expect(schedule.handle(refusal, jitter: 1) == [.deafen, .wake(after: 300)])
      #expect(schedule.handle(.changed, jitter: 1) == [.wake(after: seconds)])
      #expect(schedule.handle(.changed, jitter: 1) == [])
      #expect(schedule.state == .backingOff)
      #expect(schedule.handle(.timer) == [.deafen, .startSync])
    }
    _ = schedule.handle(.succeeded)
    _ = schedule.handle(.asked)
    _ = schedule.handle(refusal, jitter: 1)
    #expect(schedule.handle(.changed, jitter: 1) == [.wake(after: 5)], "success starts over")
  }

  @Test("F23 A save never puts the next attempt later")
  func hastenNearTheEnd() {
    var schedule = SyncSchedule(delays: SyncSchedule.Delays())
    _ = schedule.handle(.started)
    _ = schedule.handle(.failed(isTransient: false, retryAfter: nil), jitter: 1)
    #expect(schedule.handle(.changed, jitter: 1, left: 3) == [])
    // It has not been used up by that.
    #expect(schedule.handle(.changed, jitter: 1, left: 200) == [.wake(after: 5)])
  }

  @Test("F23 A save during an attempt that fails brings the next one nearer as well")
  func savedDuringFailure() {
    var schedule = SyncSchedule(delays: SyncSchedule.Delays())
    let refusal = SyncSchedule.Event.failed(isTransient: false, retryAfter: nil)
    _ = schedule.handle(.started)
    for seconds in [5.0, 10, 20, 40, 60, 60] {
      #expect(schedule.handle(.changed) == [])
      #expect(schedule.handle(refusal, jitter: 1) == [.deafen, .wake(after: seconds)])
      #expect(schedule.handle(.changed, jitter: 1, left: seconds) == [], "once a pause")
      #expect(schedule.handle(.timer) == [.deafen, .startSync])
    }
    #expect(schedule.handle(refusal, jitter: 1) == [.deafen, .wake(after: 300)])
  }

  @Test(
    "F23 A save does not wait for days because somebody on the way said so, but for what is asked within reason"
  )
  func hastenDespiteRetryAfter() {
    var schedule = SyncSchedule(delays: SyncSchedule.Delays())
    _ = schedule.handle(.started)
    for (asked, seconds) in [(86_400.0, 60.0), (30, 30)] {
      _ = schedule.handle(.failed(isTransient: true, retryAfter: 86_400), jitter: 0)
      _ = schedule.handle(.timer)
      _ = schedule.handle(.failed(isTransient: false, retryAfter: asked), jitter: 1)
      #expect(schedule.handle(.changed, jitter: 0) == [.wake(after: seconds)])
      _ = schedule.handle(.timer)
    }
  }

  @Test("A lost long poll backs off like a lost sync")
  func lostPoll() {
    var schedule = listening()
    #expect(
      schedule.handle(.failed(isTransient: true, retryAfter: nil), jitter: 1)
        == [.deafen, .wake(after: 1)])
  }
}
