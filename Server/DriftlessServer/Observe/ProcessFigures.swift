import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// What the system says of this process, under the names that all of Prometheus' clients have.
struct ProcessFigures: Sendable {
  var residentBytes: Int64
  var openDescriptors: Int
  var descriptorsMax: UInt64
  var processorSeconds: Double
  var startSeconds: Double

  private static let began = Date().timeIntervalSince1970

  /// Has the start noted; the process began a moment before.
  static func begin() { _ = began }

  /// Nil where there is no `/proc`.
  static var current: ProcessFigures? {
    guard
      let pages = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        .split(separator: " ").dropFirst().first.flatMap({ Int64($0) }),
      let descriptors = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
    else { return nil }
    var time = timespec()
    var limit = rlimit()
    guard clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0,
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
    else { return nil }
    return ProcessFigures(
      residentBytes: pages * Int64(sysconf(Int32(_SC_PAGESIZE))),
      openDescriptors: descriptors.count, descriptorsMax: UInt64(limit.rlim_cur),
      processorSeconds: Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9, startSeconds: began)
  }

  var lines: [String] {
    func metric(_ name: String, _ type: String, _ help: String, _ value: String) -> [String] {
      [
        "# HELP process_\(name) \(help)", "# TYPE process_\(name) \(type)",
        "process_\(name) \(value)",
      ]
    }
    return metric(
      "resident_memory_bytes", "gauge", "Memory of the process.", "\(residentBytes)")
      + metric("open_fds", "gauge", "Open descriptors.", "\(openDescriptors)")
      + metric("max_fds", "gauge", "Descriptors that it may have.", "\(descriptorsMax)")
      + metric(
        "cpu_seconds_total", "counter", "Time of the processor.", "\(processorSeconds)")
      + metric(
        "start_time_seconds", "gauge", "When it began, in seconds since 1970.", "\(startSeconds)")
  }
}
