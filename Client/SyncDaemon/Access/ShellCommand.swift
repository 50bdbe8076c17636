import Foundation
import Glibc
import ProgramStart

/// A command of the shell of which somebody waits for the output, for so long and so much at most.
enum ShellCommand {
  enum Outcome {
    case output(Data)
    /// Why there is none, as the end of a sentence.
    case failed(String)
    /// The host had no file, no process or no memory for it, says the system's number: that passes.
    case noRoom(Int32)

    fileprivate init(refusal reason: Int32) {
      self =
        [EMFILE, ENFILE, EAGAIN, ENOMEM].contains(reason)
        ? .noRoom(reason) : .failed("it cannot be started: \(String(cString: strerror(reason)))")
    }
  }

  static func run(_ command: String, secondsMax: Double, bytesMax: Int) -> Outcome {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return Outcome(refusal: errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { close(ends[0]) }
    var pid = pid_t()
    let refusal = spawn(command, output: ends[1], &pid)
    close(ends[1])
    guard refusal == 0 else { return Outcome(refusal: refusal) }
    // No clock that somebody sets.
    let deadline = ContinuousClock.now + .seconds(secondsMax)
    var data = Data()
    let isWhole = read(ends[0], into: &data, bytesMax: bytesMax, until: deadline)
    guard isWhole, let status = wait(for: pid, until: deadline) else {
      // With all that it has started.
      kill(-pid, SIGKILL)
      waitpid(pid, nil, 0)
      return .failed(
        data.count > bytesMax
          ? "it printed more than \(bytesMax) bytes"
          : "it took more than \(Int(secondsMax)) seconds")
    }
    let signal = status & 0x7f
    guard signal == 0 else { return .failed("it was ended by the signal \(signal)") }
    let code = status >> 8 & 0xff
    return code == 0 ? .output(data) : .failed("it ended with \(code)")
  }

  /// Has the shell put back the limit of files that this process began with: programs that count to it are slow, or fail,
  /// under another.
  private static func underFormerLimit(_ command: String) -> String {
    OpenFiles.formerLimit.map { "ulimit -S -n \($0) 2>/dev/null; \(command)" } ?? command
  }

  /// Starts a shell in a process group of its own; the system's number where it does not, or 0.
  private static func spawn(_ command: String, output: Int32, _ pid: inout pid_t) -> Int32 {
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
    // Signals that this program ignores or holds back would be ignored by the shell, which could not be ended with the host's others.
    var all = sigset_t()
    var none = sigset_t()
    sigfillset(&all)
    sigemptyset(&none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(
      &attributes,
      Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    posix_spawnattr_setpgroup(&attributes, 0)
    let words = ["/bin/sh", "-c", underFormerLimit(command)]
    let settings = ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
    var arguments = words.map { (word: String) -> UnsafeMutablePointer<CChar>? in strdup(word) }
    var environment = settings.map { (word: String) -> UnsafeMutablePointer<CChar>? in strdup(word)
    }
    arguments.append(nil)
    environment.append(nil)
    defer { for text in arguments + environment { free(text) } }
    return posix_spawn(&pid, "/bin/sh", &actions, &attributes, &arguments, &environment)
  }

  /// Reads to the end of what is printed. False where that is too much, or takes too long.
  private static func read(
    _ descriptor: Int32, into data: inout Data, bytesMax: Int,
    until deadline: ContinuousClock.Instant
  ) -> Bool {
    var piece = [UInt8](repeating: 0, count: 4_096)
    while true {
      let rest = ContinuousClock.now.duration(to: deadline)
      guard rest > .zero else { return false }
      var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard Glibc.poll(&poll, 1, Int32(rest / .milliseconds(1)) + 1) > 0 else { continue }
      let count = Glibc.read(descriptor, &piece, piece.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return count == 0 }
      data += piece.prefix(count)
      guard data.count <= bytesMax else { return false }
    }
  }

  /// How a process ended; nil where it goes on.
  private static func wait(for pid: pid_t, until deadline: ContinuousClock.Instant) -> Int32? {
    var status: Int32 = 0
    while true {
      let ended = waitpid(pid, &status, WNOHANG)
      if ended == pid { return status }
      if ended < 0, errno != EINTR { return nil }
      guard ContinuousClock.now < deadline else { return nil }
      usleep(5_000)  // a signal at its end would be the program's to take
    }
  }
}
