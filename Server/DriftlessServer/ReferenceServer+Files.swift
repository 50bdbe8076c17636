import Logging
import NIOCore

#if canImport(Glibc)
  import Glibc
#endif

extension ReferenceServer {
  /// No more connections than the system lets this process have: they would be taken from the database's files.
  static func fitted(_ limits: ServerLimits, _ logger: Logger) -> ServerLimits {
    var files = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files) == 0 else { return limits }
    let fitted = limits.fitted(toFiles: Int(clamping: files.rlim_cur))
    if fitted != limits {
      logger.warning(
        "the system lets this process open few files: it takes fewer connections",
        metadata: [
          "files": "\(files.rlim_cur)", "connectionsMax": "\(fitted.connectionsMax)",
          "asked": "\(limits.connectionsMax)",
          "try": "LimitNOFILE=\(limits.files) in the unit, or ulimit -n \(limits.files)",
        ])
    }
    return fitted
  }

  /// Where no connection can be accepted it is tried again after a second, the log says so, and some of those without a token make
  /// room.
  func pauseWhereFilesAreOut(_ channel: any Channel) async {
    let pause = PausedAccept { [metrics, connections, logger] error in
      metrics.countFailedAccept()
      connections.makeRoom(for: 16)
      logger.error(
        "no connection can be accepted: it is tried again after a second",
        metadata: [
          "error": "\(error)",
          "try": "raise LimitNOFILE (ulimit -n), or lower connectionsMax",
        ])
    }
    // It is the first to hear of an error. Where the socket is closed already nothing is accepted.
    try? await channel.pipeline.addHandler(pause, position: .first).get()
  }
}
