public import Foundation

/// Where programs lie that tests run.
public enum ProgramFile {
  /// A program of this package, built beside the tests; nil where the tests alone were built.
  public static func built(_ name: String) -> URL? {
    var folder = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    while folder.pathComponents.count > 1 {
      folder.deleteLastPathComponent()
      let program = folder.appendingPathComponent(name)
      if FileManager.default.isExecutableFile(atPath: program.path) { return program }
    }
    return nil
  }

  /// A program of the host's; nil where it is not installed.
  public static func onPath(_ name: String) -> URL? {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return path.split(separator: ":").map {
      URL(fileURLWithPath: String($0)).appendingPathComponent(name)
    }.first { FileManager.default.isExecutableFile(atPath: $0.path) }
  }
}
