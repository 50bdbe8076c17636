import Foundation
import Glibc

/// A file system in memory of a few megabytes, mounted where only programs see it that run by `script`. It ends with this.
final class SmallDisk {
  /// Where it is for those programs. For all others an empty folder.
  let folder: URL
  private let keeper = Process()
  private let input = Pipe()
  private static let isRoot = geteuid() == 0

  /// Whether this user may mount one: as root, or as root of a namespace of its own.
  static let isPossible: Bool = {
    let place = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { rmdir(place.path) }
    return (try? SmallDisk(mebibytes: 1, at: place)) != nil
  }()

  init(mebibytes: Int, at folder: URL) throws {
    self.folder = folder
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let output = Pipe()
    keeper.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
    // It ends when nobody holds the other end of its input any more.
    keeper.arguments =
      (Self.isRoot ? [] : ["--map-root-user"]) + [
        "--mount", "sh", "-c",
        "mount -t tmpfs -o size=\(mebibytes)m small \"$0\" && echo mounted && exec cat >/dev/null",
        folder.path,
      ]
    keeper.standardInput = input
    keeper.standardOutput = output
    keeper.standardError = FileHandle.nullDevice
    try keeper.run()
    guard !output.fileHandleForReading.availableData.isEmpty else {
      throw HarnessError(description: "this user may not mount a file system")
    }
  }

  deinit {
    try? input.fileHandleForWriting.close()
    keeper.waitUntilExit()
  }

  /// For a shell that runs a program where the disk is: `"$0" "$@"`.
  var script: String {
    let names = Self.isRoot ? "" : "--user --preserve-credentials "
    return "exec nsenter \(names)--mount --target \(keeper.processIdentifier) -- \"$0\" \"$@\""
  }

  /// Runs a line of the shell there.
  @discardableResult
  func shell(_ line: String) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", script, "/bin/sh", "-c", line]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self)
  }

  /// Writes a file until there is no room left.
  func fill() throws { try shell("cat /dev/zero > '\(folder.path)/fill'") }

  func empty() throws { try shell("rm '\(folder.path)/fill'") }
}
