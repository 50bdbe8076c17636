import Foundation

/// `syncd` in a process of its own, over the stores of a configuration file.
final class DaemonProcess {
  let configuration: URL
  private let process = Process()

  /// Writes the configuration and starts the program.
  ///
  /// - Parameters:
  ///   - settings: further ones of each store.
  ///   - script: what a shell does to run it (`"$0" "$@"`), if it is not run as it is.
  init(
    stores: [URL], in folder: URL, settings: [String: String] = [:], retrySecondsMax: Int = 1,
    script: String? = nil
  ) throws {
    configuration = folder.appendingPathComponent("syncd.json")
    try Self.write(stores, settings, retrySecondsMax, to: configuration)
    process.executableURL = Programs.url("syncd")
    process.arguments = ["--config", configuration.path]
    if let script {
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = [
        "-c", script, Programs.url("syncd").path, "--config", configuration.path,
      ]
    }
    process.standardOutput = FileHandle.nullDevice
    process.standardError = try Self.log(folder.appendingPathComponent("syncd.log"))
    process.standardInput = FileHandle.nullDevice
    try process.run()
  }

  deinit {
    if process.isRunning {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
  }

  var pid: Int32 { process.processIdentifier }

  /// Replaces the stores and tells the program to read them.
  func reload(stores: [URL]) throws {
    try Self.write(stores, [:], 1, to: configuration)
    kill(pid, SIGHUP)
  }

  /// SIGTERM, and the program's exit code.
  func stop() -> Int32 {
    process.terminate()
    process.waitUntilExit()
    return process.terminationStatus
  }

  private static func write(
    _ stores: [URL], _ settings: [String: String], _ retrySecondsMax: Int, to file: URL
  ) throws {
    let content: [String: Any] = [
      "socket": "syncd.sock", "retrySecondsMax": retrySecondsMax,
      "stores": stores.map { settings.merging(["path": $0.path]) { $1 } },
    ]
    try JSONSerialization.data(withJSONObject: content).write(to: file, options: .atomic)
  }

  private static func log(_ file: URL) throws -> FileHandle {
    try Data().write(to: file)
    return try FileHandle(forWritingTo: file)
  }
}

/// Asks again and again until `condition` holds. The time is a bound for a broken program, not a measure.
///
/// Between two questions is twice the time that the first one took: to ask may be to run a program, and the one that is waited
/// for wants the processor.
func eventually(
  within seconds: Double = 60, _ what: @autoclosure () -> String, _ condition: () throws -> Bool
) throws {
  let deadline = DispatchTime.now() + seconds
  var asked = ContinuousClock.now
  while try !condition() {
    guard DispatchTime.now() < deadline else {
      throw HarnessError(description: "after \(seconds) s still not: \(what())")
    }
    let took = (ContinuousClock.now - asked) / .microseconds(1)
    usleep(UInt32(min(max(2 * took, 20_000), 400_000)))
    asked = .now
  }
}
