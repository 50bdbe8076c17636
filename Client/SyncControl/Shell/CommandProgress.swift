import DriftlessSync
import Foundation
import Synchronization

/// How far a command has come, as others tell it and a person waits.
final class CommandProgress: Sendable {
  /// What is being done, and how much of it is done.
  struct Step: Equatable {
    var doing: String
    /// What `done` and `total` count.
    var unit: String
    var done: Int
    /// 0 where it is not known.
    var total: Int
    var bytes = 0
    /// Where it is, in other words.
    var place: String?
  }

  private struct Stand {
    var step: Step
    let began: ContinuousClock.Instant
    let doneThen: Int
    let bytesThen: Int
  }

  private let stand = Mutex<Stand?>(nil)

  func note(_ step: Step, now: ContinuousClock.Instant = .now) {
    stand.withLock { stand in
      if stand?.step.doing == step.doing, step.done >= stand?.step.done ?? 0 {
        stand?.step = step
      } else {
        stand = Stand(step: step, began: now, doneThen: step.done, bytesThen: step.bytes)
      }
    }
  }

  func note(_ state: SyncState) {
    switch state {
    case .receiving(let progress):
      note(
        Step(
          doing: "receiving", unit: "change sets", done: progress.done, total: progress.total,
          bytes: progress.bytes))
    case .sending(let progress):
      note(
        Step(
          doing: "sending", unit: "objects", done: progress.done, total: progress.total,
          bytes: progress.bytes))
    default: break
    }
  }

  /// How far it is, how fast it goes and how long that would take; nil where nobody has told so far.
  func text(now: ContinuousClock.Instant = .now) -> String? {
    guard let stand = stand.withLock({ $0 }) else { return nil }
    let step = stand.step
    var parts = [
      step.total > 0
        ? "\(step.done) of \(step.total) \(step.unit)" : "\(step.done) \(step.unit)"
    ]
    if step.bytes > 0 { parts.append(Self.size(step.bytes)) }
    let passed = now - stand.began
    let seconds =
      Double(passed.components.seconds) + Double(passed.components.attoseconds) / 1e18
    if seconds >= 1 {
      let bytes = step.bytes - stand.bytesThen
      if bytes > 0 { parts.append("\(Self.size(Int(Double(bytes) / seconds)))/s") }
      let done = step.done - stand.doneThen
      if done > 0, step.total > step.done {
        let left = Double(step.total - step.done) / (Double(done) / seconds)
        parts.append("about \(Age.span(left.rounded(.up))) left")
      }
    }
    if let place = step.place { parts.insert(place, at: 0) }
    return "\(step.doing): \(parts.joined(separator: ", "))"
  }

  private static func size(_ bytes: Int) -> String {
    switch bytes {
    case ..<10_000: "\(bytes) bytes"
    case ..<10_000_000: "\(bytes / 1_000) kB"
    default: "\(bytes / 1_000_000) MB"
    }
  }
}
