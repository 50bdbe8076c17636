/// The help of a command, as programs print it.
package enum HelpText {
  /// The lines of a help text, with how the program ends where that is not said.
  ///
  /// - Parameters:
  ///   - lines: What is to be printed; other texts than help, a version say, stay as they are.
  ///   - codes: The exit codes and what they mean.
  package static func withExitCodes(
    _ lines: [String], _ codes: [(code: Int32, meaning: String)]
  ) -> [String] {
    let isHelp = lines.contains { $0.hasPrefix("USAGE:") }
    let isSaid = lines.contains { $0.hasPrefix("EXIT CODES") }
    guard isHelp, !isSaid else { return lines }
    let end = lines.last?.isEmpty == true ? [] : [""]
    return lines + end + ["EXIT CODES:"] + codes.map { "  \($0.code)  \($0.meaning)" }
  }
}
