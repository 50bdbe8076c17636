import Foundation
package import Logging
import Synchronization

/// Tells systemd, where it started this program, how it stands: the protocol of `sd_notify`.
package enum ServiceNotice {
  /// The variable in which systemd names its socket.
  package static let variable = "NOTIFY_SOCKET"

  /// The variables in which systemd says how often it wants to hear from which process, in microseconds.
  package static let watchdogVariables = (microseconds: "WATCHDOG_USEC", pid: "WATCHDOG_PID")

  /// Between two attempts to say that the program is up, where the host has no file or no room for that.
  private static let pauseSeconds: TimeInterval = 0.5

  /// Opened before the program opens anything else, and kept: where it has no file left it is alive all the same.
  private static let line: NoticeLine? = ProcessInfo.processInfo.environment[variable]
    .flatMap { $0.isEmpty ? nil : NoticeLine($0) }

  /// Opens the way to systemd, where there is one.
  static func open() { _ = line }

  /// Says that the program is up: what `systemctl start` waits for, where the unit has `Type=notify`.
  ///
  /// Does nothing where nobody asked for it. Where it cannot be said, that is logged: systemd ends the program after a
  /// while.
  package static func ready(log: Logger) {
    guard let line, let reason = line.send("READY=1") else { return }
    log.error("systemd does not hear that this program is ready: \(line.name): \(reason.text)")
    guard reason.isPassing else { return }
    Thread {
      while line.send("READY=1")?.isPassing == true {
        // The thread does nothing else.
        Thread.sleep(forTimeInterval: pauseSeconds)
      }
    }.start()
  }

  /// Tells systemd again and again that the program is alive, where the unit has `WatchdogSec=`: systemd starts one anew of
  /// which it hears nothing.
  ///
  /// It has threads of its own: those that tasks share may all wait for disks while the program does what it is there for.
  ///
  /// - Parameter ping: comes back when what the program is there for goes on. While it does not, nothing is told.
  package static func keepWatchdog(log: Logger, ping: @escaping @Sendable () async -> Void) {
    let environment = ProcessInfo.processInfo.environment
    guard let line,
      let microseconds = environment[watchdogVariables.microseconds].flatMap({ Int64($0) }),
      microseconds > 0
    else { return }
    // A child has the variables of its parent.
    if let pid = environment[watchdogVariables.pid], pid != "\(getpid())" { return }
    let executor = ThreadTaskExecutor(name: "ping")
    let thread = Thread {
      var isTold = false
      while true {
        let answered = DispatchSemaphore(value: 0)
        Task(executorPreference: executor) {
          await ping()
          answered.signal()
        }
        answered.wait()
        let reason = line.send("WATCHDOG=1")
        if let reason, !isTold {
          log.error(
            "systemd does not hear that this program is alive: \(line.name): \(reason.text)")
        }
        isTold = reason != nil
        // Twice may be too late on a busy host.
        Thread.sleep(forTimeInterval: Double(microseconds) / 3_000_000)
      }
    }
    thread.name = "watchdog"
    thread.start()
  }
}

/// The way to systemd's socket.
private final class NoticeLine: Sendable {
  struct Reason {
    let number: Int32
    var text: String { String(cString: strerror(number)) }
    /// Whether the same may succeed in a moment: the host has no files, or systemd has yet to read what others said.
    var isPassing: Bool { [EMFILE, ENFILE, ENOBUFS, ENOMEM, EAGAIN].contains(number) }
  }

  let name: String
  private let descriptor: Mutex<Int32>

  init(_ name: String) {
    self.name = name
    descriptor = Mutex(Self.make())
  }

  private static func make() -> Int32 {
    socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  }

  /// Sends one datagram; nil, or why that failed.
  func send(_ text: String) -> Reason? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(name.utf8)
    // The form of an abstract name for people begins with an at sign, the kernel's with a zero.
    if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
      return Reason(number: ENAMETOOLONG)
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    // An abstract name is as long as the address says.
    let size = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    let open = descriptor.withLock { descriptor in
      if descriptor < 0 { descriptor = Self.make() }
      return descriptor
    }
    guard open >= 0 else { return Reason(number: errno) }
    let words = Array(text.utf8)
    // The place is named each time, which takes no file: systemd may have made its socket anew.
    let count = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(open, words, words.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT), $0, size)
      }
    }
    return count == words.count ? nil : Reason(number: errno)
  }
}
