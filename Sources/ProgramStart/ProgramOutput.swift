package import Foundation

/// Output of a program that could not be written.
package struct UnwrittenOutput: Error, Hashable, CustomStringConvertible {
  /// sysexits.h: EX_IOERR.
  package static let exitStatus: Int32 = 74

  /// What the system said.
  package let number: Int32

  /// Whether nobody reads any more (head): no failure of a program that only shows something.
  package var isReaderGone: Bool { number == EPIPE }

  package var message: String {
    "The output cannot be written: \(String(cString: strerror(number)))."
  }
  package let suggestion =
    "Make room where standard output goes, or send it elsewhere. What the command was to change is changed: "
    + "run it again where it only shows something."

  package var description: String { FailureText.line(message, try: suggestion) }
}

/// Standard output of the programs.
package enum ProgramOutput {
  /// Writes all of the bytes.
  ///
  /// - Throws: `UnwrittenOutput`; then it is not known how much of them was written.
  package static func write(
    _ data: Data, to descriptor: Int32 = STDOUT_FILENO
  ) throws(UnwrittenOutput) {
    let failure = data.withUnsafeBytes { bytes -> Int32? in
      var done = 0
      while done < bytes.count {
        let count = Foundation.write(
          descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done)
        if count < 0, errno == EINTR { continue }
        if count < 0, errno == EAGAIN {
          // Somebody set the terminal or pipe, which is his too, so that nothing waits for it.
          var place = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          _ = poll(&place, 1, -1)
          continue
        }
        guard count > 0 else { return count < 0 ? errno : EIO }
        done += count
      }
      return nil
    }
    if let failure { throw UnwrittenOutput(number: failure) }
  }

  /// Lets a program that prints seldom find out that nobody reads any more.
  ///
  /// - Throws: `UnwrittenOutput`, whose `isReaderGone` is true.
  package static func checkReader() throws(UnwrittenOutput) {
    var place = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
    guard poll(&place, 1, 0) > 0, place.revents & Int16(POLLERR) != 0 else { return }
    throw UnwrittenOutput(number: EPIPE)
  }

  /// Ends the process with a failure where what was printed by the C library (help texts) does not reach its place.
  static func checkAtExit() {
    atexit {
      guard fflush(nil) != 0, errno != EPIPE else { return }
      let failure = UnwrittenOutput(number: errno)
      try? ProgramOutput.write(
        TerminalText.data([failure.message, "Try: \(failure.suggestion)"]), to: STDERR_FILENO)
      _exit(UnwrittenOutput.exitStatus)
    }
  }
}
