public import Foundation

/// What this process has locked of a database, and of the index of its log, by the system's list.
///
/// SQLite's locks are the process's: they all go when the process closes any descriptor of the file, by whatever means it was opened.
public struct HeldLocks: Sendable {
  private let paths: [String]
  public let locks: Set<String>

  /// Looks at a database that nobody is at.
  public init(on database: URL) {
    paths = ["", "-shm"].map { database.resolvingSymlinksInPath().path + $0 }
    locks = Self.look(at: paths)
  }

  /// Those that are held no more.
  public var lost: Set<String> {
    var lost = locks
    // The list comes a page at a time, and others change it meanwhile: a line may be missed.
    for _ in 0..<50 where !lost.isEmpty { lost.subtract(Self.look(at: paths)) }
    return lost
  }

  private static func look(at paths: [String]) -> Set<String> {
    let list = (try? String(contentsOfFile: "/proc/locks", encoding: .utf8)) ?? ""
    var locks: Set<String> = []
    for path in paths {
      var status = stat()
      guard stat(path, &status) == 0 else { continue }
      // Each line is: number, kind, strength, access, process, device and inode, first and last byte.
      for line in list.split(separator: "\n") {
        let fields = line.split(separator: " ")
        guard fields.count == 8, fields[1] == "POSIX", fields[4] == "\(getpid())",
          fields[5].hasSuffix(":\(status.st_ino)")
        else { continue }
        locks.insert("\(URL(fileURLWithPath: path).lastPathComponent) \(fields[3]) \(fields[6])")
      }
    }
    return locks
  }
}
