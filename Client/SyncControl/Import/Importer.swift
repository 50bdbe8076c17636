package import Driftless
package import Foundation
import SyncDaemon

/// Imports JSON lines into a store, one history transaction a `save`.
///
/// ```
/// {"op":"insert","entity":"Package","id":"bash","set":{"name":"bash","section":"shells"}}
/// {"op":"save","author":"dpkg"}
/// ```
///
/// `insert` makes an object, `update` and `delete` need an existing one, and `upsert` does the first or the second of these;
/// an `update` and an `upsert` may `add` to numbers. `save` ends a transaction, and so does the end of the file. An `id` is a UUID or any text (see `NamedIdentity`). References
/// may name objects that the file inserts later.
package struct Importer {
  private let store: PersistentStore
  private let author: String?
  private let source: String
  private let batchLines: Int
  private let skippedLines: Int
  /// Whether the caller said where to begin.
  private let isPlaceGiven: Bool
  private let onlyMissing: Bool
  private let isInterrupted: @Sendable () -> Bool
  private let progress: (@Sendable (_ line: Int, _ bytes: Int) -> Void)?
  private let presence: ImportPresence?

  /// - Parameters:
  ///   - author: The author of transactions whose `save` names none.
  ///   - source: The file's name, for messages.
  ///   - skippedLines: Lines at the beginning that an earlier import has saved. Nil refuses a file of which an import was cut
  ///     off that would add twice, or take what it brought for what was there.
  ///   - onlyMissing: Lines of objects that are there are passed over.
  ///   - isInterrupted: Asked between the transactions, and between the batches of a large one.
  ///   - progress: Told, after each batch, how many lines and bytes were taken in.
  ///   - batchLines: How many lines of a larger transaction are in memory at once.
  package init(
    store: PersistentStore, author: String?, source: String, batchLines: Int? = nil,
    skippedLines: Int? = nil, onlyMissing: Bool = false,
    isInterrupted: @escaping @Sendable () -> Bool = { false },
    progress: (@Sendable (_ line: Int, _ bytes: Int) -> Void)? = nil
  ) {
    self.progress = progress
    self.skippedLines = skippedLines ?? 0
    isPlaceGiven = skippedLines != nil
    self.onlyMissing = onlyMissing
    self.isInterrupted = isInterrupted
    self.batchLines = batchLines ?? ImportBatches.linesMax
    self.store = store
    self.author = author
    self.source = source
    presence = ImportPresence(in: store)
  }

  /// Imports all lines.
  ///
  /// - Throws: `Failure` with exit code 65 and `FILE:LINE: what is wrong`. Transactions before the
  ///   one with that line are saved; nothing of it or after it is. `ImportInterrupted`.
  package func run(_ data: Data) throws -> ImportReport { try run(ImportBytes(data)) }

  func run(_ bytes: ImportBytes) throws -> ImportReport {
    let report = try take(bytes)
    try end(bytes)
    return report
  }

  /// Notes that a file was imported to its end, and that somebody knows it: from here on the same file is a new one.
  func end(_ bytes: ImportBytes) throws {
    try ImportPlace.drop(ImportPlace.all(of: bytes, in: store, beside: presence), in: store)
  }

  /// Imports all lines. Until `end(_:)` the same file is refused where it would be imported twice: who was killed before it said that
  /// all is saved has said nothing.
  func take(_ bytes: ImportBytes) throws -> ImportReport {
    var progress = ImportProgress(line: skippedLines)
    var beginning: LineReader?
    do {
      let places = try ImportPlace.all(of: bytes, in: store, beside: presence)
      if !isPlaceGiven, let place = places.last {
        throw refusal(of: place, isAtEnd: try bytes.isBlank(from: place.position))
      }
      let shapes = ImportShapes(store.schema.model)
      var course = try ImportCourse(
        of: bytes, after: skippedLines, places, in: store, shapes, onlyMissing: onlyMissing,
        by: presence)
      var lines = try LineReader(bytes, only: course.missing)
      try lines.skip(skippedLines)
      beginning = lines
      var report = try read(lines, of: bytes, shapes, &course, &progress)
      report.passedOver = course.missing?.passedOver.count(in: (skippedLines + 1)...) ?? 0
      return report
    } catch let error as ImportError {
      if error.isInterrupted { throw ImportInterrupted(progress: progress) }
      if error.isThereAlready, progress.line == skippedLines, let beginning,
        let there = try linesThere(from: beginning)
      {
        throw Failure(
          .badData, code: "bad-line", "\(source):\(error.line): \(error.message)",
          suggestion:
            "what lines \(skippedLines + 1) to \(there) insert is in the store: where an import of this "
            + "file was cut off, go on with --skip \(there); else use upsert")
      }
      let mend = error.isOfFile ? "see why it cannot be read" : "correct the line"
      throw Failure(
        .badData, code: error.isOfFile ? "unreadable" : "bad-line",
        "\(source):\(error.line): \(error.message)",
        suggestion: error.suggestion
          ?? (progress.line == 0
            ? "\(mend) and import again; nothing was saved"
            : "\(progress.text): \(mend) and go on with --skip \(progress.line)"))
    } catch is Stop {
      throw ImportInterrupted(progress: progress)
    } catch {
      // A full disk, another program: who imports the file again from its beginning has the same twice.
      var failure = Failure(error)
      if (error as? StoreError)?.code == .fileReplaced {
        failure.suggestion =
          "what was saved of this import may have gone with the content that was replaced: see that the right store is there, "
          + "and import the whole file again with --only-missing, which passes over what is in it"
      } else if progress.line > 0 {
        var advice = failure.suggestion.replacing(
          "nothing was changed", with: "nothing of this transaction was saved")
        if advice.hasSuffix(".") { advice.removeLast() }
        failure.suggestion = "\(advice); \(progress.text): go on with --skip \(progress.line)"
      }
      throw failure
    }
  }

  /// The last line of the transactions at the beginning of which the store has all that they insert: those that an import
  /// before this one saved before it was killed, say. Nil where there are none.
  private func linesThere(from reader: LineReader) throws -> Int? {
    var (reader, last, inserted) = (reader, nil as Int?, Set<UUID>())
    while true {
      // What is wrong with a line is said when its turn comes.
      let line: ImportLine?
      do { line = try reader.next() } catch { return last }
      switch line?.operation {
      case .insert(let entity, let id, _), .upsert(let entity, let id, _):
        guard let known = store.schema.model.entitiesByName[entity] else { return last }
        inserted.insert(NamedIdentity.identity(id, of: known))
      case .save, nil:
        let areThere = try store.read { transaction in
          try inserted.allSatisfy { identity in
            guard let key = try transaction.key(of: identity) else { return false }
            return try transaction.concreteKey(root: key) != nil
          }
        }
        guard areThere else { return last }
        if !inserted.isEmpty { last = reader.number }
        inserted = []
        if line == nil { return last }
      case .update, .delete: break
      }
    }
  }

  /// Of a file that adds to numbers, or of which only what is missing was wanted, and of which an import before this one came some
  /// way and no further, or to the end, and could not say so.
  private func refusal(of place: ImportPlace, isAtEnd: Bool) -> Failure {
    let (outcome, option) =
      place.passedOver == nil
      ? ("would be added a second time", "")
      : ("what they brought would pass for what was there before", " --only-missing")
    if isAtEnd {
      return Failure(
        .badData, code: "cut-off",
        "An import of \(source) was ended before it said so: all its lines, 1 to \(place.line), are saved, and \(outcome).",
        suggestion:
          "--skip \(place.line)\(option) ends it; where all of it is meant once more, --skip 0"
      )
    }
    return Failure(
      .badData, code: "cut-off",
      "An import of \(source) was cut off: its lines 1 to \(place.line) are saved, and \(outcome).",
      suggestion:
        "go on with --skip \(place.line)\(option); where this is another file, or all of it is meant, --skip 0"
    )
  }

  /// Somebody does not want it to go on.
  private struct Stop: Error {}

  private func read(
    _ lines: LineReader, of bytes: ImportBytes, _ shapes: ImportShapes,
    _ course: inout ImportCourse, _ progress: inout ImportProgress
  ) throws -> ImportReport {
    let coordinator = PersistentStoreCoordinator(store: store)
    let batches = ImportBatches(store: store, coordinator: coordinator, shapes: shapes)
    var report = ImportReport()
    var reader = lines
    // Where the transaction begins that the lines are of.
    var start = reader
    var isInOnePiece = false
    var lines: [ImportLine] = []
    progress.waitingLine = course.awaited.firstLine
    while true {
      let line = try reader.next()
      switch line?.operation {
      case .save, nil:
        if !lines.isEmpty {
          if isInterrupted() { throw Stop() }
          var author = author
          if case .save(let name?) = line?.operation { author = name }
          report.add(
            try importInOnePiece(lines, up: reader, of: bytes, &course) {
              let context = ManagedObjectContext(coordinator)
              context.transactionAuthor = author
              context.name = "import"
              context.mergePolicy = ImportMergePolicy()
              return ImportTransaction(context, shapes: shapes)
            })
          report.transactions += 1
          progress = ImportProgress(
            line: reader.number, waitingLine: course.awaited.firstLine)
          self.progress?(reader.number, reader.position)
          lines.removeAll(keepingCapacity: true)
        }
        if line == nil { return report }
        start = reader
        start.forgetRead()
        isInOnePiece = false
      default:
        if let line { lines.append(line) }
        guard lines.count == batchLines, !isInOnePiece, course.awaited.isEmpty else { continue }
        do {
          var place: ImportPlace?
          report.add(
            try batches.importTransaction(
              &lines, &reader, author: author,
              beforeEach: {
                if isInterrupted() { throw Stop() }
                self.progress?($0.number, $0.position)
              },
              atEnd: { reader, hasAdded, transaction in
                course.adds = course.adds || hasAdded
                place = try course.keepPlace(reader, of: bytes, in: transaction)
              }))
          course.noteSaved(place)
          progress = ImportProgress(line: reader.number)
          self.progress?(reader.number, reader.position)
          start = reader
          start.forgetRead()
        } catch let stop as Stop {
          throw stop
        } catch let error as ImportError where error.isInterrupted {
          throw error
        } catch {
          // Whatever it is, one piece meets it again, and can say where.
          reader = start
          lines = []
          isInOnePiece = true
        }
      }
    }
  }

  /// What another program changes of its objects meanwhile is no obstacle: it is done once more, with the store for itself.
  ///
  /// - Parameters:
  ///   - reader: behind the lines.
  ///   - make: begins the transaction.
  private func importInOnePiece(
    _ lines: [ImportLine], up reader: LineReader, of bytes: ImportBytes,
    _ course: inout ImportCourse, _ make: () -> ImportTransaction
  ) throws -> ImportReport {
    let before = course
    do {
      let transaction = make()
      try perform(lines, up: reader, &course, transaction)
      guard !course.hasPlace else {
        return try saveWhole(lines, up: reader, of: bytes, &course, transaction)
      }
      try save(transaction, lines)
      return transaction.counts
    } catch let failure as Failure where failure.code == ImportSave.changedMeanwhile {
      course = before
    }
    let transaction = make()
    return try saveWhole(lines, up: reader, of: bytes, &course, transaction) { course in
      try perform(lines, up: reader, &course, transaction)
    }
  }

  private func perform(
    _ lines: [ImportLine], up reader: LineReader, _ course: inout ImportCourse,
    _ transaction: ImportTransaction
  ) throws {
    let settled = course.awaited.take(insertedBy: lines, transaction.shapes)
    try transaction.perform(lines, settling: settled)
    course.awaited.drop(overruledBy: transaction.lastWords)
    if let missing = course.later.missing(of: transaction.awaited, behind: reader) {
      throw ImportError(
        line: missing.line,
        "\(missing.name) names \(missing.destination.name) \(missing.id), which does not exist")
    }
    for reference in transaction.awaited { course.awaited.add(reference) }
    course.adds = course.adds || lines.contains { !$0.add.isEmpty }
  }

  /// Saves what lines did, with how far the file came, as one transaction.
  ///
  /// - Parameter first: what is done before that, where nobody else can write.
  private func saveWhole(
    _ lines: [ImportLine], up reader: LineReader, of bytes: ImportBytes,
    _ course: inout ImportCourse, _ transaction: ImportTransaction,
    after first: (inout ImportCourse) throws -> Void = { _ in }
  ) throws -> ImportReport {
    let context = transaction.context
    let info = TransactionInfo(author: context.transactionAuthor, contextName: context.name)
    let place = try store.writeWhole(info) {
      try first(&course)
      try save(transaction, lines)
      return try course.keepPlace(reader, of: bytes, in: $0)
    }
    course.noteSaved(place)
    return transaction.counts
  }

  private func save(_ transaction: ImportTransaction, _ lines: [ImportLine]) throws {
    try ImportSave(
      transaction, lastLine: lines[lines.count - 1].number, in: store, source: source
    ).run()
  }
}
