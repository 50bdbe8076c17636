import Driftless
import DriftlessHTTP
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import Glibc
import ProgramStart

/// Why a command failed: what is printed, what to try, and the exit code.
package struct Failure: Error, Hashable, Sendable, Codable {
  package var status: ExitStatus
  /// A short name that scripts can compare.
  package var code: String
  /// What went wrong, as a sentence.
  package var message: String
  /// What to type or to do next.
  package var suggestion: String
  /// How long the server asked to wait, in seconds.
  package var retryAfterSeconds: Double?

  package init(_ status: ExitStatus, code: String, _ message: String, suggestion: String) {
    self.status = status
    self.code = code
    self.message = message
    self.suggestion = suggestion
  }

  /// No further file can be opened: others may be closed, or the limit be raised, at any time.
  static func noFileLeft(for path: String) -> Failure {
    Failure(
      .tryAgain, code: noFileLeftCode,
      "\(path) cannot be opened: this process has as many files open as the system lets it.",
      suggestion: "raise the limit: ulimit -n, or LimitNOFILE in a unit of systemd")
  }

  /// A command cannot be started for want of files, processes or memory, which may be there again at any time.
  static func noRoom(for what: String, _ reason: Int32) -> Failure {
    let isFiles = reason == EMFILE || reason == ENFILE
    return Failure(
      .tryAgain, code: isFiles ? noFileLeftCode : noThreadLeftCode,
      "\(what) cannot be started: \(String(cString: strerror(reason))).",
      suggestion: isFiles
        ? "raise the limit: ulimit -n, or LimitNOFILE in a unit of systemd"
        : "raise the limit: ulimit -u, or TasksMax in a unit of systemd; or free memory")
  }

  /// As of programs that cannot begin.
  private static let noThreadLeftCode = "too-few-threads"

  /// As the code of stores is called.
  static let noFileLeftCode = StoreError.Code.tooManyFiles.dashed
  package static let syncLockedCode = StoreError.Code.syncLocked.dashed

  /// Whether the host lacks space or files, which may be there again at any time, and nothing tells.
  package var waitsForRoom: Bool {
    [Self.noFileLeftCode, Self.noThreadLeftCode, StoreError.Code.diskFull.dashed].contains(code)
  }

  /// Whether the same attempt can succeed later without anybody doing anything.
  package var isTransient: Bool { status == .unreachable || status == .tryAgain }
}

extension Failure: CustomStringConvertible {
  /// In a line of a log, say.
  package var description: String { FailureText.line(message, try: suggestion) }
}

extension Failure {
  /// Any error of the libraries, in the words and with the exit code of the programs.
  package init(_ error: any Error) {
    switch error {
    case let error as Failure: self = error
    case let error as TransportError: self.init(transport: error)
    case let error as ProtocolError: self.init(protocol: error)
    case let error as SyncError: self.init(sync: error)
    case let error as StoreError: self.init(store: error)
    case let error as ModelError:
      self.init(
        .badData, code: "model", "\(error.place): \(error.message)", suggestion: error.suggestion)
    case let error as ObjectError:
      self.init(
        .badData, code: error.code.rawValue, error.message, suggestion: error.suggestion)
    case let error as TooFewFiles:
      self.init(
        error.isPassing ? .tryAgain : .tooFewFiles, code: "too-few-files", error.message,
        suggestion: error.suggestion)
    case let error as UnwrittenOutput:
      self.init(
        .unwritten, code: "unwritten-output", error.message, suggestion: error.suggestion)
    case let error as SQLiteError:
      let isPassing = error.isBusy || error.isFull
      let status: ExitStatus =
        if error.isCorrupt || error.isNotADatabase { .badData } else if isPassing {
          .tryAgain
        } else if error.isReadOnly { .notAllowed } else { .failed }
      self.init(
        status, code: "database", "The database: \(error.words).", suggestion: error.suggestion)
    case is CancellationError:
      self.init(.tryAgain, code: "cancelled", "The work was cancelled.", suggestion: "try again")
    default:
      if let error = StoreError(fileError: error) {
        self.init(store: error)
      } else {
        self.init(.failed, code: "failed", "\(error)", suggestion: "syncctl doctor --store STORE")
      }
    }
  }

  private init(transport error: TransportError) {
    let status: ExitStatus =
      switch error.code {
      case .busy, .cancelled: .tryAgain
      case .badConfiguration: .usage
      default: .unreachable
      }
    self.init(
      status, code: error.code.rawValue, error.message, suggestion: error.suggestion)
    retryAfterSeconds = error.retryAfterSeconds
  }

  private init(protocol error: ProtocolError) {
    let status: ExitStatus =
      switch error.code {
      case .unauthorized, .forbidden, .tokenBound, .codeUsed: .notAllowed
      case .busy, .stale, .diskFull, .zoneFull, .clockAhead, .damaged: .tryAgain
      case .malformed, .unsupported, .tooLarge: .badData
      default: .failed
      }
    self.init(
      status, code: error.code.rawValue, error.message, suggestion: error.suggestion)
  }

  private init(sync error: SyncError) {
    let status: ExitStatus =
      switch error.code {
      case .stillStale, .superseded, .damagedOnTheWay: .tryAgain
      case .brokenLog, .damagedState, .unknownElement: .badData
      case .readOnlyStore: .notAllowed
      default: .failed
      }
    self.init(
      status, code: error.code.rawValue, error.message, suggestion: error.suggestion)
  }

  private init(store error: StoreError) {
    let status: ExitStatus =
      switch error.code {
      case _ where error.isOfRights: .notAllowed
      case .busy, .syncLocked, .tooManyFiles, .fileReplaced, .diskFull: .tryAgain
      case .readOnly: .notAllowed
      case .cannotOpen, .notADatabase, .notAStore, .damaged, .lostFile, .strayLog, .hardLinked,
        .incompatibleModel, .missingModel, .newerFormat, .newerModel, .cannotMigrate,
        .missingMapping, .modelNotFound, .unknownConfiguration,
        .relationshipLeavesConfiguration, .cannotDerive, .constraint:
        .badData
      default: .failed
      }
    self.init(
      status, code: error.code.dashed, error.message, suggestion: error.suggestion)
  }
}
