import Foundation
import TestSupport
import Testing

/// The programs at a terminal.
@Suite(.serialized) struct TerminalTests {
  @Test(
    "Ctrl-C at the question for the token ends the program at once, and the terminal shows what is typed again"
  )
  func interrupted() throws {
    let run = try TerminalRun(enrolment())
    try run.expect("Token or code: ")
    #expect(try run.shows == false)
    try run.type("half a tok\u{3}")
    #expect(try run.wait() == 130)
    #expect(try run.shows)
    #expect(!run.text.contains("half"))
  }

  @Test("A token that is typed is taken, and not shown")
  func typed() throws {
    let run = try TerminalRun(enrolment())
    try run.expect("Token or code: ")
    try run.type("dl_a_token\n")
    // Nobody listens there.
    #expect(try run.wait() == 69, "\(run.text)")
    #expect(!run.text.contains("dl_a_token"))
    #expect(try run.shows)
  }

  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func enrolment() throws -> [String] {
    let model = try writeModel(EmbeddedReplica.model.xml, named: "Items", in: directory)
    let store = directory.file("a.sqlite").path
    let made = try Programs.run("syncctl", ["init", "--store", store, "--model", model.path])
    try #require(made.status == 0, "\(made)")
    return ["enroll", "--store", store, "--server", "http://127.0.0.1:1", "--zone", "z"]
  }
}

/// `syncctl` at a terminal of its own.
private final class TerminalRun {
  private let controller: Int32
  private let terminal: Int32
  private var process: pid_t = 0
  private var status: Int32?
  private(set) var text = ""

  init(_ arguments: [String]) throws {
    controller = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    // Linux' TIOCSPTLCK and TIOCGPTN, which Glibc's module leaves out.
    let (setLock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)
    var (lock, number): (Int32, Int32) = (0, 0)
    guard controller >= 0, ioctl(controller, setLock, &lock) == 0,
      ioctl(controller, getNumber, &number) == 0
    else { throw HarnessError(description: "no terminal") }
    let path = "/dev/pts/\(number)"
    terminal = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // The first terminal that the leader of a session opens is its own.
    posix_spawn_file_actions_addopen(&actions, 0, path, O_RDWR, 0)
    posix_spawn_file_actions_adddup2(&actions, 0, 1)
    posix_spawn_file_actions_adddup2(&actions, 0, 2)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    let newSession: Int16 = 0x80
    posix_spawnattr_setflags(&attributes, newSession | Int16(POSIX_SPAWN_SETSIGMASK))
    let program = Programs.url("syncctl").path
    var words = ([program] + arguments).map { strdup($0) } + [nil]
    var environment =
      ProcessInfo.processInfo.environment
      .filter { $0.key != "SYNCCTL_TOKEN" }.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for word in words + environment { free(word) } }
    let code = posix_spawn(&process, program, &actions, &attributes, &words, &environment)
    guard code == 0 else { throw HarnessError(description: String(cString: strerror(code))) }
    _ = fcntl(controller, F_SETFL, O_NONBLOCK)
  }

  deinit {
    if status == nil {
      kill(process, SIGKILL)
      waitpid(process, nil, 0)
    }
    close(controller)
    close(terminal)
  }

  /// Whether the terminal shows what is typed.
  var shows: Bool {
    get throws {
      var modes = termios()
      guard tcgetattr(terminal, &modes) == 0 else { throw HarnessError(description: "no modes") }
      return modes.c_lflag & tcflag_t(ECHO) != 0 && modes.c_lflag & tcflag_t(ISIG) != 0
    }
  }

  func expect(_ words: String) throws {
    try eventually("the terminal shows \(words)") {
      read()
      return text.contains(words)
    }
  }

  func type(_ text: String) throws {
    let bytes = Array(text.utf8)
    guard write(controller, bytes, bytes.count) == bytes.count else {
      throw HarnessError(description: "nothing can be typed")
    }
  }

  /// How it ended, as a shell tells it: a signal is 128 and its number.
  func wait() throws -> Int32 {
    try eventually("the program ends") {
      read()
      var found: Int32 = 0
      if waitpid(process, &found, WNOHANG) == process { status = found }
      return status != nil
    }
    read()
    let ended = status ?? 0
    return ended & 0x7F == 0 ? ended >> 8 : 128 + (ended & 0x7F)
  }

  private func read() {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = Foundation.read(controller, &bytes, bytes.count)
    if count > 0 { text += String(decoding: bytes.prefix(count), as: UTF8.self) }
  }
}
