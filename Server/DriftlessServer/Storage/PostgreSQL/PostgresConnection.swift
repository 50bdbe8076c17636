#if PostgreSQL
  import CPostgres
  import Foundation
  import Synchronization

  /// A connection to PostgreSQL: the only code that touches libpq. It is not Sendable: its owner confines it to one thread
  /// at a time. It blocks that thread, and never longer than its deadline.
  final class PostgresConnection {
    private let handle: OpaquePointer
    private let notices = Notices()
    /// Statements that the database has prepared: their names by their text.
    private var prepared: [String: String] = [:]
    private var seconds: Int
    private var isClosed = false
    /// What went wrong so that nothing more may be asked of it.
    private(set) var isBroken = false

    /// Warnings that the database sent, since they were last looked at.
    private final class Notices {
      var warnings: [String] = []
    }

    /// Connects.
    ///
    /// - Parameters:
    ///   - text: a connection string of libpq. What it does not say is taken from the environment (`PGPASSFILE`, …).
    ///   - seconds: for which a statement may take, and the way to its answer.
    /// - Throws: `PostgresError` (`.unreachable`).
    init(_ text: String, connectSeconds: Int, seconds: Int) throws {
      self.seconds = seconds
      // What the connection string says stands above what is before it here, and below what is after it.
      let settings = [
        ("connect_timeout", "\(connectSeconds)"), ("tcp_user_timeout", "\(seconds * 1000)"),
        ("application_name", "driftless-server"), ("dbname", text), ("client_encoding", "UTF8"),
      ]
      let names = settings.map { strdup($0.0) }
      let values = settings.map { strdup($0.1) }
      defer { for text in names + values { free(text) } }
      let opened = PQconnectdbParams(
        names.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil], 1)
      guard let opened, PQstatus(opened) == CONNECTION_OK else {
        let message = opened.map { String(cString: PQerrorMessage($0)) } ?? "out of memory"
        PQfinish(opened)
        throw PostgresError(
          .unreachable, message: ConnectionText(text).hiding(in: message.inOneLine))
      }
      handle = opened
      PQsetnonblocking(handle, 1)
      PQsetNoticeReceiver(
        handle,
        { context, result in
          guard let context, let state = PQresultErrorField(result, ReportField.sqlState)
          else { return }
          let severity = PQresultErrorField(result, ReportField.severity)
          guard severity.map({ String(cString: $0) }) == "WARNING" else { return }
          let text = PQresultErrorField(result, ReportField.message)
          Unmanaged<Notices>.fromOpaque(context).takeUnretainedValue().warnings.append(
            "\(String(cString: state)) \(text.map { String(cString: $0) } ?? "")")
        }, Unmanaged.passUnretained(notices).toOpaque())
    }

    deinit { close() }

    func close() {
      guard !isClosed else { return }
      isClosed = true
      isBroken = true
      PQfinish(handle)
    }

    /// Runs one statement and gives its rows.
    ///
    /// - Throws: `PostgresError`.
    @discardableResult func run(_ sql: String, _ values: PostgresValue...) throws -> PostgresRows {
      let name = try prepared[sql] ?? prepare(sql)
      let bytes = values.map(\.bytes)
      let isSent = withPointers(to: bytes) { pointers in
        let lengths = bytes.map { Int32(clamping: $0?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: bytes.count)
        return PQsendQueryPrepared(
          handle, name, Int32(bytes.count), pointers, lengths, formats, 1)
      }
      guard isSent == 1 else { throw lost() }
      return try result()
    }

    /// Runs statements that have no values, as they are.
    func execute(_ sql: String) throws {
      guard PQsendQuery(handle, sql) == 1 else { throw lost() }
      _ = try result()
    }

    /// Runs statements that may take as long as what is there is large.
    ///
    /// - Parameter idles: whether this end takes its time between the statements of a transaction too, since it writes a file, say.
    ///   Not where the transaction holds what pushes wait for: the database ends one of a process that is stopped within it, or cut
    ///   off.
    func patiently<Result>(idles: Bool = false, _ body: () throws -> Result) throws -> Result {
      let usual = seconds
      let limit = try run("SELECT current_setting('statement_timeout')").text(0, 0)
      seconds = 6 * 3600
      defer { seconds = usual }
      let idle = try run("SELECT current_setting('idle_in_transaction_session_timeout')").text(0, 0)
      try execute("SET statement_timeout = 0")
      if idles { try execute("SET idle_in_transaction_session_timeout = 0") }
      defer {
        if !isBroken {
          try? execute("SET statement_timeout = '\(limit)'")
          try? execute("SET idle_in_transaction_session_timeout = '\(idle)'")
        }
      }
      return try body()
    }

    private func prepare(_ sql: String) throws -> String {
      let name = "s\(prepared.count)"
      guard PQsendPrepare(handle, name, sql, 0, nil) == 1 else { throw lost() }
      _ = try result()
      prepared[sql] = name
      return name
    }

    // MARK: - Transactions

    enum Mode: String {
      case write = "BEGIN ISOLATION LEVEL READ COMMITTED"
      /// All statements see one state.
      case read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    }

    /// Runs `body` in a transaction: all of it, or nothing.
    ///
    /// - Throws: `PostgresError` (`.unknownOutcome` where it is not known whether the transaction stays), and what `body`
    ///   throws.
    func transaction<Result>(_ mode: Mode, _ body: () throws -> Result) throws -> Result {
      try execute(mode.rawValue)
      let value: Result
      do {
        value = try body()
      } catch {
        // Where that fails, the connection is broken, and the database ends the transaction with it.
        if !isBroken { try? execute("ROLLBACK") }
        throw error
      }
      notices.warnings = []
      do {
        let end = try run("COMMIT")
        // A transaction that failed before answers so to COMMIT.
        guard end.command == "COMMIT" else {
          throw PostgresError(.lost, message: "the transaction was rolled back at its end")
        }
      } catch let error as PostgresError
        where error.kind != .statement || error.endsConnection || error.sqlState == "40003"
      {
        guard mode == .write else { throw error }
        giveUp()
        throw PostgresError(.unknownOutcome, sqlState: error.sqlState, message: error.message)
      }
      // A synchronous standby that is waited for no longer is told in a warning: what one disk has is not acknowledged.
      if mode == .write, let warning = notices.warnings.first {
        throw PostgresError(.unknownOutcome, message: "the commit came with a warning: \(warning)")
      }
      return value
    }

    /// Runs `body` as a part of the open transaction that can be taken back by itself: when it throws, what it did is undone,
    /// and the rest of the transaction stands.
    ///
    /// - Throws: What `body` throws; `PostgresError` where the part cannot be begun or taken back, and then the whole
    ///   transaction is not committed.
    func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
      try execute("SAVEPOINT part")
      do {
        let value = try body()
        try execute("RELEASE SAVEPOINT part")
        return value
      } catch {
        guard !isBroken else { throw error }
        try execute("ROLLBACK TO SAVEPOINT part; RELEASE SAVEPOINT part")
        throw error
      }
    }

    // MARK: - Answers

    /// The answer to what was sent, of which the last counts.
    private func result() throws -> PostgresRows {
      let deadline = ContinuousClock.now + .seconds(seconds)
      var last: PostgresRows?
      var failure: PostgresError?
      while true {
        try wait(until: deadline)
        guard let result = PQgetResult(handle) else { break }
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: last = PostgresRows(result)
        default:
          failure = failure ?? Self.error(result)
          PQclear(result)
        }
      }
      if let failure {
        if failure.endsConnection || PQstatus(handle) != CONNECTION_OK {
          giveUp()
          throw PostgresError(.lost, sqlState: failure.sqlState, message: failure.message)
        }
        throw failure
      }
      guard let last else { throw lost() }
      return last
    }

    /// Waits until an answer is there as a whole.
    private func wait(until deadline: ContinuousClock.Instant) throws {
      while true {
        let flushed = PQflush(handle)
        guard flushed >= 0 else { throw lost() }
        if flushed == 0, PQisBusy(handle) == 0 { return }
        let left = (deadline - .now) / .milliseconds(1)
        guard left > 0 else {
          giveUp()
          throw PostgresError(.lost, message: "no answer within \(seconds) seconds")
        }
        _ = waitForInput(milliseconds: Int32(clamping: Int(left) + 1), alsoWrites: flushed == 1)
        guard PQconsumeInput(handle) == 1 else { throw lost() }
      }
    }

    private func waitForInput(milliseconds: Int32, alsoWrites: Bool) -> Bool {
      let events = Int16(alsoWrites ? POLLIN | POLLOUT : POLLIN)
      var wait = pollfd(fd: PQsocket(handle), events: events, revents: 0)
      return poll(&wait, 1, milliseconds) > 0
    }

    /// Whether it can be used, as far as is known here: one that the database has closed meanwhile cannot. Waits for nothing.
    func isOpen() -> Bool {
      var looks = 0
      // What it said last is before the end.
      while !isBroken, looks < 8, waitForInput(milliseconds: 0, alsoWrites: false) {
        looks += 1
        if PQconsumeInput(handle) != 1 || PQstatus(handle) != CONNECTION_OK { giveUp() }
      }
      return !isBroken
    }

    /// Nothing more is asked of this connection: whatever it was at is ended by the database.
    private func giveUp() { isBroken = true }

    private func lost() -> PostgresError {
      giveUp()
      return PostgresError(.lost, message: String(cString: PQerrorMessage(handle)).inOneLine)
    }

    private static func error(_ result: OpaquePointer) -> PostgresError {
      let state = PQresultErrorField(result, ReportField.sqlState)
      return PostgresError(
        .statement, sqlState: state.map { String(cString: $0) } ?? "",
        message: String(cString: PQresultErrorMessage(result)).inOneLine)
    }

    private func withPointers<Result>(
      to values: [Data?], _ body: ([UnsafePointer<CChar>?]) -> Result
    ) -> Result {
      // One block for all values, so that the pointers stay while libpq copies.
      var whole = Data()
      var starts: [Int?] = []
      for value in values {
        starts.append(value == nil ? nil : whole.count)
        if let value { whole.append(value) }
      }
      // An empty value has an address too: without one it would be null.
      whole.append(0)
      return whole.withUnsafeBytes { bytes in
        let base = bytes.bindMemory(to: CChar.self).baseAddress
        return body(starts.map { start in start.flatMap { base?.advanced(by: $0) } })
      }
    }
  }

  /// Notifications.
  extension PostgresConnection {
    /// What other nodes said, and waits for it where nothing is there yet.
    ///
    /// - Parameter also: another file that ends the waiting when it can be read.
    /// - Throws: `PostgresError` (`.lost`).
    func notifications(milliseconds: Int32, also other: Int32) throws -> [String] {
      var waits = [
        pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0),
        pollfd(fd: other, events: Int16(POLLIN), revents: 0),
      ]
      _ = poll(&waits, 2, milliseconds)
      guard PQconsumeInput(handle) == 1 else { throw lost() }
      var payloads: [String] = []
      while let notification = PQnotifies(handle) {
        payloads.append(String(cString: notification.pointee.extra))
        PQfreemem(notification)
      }
      return payloads
    }
  }

  /// The rows that a statement gave. Confined to one thread, as its connection is.
  final class PostgresRows {
    private let result: OpaquePointer
    let count: Int
    let columns: Int

    /// Takes the result over.
    init(_ result: OpaquePointer) {
      self.result = result
      count = Int(PQntuples(result))
      columns = Int(PQnfields(result))
    }

    deinit { PQclear(result) }

    /// What the database says that it did, such as COMMIT.
    var command: String { String(cString: PQcmdStatus(result)) }

    /// Rows that the statement changed.
    var changes: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }

    func isNull(_ row: Int, _ column: Int) -> Bool {
      !isInside(row, column) || PQgetisnull(result, Int32(row), Int32(column)) == 1
    }

    /// The bytes of a value; none for null.
    func data(_ row: Int, _ column: Int) -> Data { Data(bytes(row, column)) }

    /// The bytes of a change set, of which a row has the header and the rest: copied once, since there may be megabytes of them.
    func frame(_ row: Int, header: Int, body: Int) -> Data {
      let (header, body) = (bytes(row, header), bytes(row, body))
      var frame = Data(capacity: header.count + body.count)
      frame.append(contentsOf: header)
      frame.append(contentsOf: body)
      return frame
    }

    /// Where they lie, as long as the rows are there.
    private func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
      guard !isNull(row, column), let start = PQgetvalue(result, Int32(row), Int32(column)) else {
        return UnsafeRawBufferPointer(start: nil, count: 0)
      }
      return UnsafeRawBufferPointer(
        start: start, count: Int(PQgetlength(result, Int32(row), Int32(column))))
    }

    /// An integer of any width; 0 for null.
    func int64(_ row: Int, _ column: Int) -> Int64 {
      let bytes = data(row, column)
      guard let first = bytes.first, bytes.count <= 8 else { return 0 }
      let start: Int64 = first & 0x80 == 0 ? 0 : -1
      return bytes.reduce(start) { $0 << 8 | Int64($1) }
    }

    func uint64(_ row: Int, _ column: Int) -> UInt64 { UInt64(clamping: int64(row, column)) }

    func bool(_ row: Int, _ column: Int) -> Bool { int64(row, column) != 0 }

    func text(_ row: Int, _ column: Int) -> String {
      String(decoding: data(row, column), as: UTF8.self)
    }

    func uuid(_ row: Int, _ column: Int) -> UUID? { UUID(bytes: data(row, column)) }

    private func isInside(_ row: Int, _ column: Int) -> Bool {
      let isInside = row >= 0 && row < count && column >= 0 && column < columns
      assert(isInside, "a row and a column that the statement gave")
      return isInside
    }
  }

  /// Fields of what the database reports: libpq has characters for them, which Swift does not import.
  private enum ReportField {
    static let sqlState = Int32(UInt8(ascii: "C"))
    static let severity = Int32(UInt8(ascii: "V"))
    static let message = Int32(UInt8(ascii: "M"))
  }

  extension String {
    /// In one line: libpq breaks long messages, and begins the next lines with a tab.
    var inOneLine: String {
      split { $0.isNewline || $0 == "\t" }.joined(separator: " ")
        .trimmingCharacters(in: .whitespaces)
    }
  }
#endif
