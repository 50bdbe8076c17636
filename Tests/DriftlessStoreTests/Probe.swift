import Foundation
import TestSupport

/// Runs `storeprobe`, which works on a store in a process of its own.
struct Probe {
  /// How the process ended: 99 when the fault ended it.
  let status: Int32
  /// What it printed, a line each: `done` for each piece of work that was acknowledged, or the code of an error.
  let lines: [String]

  var wasKilled: Bool { status == 99 }

  static func run(
    _ work: String, _ store: URL, _ fault: (kind: String, number: Int)? = nil, model: URL? = nil
  ) throws -> Probe {
    let run = try ProgramRun(
      program,
      [work, store.path] + (fault.map { [$0.kind, "\($0.number)"] } ?? [])
        + (model.map { [$0.path] } ?? []))
    return Probe(status: run.status, lines: run.lines)
  }

  /// Starts a probe and does not wait for its end.
  static func start(_ arguments: [String]) throws -> Running {
    let running = Running()
    running.process.executableURL = program
    running.process.arguments = arguments
    running.process.standardInput = running.input
    running.process.standardOutput = running.output
    try running.process.run()
    return running
  }

  /// A probe at work.
  struct Running {
    let process = Process()
    fileprivate let input = Pipe()
    fileprivate let output = Pipe()

    /// The next of its lines.
    func line() -> String {
      var bytes: [UInt8] = []
      while let byte = try? output.fileHandleForReading.read(upToCount: 1)?.first {
        if byte == UInt8(ascii: "\n") { break }
        bytes.append(byte)
      }
      return String(decoding: bytes, as: UTF8.self)
    }

    /// Lets it go on that waits for a line.
    func go() throws { try input.fileHandleForWriting.write(contentsOf: Data("go\n".utf8)) }

    /// Waits until the process has been stopped; false when it ended instead.
    func isStopped() -> Bool {
      while process.isRunning {
        let path = "/proc/\(process.processIdentifier)/stat"
        let state = try? String(contentsOfFile: path, encoding: .utf8)
          .split(separator: ")").last?.first { $0 != " " }
        if state == "T" { return true }
        usleep(1_000)
      }
      return false
    }

    func wait() -> Int32 {
      process.waitUntilExit()
      return process.terminationStatus
    }
  }

  static let program = ProgramFile.built("storeprobe")
}

/// The long loops that end a process, or let the disk fail, at one write after another.
enum EveryWrite {
  /// Whether a loop goes through every write, of which most are alike: a page is written, or copied. `make crash` does so.
  static let isWanted = ProcessInfo.processInfo.environment["DRIFTLESS_EVERY_WRITE"] != nil

  /// How far to the next write that is to fail.
  static func stride(after number: Int) -> Int { isWanted || number < 1 ? 1 : number < 12 ? 2 : 37 }

  /// Says how often the work was ended, for `make crash`.
  static func report(_ work: String, _ fault: String, _ count: Int) {
    if isWanted { print("faults: \(work), \(fault): \(count)") }
  }
}

/// A store as it lies on disk, to be laid out again for each try.
struct StoreImage {
  private let files: [String: Data]

  /// Every file that belongs to the store.
  init(of url: URL) throws {
    var files: [String: Data] = [:]
    for suffix in ["", "-wal"] {
      let file = URL(fileURLWithPath: url.path + suffix)
      if FileManager.default.fileExists(atPath: file.path) {
        files[suffix] = try Data(contentsOf: file)
      }
    }
    self.files = files
  }

  var wal: Data? { files["-wal"] }

  func lay(at url: URL) throws {
    for suffix in ["-wal", "-shm", ""] {
      try? FileManager.default.removeItem(atPath: url.path + suffix)
    }
    for (suffix, data) in files { try data.write(to: URL(fileURLWithPath: url.path + suffix)) }
  }
}
