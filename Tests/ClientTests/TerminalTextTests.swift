import Foundation
import ProgramStart
import Testing

@Suite struct TerminalTextTests {
  @Test("A text without controls is shown as it is")
  func plain() {
    for text in ["", "hammer, 3 €", "Straße — “déjà vu” \u{1F642} \u{200F}שלום", #"C:\n"#] {
      #expect(TerminalText.line(text) == text)
    }
  }

  @Test(
    "What a terminal would obey is shown as an escape",
    arguments: [
      ("\u{1b}[2J", #"\u{1b}[2J"#), ("a\u{7}", #"a\u{7}"#), ("a\nTry: b", #"a\u{a}Try: b"#),
      ("a\r\nb", #"a\u{d}\u{a}b"#), ("\u{9b}31m", #"\u{9b}31m"#), ("\u{7f}", #"\u{7f}"#),
      ("a\u{2028}b", #"a\u{2028}b"#), ("\u{202e}abc", #"\u{202e}abc"#),
    ])
  func controls(text: String, shown: String) {
    #expect(TerminalText.line(text) == shown)
  }

  @Test("A failure is two lines, whatever its texts hold")
  func failure() {
    let run = TerminalText.failure(of: "syncctl", "no", try: "Run: syncctl doctor")
    #expect(String(decoding: run, as: UTF8.self).hasSuffix("\nTry: syncctl doctor\n"))
    let data = TerminalText.failure(of: "syncctl", "no\u{1b}]0;x\u{7}\nTry: evil", try: "s\nt")
    #expect(
      String(decoding: data, as: UTF8.self)
        == "syncctl: no\\u{1b}]0;x\\u{7}\\u{a}Try: evil\nTry: s\\u{a}t\n")
  }
}
