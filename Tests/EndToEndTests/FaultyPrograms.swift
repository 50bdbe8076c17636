import Foundation

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
