import Foundation
import Glibc

/// Asks the person at the terminal for a secret, which is not shown.
enum TokenPrompt {
  /// The line that was typed; nil where nobody can be asked.
  ///
  /// Interrupted (Ctrl-C, Ctrl-\), the process ends at once, as at any other place. The keys are taken as ends of the line
  /// in place of signals: a signal would end the process before the terminal shows again what is typed.
  static func answer(to question: String) -> String? {
    guard isatty(STDIN_FILENO) == 1 else { return nil }
    var before = termios()
    guard tcgetattr(STDIN_FILENO, &before) == 0 else { return nil }
    let keys = [(SIGINT, character(VINTR, of: before)), (SIGQUIT, character(VQUIT, of: before))]
    var hidden = before
    hidden.c_lflag &= ~tcflag_t(ECHO | ISIG)
    setCharacter(VEOL, of: &hidden, to: keys[0].1)
    setCharacter(VEOL2, of: &hidden, to: keys[1].1)
    guard tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) == 0 else { return nil }
    say(question)
    let line = read()
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
    say("\n")
    if let last = line.last, let key = keys.first(where: { $0.1 != 0 && $0.1 == last }) {
      Glibc.signal(key.0, SIG_DFL)
      kill(getpid(), key.0)
      // Whoever started this process may have blocked the signal.
      _exit(128 + key.0)
    }
    return String(decoding: line, as: UTF8.self)
  }

  /// What was typed, up to and with the end of the line.
  private static func read() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 8_192)
    while true {
      let count = Glibc.read(STDIN_FILENO, &bytes, bytes.count)
      if count < 0, errno == EINTR { continue }
      return Array(bytes.prefix(max(0, count)))
    }
  }

  private static func say(_ text: String) {
    let bytes = Array(text.utf8)
    _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
  }

  private static func character(_ place: Int32, of terminal: termios) -> UInt8 {
    withUnsafeBytes(of: terminal.c_cc) { $0[Int(place)] }
  }

  private static func setCharacter(_ place: Int32, of terminal: inout termios, to byte: UInt8) {
    withUnsafeMutableBytes(of: &terminal.c_cc) { $0[Int(place)] = byte }
  }
}
