/// How a command ended, as scripts read it. The numbers are those of sysexits.h and never change.
package enum ExitStatus: Int32, Sendable, CaseIterable, Codable {
  /// Done.
  case done = 0
  /// Failed for a reason that none of the others names.
  case failed = 1
  /// The command line is wrong.
  case usage = 64
  /// The input, a model or a store holds data that cannot be used.
  case badData = 65
  /// The server cannot be reached.
  case unreachable = 69
  /// The system lets the program open too few files, or begin too few threads.
  case tooFewFiles = 71
  /// The output cannot be written.
  case unwritten = 74
  /// Something is busy: try again later.
  case tryAgain = 75
  /// The server does not allow it, or a file that must be private is not.
  case notAllowed = 77

  /// What the code means, for the help text.
  package var meaning: String {
    switch self {
    case .done: "done"
    case .failed: "failed"
    case .usage: "the command line is wrong"
    case .badData: "bad data in the input, the model or the store"
    case .unreachable: "the server cannot be reached"
    case .tooFewFiles: "the system lets the program open too few files, or begin too few threads"
    case .unwritten: "the output cannot be written"
    case .tryAgain: "busy, try again later"
    case .notAllowed: "not allowed"
    }
  }
}
