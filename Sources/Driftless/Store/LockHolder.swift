import DriftlessSQLite
import Foundation

/// The process that keeps others from a file, as the system tells it.
struct LockHolder {
  let process: Int32
  private let name: String?
  private let isStopped: Bool

  /// The one that holds a file lock; nil when nobody does, or one that this process cannot see.
  static func ofFile(_ path: String) -> LockHolder? { find(path) { $0.contains("FLOCK") } }

  /// One that has a database open: who uses a write-ahead log holds the file shared all the time.
  static func ofOpenDatabase(_ path: String) -> LockHolder? {
    find(path + "-shm") { $0.contains("POSIX") } ?? find(path) { $0.contains("POSIX") }
  }

  /// The one that writes to a database.
  static func ofDatabase(_ path: String) -> LockHolder? {
    // The writer, the checkpointer and who recovers the write-ahead log lock these bytes of the memory that all openers share.
    let log = find(path + "-shm") { fields in
      guard fields.contains("WRITE"), fields.count > 1, let first = Int(fields[fields.count - 2])
      else { return false }
      return (120...122).contains(first)
    }
    return log ?? find(path) { $0.contains("POSIX") && $0.contains("WRITE") }
  }

  /// A busy host changes the list all the time. It is looked at when somebody has waited for a lock in vain.
  private static let looks = 50

  /// Each line is: number, kind, strength, access, process, device and inode, first and last byte.
  private static func find(_ path: String, _ isMeant: ([Substring]) -> Bool) -> LockHolder? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    // The list comes a page at a time, and what is taken or let go of meanwhile moves the rest: a line may be missed.
    for _ in 0..<Self.looks {
      if let holder = find(inode: status.st_ino, isMeant) { return holder }
    }
    return nil
  }

  private static func find(inode: UInt, _ isMeant: ([Substring]) -> Bool) -> LockHolder? {
    for line in (SystemFile.text("/proc/locks") ?? "").split(separator: "\n") {
      let fields = line.split(separator: " ")
      // An arrow marks those who wait.
      guard !fields.contains("->"), isMeant(fields),
        let place = fields.firstIndex(where: { $0.hasSuffix(":\(inode)") }), place > 0,
        let process = Int32(fields[place - 1]), process > 0
      else { continue }
      return LockHolder(process)
    }
    return nil
  }

  private init(_ process: Int32) {
    self.process = process
    name = (try? String(contentsOfFile: "/proc/\(process)/comm", encoding: .utf8))?
      .trimmingCharacters(in: .newlines)
    // The name stands in parentheses and may hold anything; the state is the next letter.
    let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    let state = status?.split(separator: ")").last?.first { $0 != " " }
    isStopped = state == "T"
  }

  private var who: String {
    process == getpid() ? "This process itself" : "Process \(process) (\(name ?? "unknown"))"
  }

  /// Whether the process has a file open whose name was removed, as far as this process may look.
  func hasOpen(removed path: String) -> Bool {
    let folder = "/proc/\(process)/fd"
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return files.contains { file in
      let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(file)")
      return target == path + " (deleted)"
    }
  }

  /// The log's name was removed while the process had the store open.
  func failure(ofRemovedLog path: String) -> StoreError {
    StoreError(
      .busy,
      """
      The log of \(path) was removed. \(who) has it open still\(isStopped ? ", and is stopped" : ""): what was saved last is \
      there alone, and is saved into the file as that closes the store. Nothing was changed.
      """,
      suggestion: isStopped
        ? "Let it go on with `kill -CONT \(process)`, have it close the store or end it, and try again."
        : "Have it close the store, or end it, and try again. What it cannot save when it is killed is lost."
    )
  }

  /// What keeps others from the file, and what to do about it.
  func failure(_ path: String) -> StoreError {
    guard isStopped else {
      return StoreError(
        .busy, "\(who) holds \(path) and does not let go of it.",
        suggestion: "Wait until it is done, or end it, and try again.")
    }
    return StoreError(
      .busy, "\(who) holds \(path) and is stopped.",
      suggestion: "Let it go on with `kill -CONT \(process)`, or end it, and try again.")
  }
}
