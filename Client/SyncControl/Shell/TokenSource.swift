import Foundation
import Glibc
import SyncDaemon

/// Where `enroll` takes the token from: a file, the environment, or the person at the terminal.
struct TokenSource {
  static let variable = "SYNCCTL_TOKEN"

  var file: String?

  func token() throws(Failure) -> String {
    if let file { return try TokenFile.read(URL(fileURLWithPath: file)) }
    if let text = ProcessInfo.processInfo.environment[Self.variable], !text.isEmpty {
      return try TokenFile.token(in: text, from: Self.variable)
    }
    guard isatty(STDIN_FILENO) == 1, let typed = getpass("Token: ") else {
      throw Failure(
        .usage, code: "no-token", "There is no token, and no terminal to ask for it.",
        suggestion: "syncctl enroll … --token-file FILE, or set \(Self.variable)")
    }
    return try TokenFile.token(in: String(cString: typed), from: "The answer")
  }
}
