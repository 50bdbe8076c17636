import Driftless
import DriftlessProtocol

extension SyncFailure {
  /// What an error of an operation means for the next attempt.
  init(_ error: any Error) {
    switch error {
    case let error as SyncError:
      self.init(
        code: error.code.rawValue, message: error.message, suggestion: error.suggestion,
        isTransient: [.stillStale, .superseded, .damagedOnTheWay].contains(error.code),
        needsPerson: [
          .massDelete, .otherZone, .diverged, .divergedAgain, .unsuitableLayout, .alreadyEnrolled,
          .sharedName,
          .logPurged, .oldCounts,
        ].contains(error.code))
    case let error as ProtocolError:
      self.init(
        code: error.code.rawValue, message: error.message, suggestion: error.suggestion,
        isTransient: [.busy, .stale, .diskFull, .zoneFull, .clockAhead, .damaged].contains(
          error.code),
        needsPerson: error.isAboutTheToken)
    case let error as StoreError:
      self.init(
        code: error.code.dashed, message: error.message, suggestion: error.suggestion,
        isTransient: [.busy, .syncLocked, .diskFull, .tooManyFiles, .fileReplaced].contains(
          error.code),
        needsPerson: error.code == .strayLog,
        waitsForRoom: [.diskFull, .tooManyFiles].contains(error.code))
    case let error as any TransportFailure:
      self.init(
        code: error.name, message: error.message, suggestion: error.suggestion,
        isTransient: error.isTransient, needsPerson: error.needsPerson,
        retryAfterSeconds: error.retryAfterSeconds)
    default:
      self.init(
        code: "failed", message: "\(error)", suggestion: "It is tried again.", isTransient: true)
    }
  }
}

extension SyncFailure {
  /// Whether the server does not know the token, or does not allow it what was asked for: another one heals that.
  public var isAboutTheToken: Bool {
    [ProtocolError.Code.unauthorized, .forbidden, .tokenBound].map(\.rawValue).contains(code)
  }
}

extension ProtocolError {
  fileprivate var isAboutTheToken: Bool { [.unauthorized, .forbidden, .tokenBound].contains(code) }
}
