import Foundation

/// Colours of words that a program prints for people. The text says all that they say.
package enum TerminalColour: String, Sendable {
  case green = "32"
  case yellow = "33"
  case red = "31"

  /// Whether standard output is a terminal whose person has not asked for none (no-color.org).
  package static let areShown: Bool = {
    let environment = ProcessInfo.processInfo.environment
    return isatty(STDOUT_FILENO) == 1 && (environment["NO_COLOR"] ?? "").isEmpty
      && environment["TERM"] != "dumb"
  }()

  /// A line that goes to a terminal, in which the first place of a word has the colour.
  package func colouring(_ word: String, in line: String) -> String {
    guard let place = line.range(of: word) else { return line }
    return line.replacingCharacters(in: place, with: "\u{1B}[\(rawValue)m\(word)\u{1B}[0m")
  }
}
