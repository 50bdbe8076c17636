import Foundation
package import Logging

/// Tells systemd, where it started this program, how it stands: the protocol of `sd_notify`.
package enum ServiceNotice {
  /// The variable in which systemd names its socket.
  package static let variable = "NOTIFY_SOCKET"

  /// Says that the program is up: what `systemctl start` waits for, where the unit has `Type=notify`.
  ///
  /// Does nothing where nobody asked for it. Where it cannot be said, that is logged: systemd ends the program after a
  /// while.
  package static func ready(log: Logger) {
    guard let path = ProcessInfo.processInfo.environment[variable], !path.isEmpty else { return }
    if let reason = send("READY=1", to: path) {
      log.error("systemd does not hear that this program is ready: \(path): \(reason)")
    }
  }

  /// The variables in which systemd says how often it wants to hear from which process, in microseconds.
  package static let watchdogVariables = (microseconds: "WATCHDOG_USEC", pid: "WATCHDOG_PID")

  /// Tells systemd again and again that the program is alive, where the unit has `WatchdogSec=`: systemd starts one anew of
  /// which it hears nothing.
  ///
  /// - Parameter ping: comes back when what the program is there for goes on. While it does not, nothing is told.
  package static func keepWatchdog(log: Logger, ping: @escaping @Sendable () async -> Void) {
    let environment = ProcessInfo.processInfo.environment
    guard let path = environment[variable], !path.isEmpty,
      let microseconds = environment[watchdogVariables.microseconds].flatMap({ Int64($0) }),
      microseconds > 0
    else { return }
    // A child has the variables of its parent.
    if let pid = environment[watchdogVariables.pid], pid != "\(getpid())" { return }
    Task {
      var isTold = false
      while !Task.isCancelled {
        await ping()
        if let reason = send("WATCHDOG=1", to: path), !isTold {
          isTold = true
          log.error("systemd does not hear that this program is alive: \(path): \(reason)")
        }
        // Twice may be too late on a busy host.
        try? await Task.sleep(for: .microseconds(microseconds / 3))
      }
    }
  }

  /// Sends one datagram; nil, or why that failed.
  private static func send(_ text: String, to path: String) -> String? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var name = Array(path.utf8)
    // The form of an abstract name for people begins with an at sign, the kernel's with a zero.
    if name.first == UInt8(ascii: "@") { name[0] = 0 }
    guard name.count < MemoryLayout.size(ofValue: address.sun_path) else {
      return "the name is too long"
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return String(cString: strerror(errno)) }
    defer { close(descriptor) }
    // An abstract name is as long as the address says.
    let size = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
    let bytes = Array(text.utf8)
    let count = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, size)
      }
    }
    return count == bytes.count ? nil : String(cString: strerror(errno))
  }
}
