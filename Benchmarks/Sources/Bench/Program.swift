import Foundation
import Glibc

/// A program that runs to its end.
enum Program {
  struct Use: Codable {
    var status: Int32
    var processorSeconds: Double
    var peakBytes: Int
  }

  /// Where a program's output goes.
  enum Output {
    case file(String)
    /// The end of a pipe that is written to.
    case pipe(Int32)
  }

  /// The first word of a command line by which this program runs another, and writes what that used to the file that is named
  /// next.
  static let countingWord = "count-use-of"

  /// Runs a program by way of a small process. The system counts the memory of whoever started a program as the program's own
  /// peak, and this process has had hundreds of megabytes by then.
  static func run(
    _ program: URL, _ arguments: [String], output: Output = .file("/dev/null")
  ) throws -> Use {
    let told = FileManager.default.temporaryDirectory
      .appendingPathComponent("driftless-use-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: told) }
    let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    let counter = try start(
      own, [countingWord, told.path, program.path] + arguments, output: output)
    let use = try end(of: counter)
    guard use.status == 0, let counted = try? Data(contentsOf: told) else {
      throw BenchError(description: "\(program.lastPathComponent) was not counted")
    }
    let counts = try JSONDecoder().decode(Use.self, from: counted)
    guard counts.status == 0 else {
      throw BenchError(
        description:
          "\(program.lastPathComponent) \(arguments.joined(separator: " ")): status \(counts.status)"
      )
    }
    return counts
  }

  /// What the small process does.
  ///
  /// - Parameter words: where to write what was used, the program, and its arguments.
  static func count(_ words: [String]) throws {
    guard words.count > 1 else { throw BenchError(description: "\(countingWord) FILE PROGRAM …") }
    let process = try start(
      URL(fileURLWithPath: words[1]), Array(words.dropFirst(2)), output: .pipe(STDOUT_FILENO))
    try JSONEncoder().encode(end(of: process)).write(to: URL(fileURLWithPath: words[0]))
  }

  static func end(of process: pid_t) throws -> Use {
    var status: Int32 = 0
    var usage = rusage()
    while wait4(process, &status, 0, &usage) < 0 {
      guard errno == EINTR else { throw BenchError(description: "wait4: \(errno)") }
    }
    return Use(
      status: status, processorSeconds: seconds(usage), peakBytes: Int(usage.ru_maxrss) * 1024)
  }

  static func start(_ program: URL, _ arguments: [String], output: Output) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    switch output {
    case .file(let path):
      posix_spawn_file_actions_addopen(&actions, 1, path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    case .pipe(let end): posix_spawn_file_actions_adddup2(&actions, end, 1)
    }
    var words = ([program.path] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var process: pid_t = 0
    let code = posix_spawn(&process, program.path, &actions, nil, &words, environ)
    guard code == 0 else {
      throw BenchError(description: "\(program.path) does not start: code \(code)")
    }
    return process
  }

  private static func seconds(_ usage: rusage) -> Double {
    func of(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return of(usage.ru_utime) + of(usage.ru_stime)
  }
}
