import ArgumentParser
import Driftless
import Foundation
import Glibc
import SyncDaemon

struct ImportCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Bring JSON lines into a store.",
    discussion: """
      One object a line:
        {"op":"insert|update|upsert|delete","entity":"Package","id":"bash","set":{"name":"bash"}}
        {"op":"save","author":"dpkg"}
      An upsert inserts what is not there and updates what is: a file of upserts can be imported \
      again and again. An update or upsert may add to numbers as well, "add":{"stock":-3}, beside \
      its "set" but not to the same property; null counts as 0, and a sum that the attribute cannot \
      hold is refused. In a property whose policy is counter such edits of several replicas add up. \
      They do not where each of them made the object by an upsert of its own: no count is known that \
      both began with, and the later edit stands. A save, and the end of the file, ends a transaction. An id is a UUID or any text. To-one \
      values are ids, to-many values arrays of ids; dates are ISO 8601, binary values base64, \
      decimals texts. A bad line gives FILE:LINE and exit code 65, and nothing of its transaction \
      is saved. What was saved before it, or before an interrupt (Ctrl-C), is said as a number of \
      lines: import the file again with --skip and that number.
      """)

  @OptionGroup var target: StoreArguments
  @OptionGroup var model: GivenModelArguments
  @Option(name: .long, help: "The author of transactions whose save names none.")
  var author: String?
  @Option(name: .long, help: "Pass over so many lines, which an import before this one saved.")
  var skip = 0
  @Argument(help: "The file, or - for standard input.", completion: .file())
  var file: String
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard skip >= 0 else { throw ValidationError("--skip is at least 0.") }
  }

    if let author, let reason = AuthorName.obstacle(author) {
      throw ValidationError("--author \(reason).")
    }
  func perform() throws {
    Interrupt.noteFirst()
    do {
      let bytes = try read()
      let store = try model.open(target.url, output)
      let importer = Importer(
        store: store, author: author, source: file, skippedLines: skip,
        isInterrupted: { Interrupt.wasAsked })
      let report = try importer.run(bytes)
      try output.put(report, line: report.text)
    } catch let error as ImportInterrupted {
      let progress = error.progress
      output.note(
        "interrupted: \(progress.text)"
          + (progress.line > 0 ? "; go on with --skip \(progress.line)" : ""))
      throw ExitCode(128 + SIGINT)
    }
  }

  /// What a pipe brings. Nothing of it is saved before its end, and an interrupt does not wait for that.
  private func readToEnd(of descriptor: Int32) throws -> Data {
    var data = Data()
    var piece = [UInt8](repeating: 0, count: ImportBytes.pieceBytes)
    while true {
      var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let isReady = poll(&waiting, 1, Self.lookMilliseconds) > 0
      if Interrupt.wasAsked {
        throw ImportInterrupted(progress: ImportProgress(line: skip))
      }
      guard isReady else { continue }
      let count = Glibc.read(descriptor, &piece, piece.count)
      if count == 0 { return data }
      guard count > 0 else {
        if errno == EINTR || errno == EAGAIN { continue }
        throw Failure(
          .badData, code: "unreadable",
          "\(file) cannot be read: \(String(cString: strerror(errno))).",
          suggestion: "check where it comes from")
      }
      data.append(contentsOf: piece[..<count])
    }
  }

  private static let lookMilliseconds: Int32 = 200

  private func read() throws -> ImportBytes {
    if file == "-" { return ImportBytes(try readToEnd(of: STDIN_FILENO)) }
    do {
      // A plain file is read a piece at a time, a pipe to its end.
      let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: file))
      let kind = try FileManager.default.attributesOfItem(atPath: file)[.type] as? FileAttributeType
      if kind == .typeRegular { return ImportBytes(handle) }
      return ImportBytes(try readToEnd(of: handle.fileDescriptor))
    } catch let interrupted as ImportInterrupted {
      throw interrupted
    } catch {
      throw Failure(
        .badData, code: "unreadable", "\(file) cannot be read.",
        suggestion: "check the path and its permissions")
    }
  }
}
