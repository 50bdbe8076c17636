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

/// A server whose program may end by itself. It keeps its port.
final class FragileServer {
  let data: URL
  let zone: String
  /// A file of limits, if not the usual ones.
  var limits: URL?
  private(set) var address = "http://127.0.0.1:0"
  private var process: Process?

  /// Creates the zone; nothing serves it yet.
  init(data: URL, zone: String) throws {
    self.data = data
    self.zone = zone
    let created = try Programs.run(
      "driftless-server", ["zone", "create", zone, "--data", data.path])
    guard created.status == 0 else {
      throw HarnessError(description: "zone create: \(created.errors)")
    }
  }

  /// A server on a folder that another one made, at an address of its own.
  init(data: URL, existing zone: String, listen: String) throws {
    self.data = data
    self.zone = zone
    address = "http://\(listen)"
  }

  deinit { kill() }

  func token() throws -> String {
    let made = try Programs.run(
      "driftless-server", ["token", "create", "--zone", zone, "--data", data.path])
    guard made.status == 0 else { throw HarnessError(description: "token create: \(made.errors)") }
    return made.output.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Starts the program; false when it ended before it listened.
  @discardableResult
  func start(_ fault: (kind: FileFault.Kind, number: Int)? = nil) throws -> Bool {
    let process = Process()
    process.executableURL = Programs.url("driftless-server")
    process.arguments = [
      "serve", "--data", data.path, "--listen", String(address.dropFirst("http://".count)),
    ]
    if let limits { process.arguments? += ["--limits", limits.path] }
    if let fault {
      process.environment = ProcessInfo.processInfo.environment.merging(
        try FileFault(fault.kind, at: fault.number, below: data).environment()
      ) { $1 }
    }
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    try process.run()
    self.process = process
    var text = ""
    while case let bytes = pipe.fileHandleForReading.availableData, !bytes.isEmpty {
      text += String(decoding: bytes, as: UTF8.self)
      for line in text.split(separator: "\n") where line.hasPrefix("listening on ") {
        address = String(line.dropFirst("listening on ".count))
        return true
      }
    }
    process.waitUntilExit()
    return false
  }

  var isRunning: Bool { process?.isRunning ?? false }
  var pid: Int32 { process?.processIdentifier ?? 0 }

  /// Kill -9, where it has not ended.
  func kill() {
    guard let process else { return }
    if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
    self.process = nil
  }
}
