package import Foundation

/// How text reaches a terminal.
///
/// A text that comes from elsewhere (a server, a file, an object's value) may hold what a terminal obeys: escape sequences,
/// carriage returns, line feeds that forge a line of the program's own. All that the programs print for people goes
/// through here line by line, and only the program begins lines. What is printed as JSON is exact, and does not.
package enum TerminalText {
  /// The text as one line, with `\u{…}` for each character that a terminal would obey.
  package static func line(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isObeyed) else { return text }
    return text.unicodeScalars.reduce(into: "") { line, scalar in
      if isObeyed(scalar) {
        line += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        line.unicodeScalars.append(scalar)
      }
    }
  }

  /// The bytes to print for lines.
  package static func data(_ lines: [String]) -> Data {
    data(lines.map { ColouredLine($0) }, coloured: false)
  }

  /// The bytes to print for lines, of which words may be coloured.
  package static func data(
    _ lines: [ColouredLine], coloured: Bool = TerminalColour.areShown
  ) -> Data {
    let texts = lines.map { coloured ? $0.text : line($0.line) }
    return Data(texts.map { $0 + "\n" }.joined().utf8)
  }

  /// The bytes to print for a failure: what went wrong, and what to try.
  package static func failure(of program: String, _ message: String, try suggestion: String) -> Data
  {
    data(["\(program): \(message)", "Try: \(FailureText.advice(suggestion))"])
  }

  /// Whether a terminal does something else with a character than show it.
  package static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    // C0, DEL and C1, in which a lone byte can begin a sequence.
    case 0..<0x20, 0x7F..<0xA0: true
    // Separators that end a line.
    case 0x2028, 0x2029: true
    // Overrides of the direction of writing, which show a text as another one.
    case 0x202A...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}

/// A line for people, with a word that may be coloured.
package struct ColouredLine: Sendable {
  package let line: String
  private var word: (text: String, colour: TerminalColour)?

  package init(_ line: String, _ word: String = "", _ colour: TerminalColour? = nil) {
    self.line = line
    if let colour { self.word = (word, colour) }
  }

  /// What a terminal shows: what it would obey of the line itself is taken out first.
  fileprivate var text: String {
    let text = TerminalText.line(line)
    return word.map { $0.colour.colouring($0.text, in: text) } ?? text
  }
}
