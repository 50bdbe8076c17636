import Foundation
import TestSupport

/// A page whose blocks of shell are run as a reader would type them, one after the other in an empty folder.
///
/// | fence | what becomes of it |
/// |---|---|
/// | `sh` | runs; a command that fails ends the page |
/// | `output` | is what the block of `sh` before it prints; `…` stands for anything within a line, and alone for any lines |
/// | `console` | does not run here; a comment `not run: REASON` stands before it |
///
/// The ports 8080 and 8443 of a page are free ones of this host, so that pages can run beside each other.
struct PageShell {
  struct Block: Equatable {
    var language: String
    var text: String
    /// The last line before the fence that is not empty.
    var before: String
  }

  /// What one block of `sh` printed, on both outputs.
  struct Printed {
    var command: String
    var text: String?
    /// What the page says that it prints; nil where it says nothing.
    var expected: String?
  }

  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private static let catalogue = "Sources/Driftless/Driftless.docc"

  /// Every page, by its path from the root.
  static var paths: [String] {
    let folder = root.appendingPathComponent(catalogue)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return ["README.md", "CONTRIBUTING.md", "Examples/PointOfSale/README.md"]
      + names.filter { $0.hasSuffix(".md") }.sorted().map { "\(catalogue)/\($0)" }
  }

  /// Seconds that a page may take, under a sanitizer too.
  private static let secondsMax = 600

  let blocks: [Block]

  init(path: String) throws {
    self.init(
      text: try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8))
  }

  init(text: String) {
    var blocks: [Block] = []
    var open: Block?
    var before = ""
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if var block = open {
        if line == "```" {
          blocks.append(block)
          open = nil
          before = ""
        } else {
          block.text += line + "\n"
          open = block
        }
      } else if line.hasPrefix("```") {
        open = Block(language: String(line.dropFirst(3)), text: "", before: before)
      } else if !line.allSatisfy(\.isWhitespace) {
        before = String(line)
      }
    }
    if let open { blocks.append(Block(language: "unclosed", text: open.text, before: "")) }
    self.blocks = blocks
  }

  /// The blocks of `sh` with what the page says that they print.
  var commands: [Printed] {
    var commands: [Printed] = []
    for block in blocks {
      switch block.language {
      case "sh": commands.append(Printed(command: block.text))
      case "output" where !commands.isEmpty:
        commands[commands.count - 1].expected = block.text
      default: break
      }
    }
    return commands
  }

  /// Runs the page.
  ///
  /// - Returns: the exit code, and what each block printed; nil for one that was not come to.
  func run(in folder: URL) throws -> (status: Int32, blocks: [Printed]) {
    let home = folder.appendingPathComponent("home")
    let out = folder.appendingPathComponent("out")
    for url in [home, out] {
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }
    let ports = PortNames(written: ["8080", "8443"], free: try FreePort.pair())
    var commands = self.commands
    var script = "set -eu\n"
    // What a page started in the background ends with it.
    script += "trap 'kill $(jobs -p) 2>/dev/null || true; wait 2>/dev/null || true' EXIT\n"
    for (index, command) in commands.enumerated() {
      script += "exec >'\(out.path)/\(index)' 2>&1\n" + ports.free(in: command.command)
    }
    let file = folder.appendingPathComponent("script")
    try Data(script.utf8).write(to: file)

    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    // What waits for something that never comes ends with 124, and with it all that it started.
    process.arguments = ["timeout", "\(Self.secondsMax)", "bash", file.path]
    process.currentDirectoryURL = home
    var environment = ProcessInfo.processInfo.environment
    environment["PATH"] = Programs.folder.path + ":" + (environment["PATH"] ?? "/usr/bin:/bin")
    for name in ["HOME", "TMPDIR", "XDG_RUNTIME_DIR"] { environment[name] = home.path }
    for name in ["RUNTIME_DIRECTORY", "SSL_CERT_FILE", "SYNCCTL_TOKEN"] { environment[name] = nil }
    process.environment = environment
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()

    for index in commands.indices {
      guard let data = try? Data(contentsOf: out.appendingPathComponent("\(index)")) else {
        continue
      }
      commands[index].text = ports.written(in: Self.lines(String(decoding: data, as: UTF8.self)))
    }
    return (process.terminationStatus, commands)
  }

  /// Without what a slow host alone prints.
  private static func lines(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false)
      .filter { !$0.hasPrefix("syncctl: waiting for ") }.joined(separator: "\n")
  }

  /// Whether a text is what a page shows.
  static func matches(_ text: String, shown: String) throws -> Bool {
    let lines = shown.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    let escaped = lines.map { line -> String in
      guard line.trimmingCharacters(in: .whitespaces) != "…" else { return "(?:[^\\n]*\\n)*?" }
      let parts = line.components(separatedBy: "…").map(NSRegularExpression.escapedPattern(for:))
      return parts.joined(separator: "[^\\n]*?") + "\\n"
    }
    let expression = try NSRegularExpression(pattern: "\\A" + escaped.joined() + "\\z")
    let range = NSRange(text.startIndex..., in: text)
    return expression.firstMatch(in: text, range: range) != nil
  }
}

/// The ports that a page writes, and those that stand in for them while it runs. Each text is gone through once: a free
/// port, say 58443, may have a written one within it.
struct PortNames {
  let written: [String]
  let free: [String]

  func free(in text: String) -> String { Self.replaced(written, by: free, in: text) }

  func written(in text: String) -> String { Self.replaced(free, by: written, in: text) }

  private static func replaced(_ names: [String], by others: [String], in text: String) -> String {
    var result = ""
    var rest = Substring(text)
    while let character = rest.first {
      if let index = names.firstIndex(where: rest.hasPrefix) {
        result += others[index]
        rest = rest.dropFirst(names[index].count)
      } else {
        result.append(character)
        rest = rest.dropFirst()
      }
    }
    return result
  }
}

/// Ports of the loopback interface that nobody listens on now.
enum FreePort {
  /// Two of them.
  static func pair() throws -> [String] {
    let first = try next()
    var second = try next()
    while second == first { second = try next() }
    return ["\(first)", "\(second)"]
  }

  static func next() throws -> UInt16 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw HarnessError(description: "no socket") }
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
      }
    }
    guard isBound else { throw HarnessError(description: "no free port") }
    return UInt16(bigEndian: address.sin_port)
  }
}
