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
      both began with, and the later edit stands. A save, and the end of the file, ends a transaction. An id is a UUID or any text, which \
      means one object of an entity, also after the entity was renamed. Where two objects became one by a unique key, the \
      id that went means that one on the replica that gave it, and on others a new object. To-one \
      values are ids, to-many values arrays of ids; dates are ISO 8601, binary values base64, \
      decimals texts. Values that the model refuses, an empty required reference say, are taken where \
      the line names their properties, "unfit":["shelf"], as an export does of a store that has such. A bad line gives FILE:LINE and exit code 65, and nothing of its transaction \
      is saved. What was saved before it, or before an interrupt (Ctrl-C), is said as a number of \
      lines: import the file again with --skip and that number. Of an import that was killed the same \
      file says it: imported again, its first line is there already, or it would add a second time or take \
      what it brought for what was there, and the error has the number. Of a pipe the store keeps no such place. --skip 0 imports all of it in any case. \
      A pipe is read as it comes: each save in it saves. With --only-missing lines of objects that \
      the store has when they come are passed over: what was edited since the file was written stays, and what \
      was deleted is back. What the lines of those that are back say of others, as which they hold, is taken. \
      Of a pipe that was cut off, what it brought is there: write it into a file first.

      Example: syncctl import --store shop.sqlite --author till-3 goods.jsonl
      """)

  @OptionGroup var target: StoreArguments
  @OptionGroup var model: GivenModelArguments
  @Option(name: .long, help: "The author of transactions whose save names none.")
  var author: String?
  @Option(name: .long, help: "Pass over so many lines, which an import before this one saved.")
  var skip: Int?
  @Flag(name: .long, help: "Pass over lines of objects that are there, and say how many.")
  var onlyMissing = false
  @Argument(help: "The file, or - for standard input.", completion: .file())
  var file: String
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard skip ?? 0 >= 0 else { throw ValidationError("--skip is at least 0.") }
    if let author, let reason = AuthorName.obstacle(author) {
      throw ValidationError("--author \(reason).")
    }
  }

  func perform() async throws {
    Interrupt.noteFirst()
    do {
      let store = try model.open(target.url, output)
      let (bytes, size) = try read()
      let progress = CommandProgress()
      // One long line may take as long as a file.
      if size > 0 {
        progress.note(
          CommandProgress.Step(doing: "importing", unit: "KiB", done: 0, total: size >> 10))
      }
      let importer = Importer(
        store: store, author: author, source: file, skippedLines: skip,
        onlyMissing: onlyMissing,
        isInterrupted: { Interrupt.wasAsked }
      ) { line, place in
        // Bytes tell how far the file is, lines what a person knows of it.
        progress.note(
          CommandProgress.Step(
            doing: "importing", unit: "KiB", done: place >> 10, total: size >> 10,
            place: "line \(line)"))
      }
      let name = file == "-" ? "standard input" : file
      let report = try await WaitNotice(output: output, progress: progress).during({ name }) {
        try importer.take(bytes)
      }
      try output.put(report, line: report.text)
      try importer.end(bytes)
    } catch let error as ImportInterrupted {
      let progress = error.progress
      output.note(
        "interrupted: \(progress.text)"
          + (progress.line > 0 ? "; go on with --skip \(progress.line)" : ""))
      throw ExitCode(128 + SIGINT)
    }
  }

  /// The file, and how many bytes it has: 0 for a pipe, whose end nobody knows.
  private func read() throws -> (ImportBytes, size: Int) {
    // The store itself would lose its locks when a descriptor of it is closed.
    if file != "-", PersistentStore.isDatabase(URL(fileURLWithPath: file)) == true {
      throw Failure(
        .badData, code: "unreadable", "\(file) is an SQLite database, and no file of JSON lines.",
        suggestion: "write what it holds into one: syncctl export --store \(file.shellWord)")
    }
    let handle: FileHandle
    do {
      handle =
        file == "-"
        ? .standardInput : try FileHandle(forReadingFrom: URL(fileURLWithPath: file))
    } catch {
      let reason = access(file, R_OK) == 0 ? "" : ": \(String(cString: strerror(errno)))"
      throw Failure(
        .badData, code: "unreadable", "\(file) cannot be read\(reason).",
        suggestion: "check the path and its permissions")
    }
    var status = stat()
    let isKnown = fstat(handle.fileDescriptor, &status) == 0
    if isKnown, status.st_mode & S_IFMT == S_IFDIR {
      throw Failure(
        .badData, code: "unreadable", "\(file) is a folder.",
        suggestion: "name a file of JSON lines, or - for standard input")
    }
    // A plain file can be read at any place, and again; of standard input it is not known where that begins.
    guard isKnown, status.st_mode & S_IFMT == S_IFREG, file != "-"
    else { return (ImportBytes(try ImportPipe(handle) { Interrupt.wasAsked }), 0) }
    return (ImportBytes(handle), Int(status.st_size))
  }
}
