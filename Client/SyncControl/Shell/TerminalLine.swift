import Foundation
import ProgramStart
import Synchronization

/// A line of the terminal that is written anew each time, and is gone in the end.
final class TerminalLine: Sendable {
  private struct State {
    var isShown = false
    var hasEnded = false
  }

  private let state = Mutex(State())
  private let columns: Int

  /// Nil where standard error is no terminal.
  init?() {
    guard isatty(STDERR_FILENO) == 1, ProcessInfo.processInfo.environment["TERM"] != "dumb" else {
      return nil
    }
    var size = winsize()
    let isKnown = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    columns = isKnown ? Int(size.ws_col) : 80
  }

  func show(_ text: String) {
    state.withLock { state in
      guard !state.hasEnded else { return }
      state.isShown = true
      let line = TerminalText.line(text).prefix(max(1, columns - 1))
      Self.write("\r\u{1B}[K\(line)")
    }
  }

  func end() {
    state.withLock { state in
      if state.isShown { Self.write("\r\u{1B}[K") }
      state.hasEnded = true
    }
  }

  private static func write(_ text: String) {
    try? ProgramOutput.write(Data(text.utf8), to: STDERR_FILENO)
  }
}
