import Foundation
import Testing

/// What goes wrong at the n-th change that a program makes to the files below a folder: see `FaultCalls.c`.
struct FileFault {
  enum Kind: String {
    /// SIGKILL before the change.
    case kill
    /// SIGKILL after half of the bytes.
    case torn
    /// From here on the disk is full.
    case full
    /// From here on writes fail.
    case broken
    /// From here on the disk says that it lost what it was given.
    case unsynced
    /// The power goes: of what no wait for the disk followed, nothing is left.
    case cut
    /// The power goes: of what no wait for the disk followed, every second write is left.
    case mangled
  }

  /// Whether every change is to go wrong in turn, and not some of them (`make crash`).
  static let areAllWanted = ProcessInfo.processInfo.environment["DRIFTLESS_EVERY_WRITE"] != nil

  let kind: Kind
  let number: Int
  let folder: URL

  init(_ kind: Kind, at number: Int, below folder: URL) {
    self.kind = kind
    self.number = number
    self.folder = folder
  }

  /// The number of the next change that goes wrong: each of the first ones, and then some, unless all are wanted.
  static func next(after number: Int, few: Int = 3, every step: Int = 7) -> Int {
    number + (areAllWanted || number <= few ? 1 : step)
  }

  /// Does the same with one change after the other gone wrong, until nothing is left that could go wrong.
  ///
  /// - Parameters:
  ///   - few: of how many of the first changes each goes wrong.
  ///   - step: of those after them, each how manieth.
  ///   - body: gets the number of the change and of the round, and says whether it went to its end.
  /// - Returns: how many rounds there were.
  @discardableResult
  static func atEachChange(
    few: Int = 3, every step: Int = 7, _ body: (_ number: Int, _ count: Int) throws -> Bool
  ) rethrows -> Int {
    var (number, count) = (1, 1)
    while try !body(number, count) {
      number = next(after: number, few: few, every: step)
      count += 1
    }
    #expect(count > 3, "there were changes that could go wrong")
    return count
  }

  /// The same where the body waits.
  @discardableResult
  static func atEachChange(
    few: Int = 3, every step: Int = 7, _ body: (_ number: Int, _ count: Int) async throws -> Bool
  ) async rethrows -> Int {
    var (number, count) = (1, 1)
    while try await !body(number, count) {
      number = next(after: number, few: few, every: step)
      count += 1
    }
    #expect(count > 3, "there were changes that could go wrong")
    return count
  }

  /// The variables that put the fault into a program.
  func environment() throws -> [String: String] {
    [
      "LD_PRELOAD": try Self.library.get().path,
      "DRIFTLESS_FAULT": "\(kind.rawValue):\(number)",
      "DRIFTLESS_FAULT_FOLDER": folder.resolvingSymlinksInPath().path,
    ]
  }

  /// Built once, by the compiler that builds the package's own C.
  private static let library = Result {
    let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("FaultCalls.c")
    let library = FileManager.default.temporaryDirectory
      .appendingPathComponent("driftless-faults-\(ProcessInfo.processInfo.processIdentifier).so")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "clang", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library.path, source.path,
      "-ldl", "-lpthread",
    ]
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw HarnessError(description: "clang did not build \(source.path)")
    }
    atexit {
      unlink(
        FileManager.default.temporaryDirectory.appendingPathComponent(
          "driftless-faults-\(ProcessInfo.processInfo.processIdentifier).so"
        ).path)
    }
    return library
  }
}

extension Outcome {
  /// Whether SIGKILL ended the program: no program here exits with 9.
  var wasKilled: Bool { status == SIGKILL }
}

extension Replica {
  /// That its store has no damage.
  func expectSound(
    _ comment: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let check = try Programs.run("syncctl", ["store", "check", store.path])
    #expect(check.status == 0, "\(comment): \(check.output)", sourceLocation: sourceLocation)
  }

  /// Runs `syncctl` on this store with a fault in it.
  func attempt(
    _ arguments: [String], _ fault: FileFault.Kind, at number: Int,
    environment: [String: String] = [:]
  ) throws -> Outcome {
    try Programs.run(
      "syncctl", arguments + ["--store", store.path],
      environment: FileFault(fault, at: number, below: folder).environment()
        .merging(environment) { $1 })
  }

  /// What is not acknowledged by the zone, in objects.
  var pendingObjects: Int? {
    get throws { (try status()["pending"] as? [String: Any])?["objects"] as? Int }
  }
}
