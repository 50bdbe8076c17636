public import Foundation

/// What this process has locked of a database, and of the index of its log, by what the system says of each of its descriptors.
///
/// SQLite's locks are the process's: they all go when the process closes any descriptor of the file, by whatever means it was opened.
/// The system's list of all locks is no help: it comes a page at a time, and lines are missed while others change it.
public struct HeldLocks: Sendable {
  private let paths: [String]
  public let locks: Set<String>

  /// Looks at a database that nobody is at.
  public init(on database: URL) {
    paths = ["", "-shm"].map { database.resolvingSymlinksInPath().path + $0 }
    locks = Self.look(at: paths)
  }

  /// Those that are held no more.
  public var lost: Set<String> { locks.subtracting(Self.look(at: paths)) }

  private static func look(at paths: [String]) -> Set<String> {
    let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    var locks: Set<String> = []
    for descriptor in descriptors {
      guard
        let path = try? FileManager.default.destinationOfSymbolicLink(
          atPath: "/proc/self/fd/\(descriptor)"), paths.contains(path),
        let text = try? String(contentsOfFile: "/proc/self/fdinfo/\(descriptor)", encoding: .utf8)
      else { continue }
      // Each line is: "lock:", number, kind, strength, access, process, device and inode, first and last byte.
      for line in text.split(separator: "\n") {
        let fields = line.split(whereSeparator: \.isWhitespace)
        guard fields.count == 9, fields[0] == "lock:", fields[2] == "POSIX" else { continue }
        locks.insert("\(URL(fileURLWithPath: path).lastPathComponent) \(fields[4]) \(fields[7])")
      }
    }
    return locks
  }
}
