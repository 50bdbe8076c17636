import Foundation
import TestSupport

/// The demo's model and data: a made-up package database of the form of `/var/lib/dpkg/status`, through the demo's own
/// script.
enum HostPackages {
  private static let demo = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Demo")

  static let model = demo.appendingPathComponent("HostPackages.xcdatamodeld")

  static func name(_ number: Int) -> String { "package-\(number)" }

  /// The lines that `syncctl import` takes.
  static func lines(count: Int, in directory: TemporaryDirectory) throws -> [String] {
    let status = directory.file("status")
    try Data(statusText(count).utf8).write(to: status)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "awk", "-f", demo.appendingPathComponent("dpkg-to-jsonl.awk").path, status.path,
    ]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw HarnessError(description: "awk ended \(process.terminationStatus)")
    }
    return String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  private static func statusText(_ count: Int) -> String {
    (0..<count).map { number in
      """
      Package: \(name(number))
      Status: install ok installed
      Priority: \(number % 7 == 0 ? "required" : "optional")
      Section: section-\(number % 9)
      Installed-Size: \(number * 13)
      Maintainer: Maintainer \(number % 23) <m\(number % 23)@example.org>
      Architecture: amd64
      Version: 1.\(number)
      Depends: \(name(number / 2)) (>= 1.0), \(name(number / 3)) | \(name(number / 5))
      Description: the package "\(number)"
       and a second line

      """
    }.joined(separator: "\n") + "\n"
  }
}
