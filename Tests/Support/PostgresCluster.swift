import Foundation
import Synchronization

/// A PostgreSQL of the tests' own: a database cluster in a temporary folder, on a socket in that folder, which ends with the
/// process. It runs as another user where the tests run as root, which PostgreSQL refuses.
public final class PostgresCluster: Sendable {
  private static let started = Mutex<PostgresCluster?>(nil)

  private let directory: TemporaryDirectory
  private let server: Mutex<Process>
  private let programs: String
  private let script: String?
  private let places = Mutex(0)

  /// What is missing for the tests' PostgreSQL.
  public struct Missing: Error, CustomStringConvertible {
    public let description: String
  }

  /// The one that the tests of this process share.
  public static func shared() throws -> PostgresCluster {
    try started.withLock { started in
      if let cluster = started { return cluster }
      let cluster = try PostgresCluster()
      started = cluster
      atexit { PostgresCluster.started.withLock { $0?.stop() } }
      return cluster
    }
  }

  /// Makes a cluster and starts it.
  ///
  /// - Parameter script: what a shell does to run its server (`"$0" "$@"`), if that is not run as it is.
  public init(script: String? = nil) throws {
    self.script = script
    guard let programs = Self.programs else {
      throw Missing(
        description:
          "PostgreSQL's programs are not here. Try: apt-get install postgresql libpq-dev")
    }
    self.programs = programs
    directory = try TemporaryDirectory()
    let path = directory.url.path
    if getuid() == 0 {
      try Self.run("/bin/chown", [Self.user, path])
    }
    try Self.run(
      asUser: programs + "/initdb",
      ["-D", path + "/data", "-A", "trust", "-U", "driftless", "-E", "UTF8", "--no-sync"])
    server = Mutex(try Self.start(programs, path, script))
    try waitUntilUp()
  }

  /// A standby, which follows its primary without holding up anything there, and takes no writes until `promote`.
  public init(standbyOf primary: PostgresCluster) throws {
    script = nil
    programs = primary.programs
    directory = try TemporaryDirectory()
    let path = directory.url.path
    if getuid() == 0 {
      try Self.run("/bin/chown", [Self.user, path])
    }
    try Self.run(
      asUser: programs + "/pg_basebackup",
      [
        "-h", primary.host, "-U", "driftless", "-D", path + "/data", "-R", "-X", "stream",
        "-c", "fast", "--no-sync",
      ])
    server = Mutex(try Self.start(programs, path, script))
    try waitUntilUp()
  }

  /// The folder of its socket, which a client names as the host.
  public var host: String { directory.url.path }

  /// Whether it has all that `primary` has written.
  public func hasAll(of primary: PostgresCluster) throws -> Bool {
    let written = try primary.execute("SELECT pg_current_wal_lsn()")
    let place = written.trimmingCharacters(in: .whitespacesAndNewlines)
    return try execute("SELECT pg_last_wal_replay_lsn() >= '\(place)'") == "t\n"
  }

  /// Makes a standby a primary.
  public func promote() throws {
    try Self.run(
      asUser: programs + "/pg_ctl", ["-D", directory.url.path + "/data", "-w", "promote"])
  }

  /// What a client connects with, to a schema of its own.
  public func place() throws -> String {
    let number = places.withLock { places in
      places += 1
      return places
    }
    try execute("CREATE SCHEMA place\(number)")
    return text(options: "-csearch_path=place\(number)")
  }

  /// What a client connects with.
  public func text(options: String = "", database: String = "postgres") -> String {
    "host=\(host) dbname=\(database) user=driftless options='\(options)'"
  }

  /// Runs statements.
  @discardableResult public func execute(_ sql: String, on text: String? = nil) throws -> String {
    try Self.run(
      programs + "/psql",
      ["-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-c", sql, text ?? self.text()])
  }

  /// Ends every connection at once, without a clean end, and comes back.
  public func crash() throws {
    try server.withLock { server in
      try Self.run(
        asUser: programs + "/pg_ctl",
        ["-D", directory.url.path + "/data", "-m", "immediate", "stop"])
      server.waitUntilExit()
      server = try Self.start(programs, directory.url.path, script)
    }
    try waitUntilUp()
  }

  /// Ends the server; `resume` starts it.
  public func suspend() throws {
    try server.withLock { server in
      try Self.run(
        asUser: programs + "/pg_ctl", ["-D", directory.url.path + "/data", "-m", "fast", "stop"])
      server.waitUntilExit()
    }
  }

  public func resume() throws {
    try server.withLock { $0 = try Self.start(programs, directory.url.path, script) }
    try waitUntilUp()
  }

  public func stop() {
    server.withLock { server in
      guard server.isRunning else { return }
      _ = try? Self.run(
        asUser: programs + "/pg_ctl",
        ["-D", directory.url.path + "/data", "-m", "immediate", "stop"])
      server.waitUntilExit()
    }
  }

  private func waitUntilUp() throws {
    let deadline = ContinuousClock.now + .seconds(120)
    while true {
      do {
        try execute("SELECT 1")
        return
      } catch {
        guard ContinuousClock.now < deadline else { throw error }
        usleep(50_000)
      }
    }
  }

  private static func start(
    _ programs: String, _ path: String, _ script: String?
  ) throws -> Process {
    try launch(
      asUser: programs + "/postgres",
      [
        "-D", path + "/data", "-k", path, "-c", "listen_addresses=", "-c", "fsync=off",
        "-c", "max_connections=300",
      ], script)
  }

  /// The folder of the server's programs: Debian's are not on the path.
  private static let programs: String? = {
    let folders = (try? run("/usr/bin/env", ["pg_config", "--bindir"])).map {
      [$0.trimmingCharacters(in: .whitespacesAndNewlines)]
    }
    return (folders ?? []).first {
      FileManager.default.isExecutableFile(atPath: $0 + "/initdb")
    }
  }()

  /// Whom the server runs as, where the tests run as root.
  public static let user = "nobody"

  private static func launch(
    asUser program: String, _ arguments: [String], _ script: String? = nil
  ) throws -> Process {
    let process = Process()
    if getuid() == 0 {
      process.executableURL = URL(fileURLWithPath: "/usr/sbin/runuser")
      process.arguments = ["-u", user, "--", program] + arguments
    } else {
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments = arguments
    }
    if let script, let executable = process.executableURL {
      process.arguments = ["-c", script, executable.path] + (process.arguments ?? [])
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
    }
    process.currentDirectoryURL = URL(fileURLWithPath: "/")
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    return process
  }

  private static func run(asUser program: String, _ arguments: [String]) throws {
    let process = try launch(asUser: program, arguments)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Missing(description: "\(program) \(arguments) ended with \(process.terminationStatus)")
    }
  }

  @discardableResult private static func run(_ program: String, _ arguments: [String]) throws
    -> String
  {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let text = String(decoding: data, as: UTF8.self)
    guard process.terminationStatus == 0 else {
      throw Missing(description: "\(program) ended with \(process.terminationStatus): \(text)")
    }
    return text
  }
}
