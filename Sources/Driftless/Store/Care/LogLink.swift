import DriftlessSQLite
import Foundation

/// Which content of a store's file the write-ahead log (WAL) beside it goes on from.
///
/// SQLite lays a log over whatever file has the name. So the first write into a new log notes in the store what the file alone
/// says of itself (`base`), and a number of its own. When the log is copied into the file, that number is the file's word, and
/// the base of the next log.
struct LogLink: Hashable {
  static let setting = "log"

  let base: UInt64
  let own: UInt64

  init(base: UInt64) {
    self.base = base
    own = .random(in: 1 ... .max)
  }

  init?(text: String) {
    let parts = text.split(separator: " ")
    guard parts.count == 2, let base = UInt64(parts[0], radix: 16),
      let own = UInt64(parts[1], radix: 16)
    else { return nil }
    self.base = base
    self.own = own
  }

  var text: String { String(base, radix: 16) + " " + String(own, radix: 16) }

  static func of(_ connection: SQLiteConnection) throws -> LogLink? {
    guard case .text(let text)? = try StoreSettings.value(of: setting, on: connection) else {
      return nil
    }
    return LogLink(text: text)
  }

  func write(_ connection: SQLiteConnection) throws {
    try StoreSettings.set(Self.setting, .text(text), on: connection)
  }
}

/// A write-ahead log, as it lies beside a store.
enum WriteAheadLog {
  /// The head of the log; each page in it has a head of its own.
  static let headBytes = 32

  static func path(of url: URL) -> String { url.path + "-wal" }

  /// Whether there is more than a head.
  static func hasPages(_ url: URL) -> Bool { hasPages(at: path(of: url)) }

  static func hasPages(at path: String) -> Bool {
    FileNumber.size(of: path).map { $0 > headBytes } ?? false
  }
}

/// Sees to it that each log of a store has its mark. The store's writer is the only one that uses it.
final class LogLinker {
  /// The log that has a mark, as far as it is known here.
  private enum Noted: Equatable {
    case none
    /// The one that this process began last.
    case begun
    case log(UInt64)
  }

  /// What a transaction finds beside the file when it begins.
  private enum Present {
    /// The file has all of the content: what is written may begin a log.
    case inFile
    /// A log that goes on.
    case log(UInt64)
    /// The file was moved, or its log cannot be read: what lies under the name says nothing about what is written.
    case unknown
  }

  private let url: URL
  // Each write asks for them.
  private let path: String
  private let logPath: String
  /// The file that the store's connections have.
  private let file: FileNumber?
  private var noted = Noted.none
  private var next = Noted.none
  private var present = Present.unknown
  private var changesBefore = 0

  init(url: URL, file: FileNumber?) {
    self.url = url
    path = url.path
    logPath = WriteAheadLog.path(of: url)
    self.file = file
  }

  /// A transaction has begun, and nobody else writes. A large one begins the log before it ends.
  func begin(_ connection: SQLiteConnection) {
    changesBefore = connection.totalChanges
    next = noted
    present = look(connection)
  }

  private func look(_ connection: SQLiteConnection) -> Present {
    guard let file, FileNumber(of: path) == file else { return .unknown }
    // A log that was copied and could not be cut is begun anew by whoever writes next, under numbers that are not drawn yet.
    if !WriteAheadLog.hasPages(at: logPath) || connection.isLogInFile == true { return .inFile }
    return connection.saltsOfLog.map { .log($0) } ?? .unknown
  }

  /// The transaction is about to end: where it is the first to write into a log, it says so.
  func mark(_ connection: SQLiteConnection) throws {
    guard connection.totalChanges != changesBefore else { return }
    switch present {
    case .unknown: return
    case .inFile:
      next = .begun
      try LogLink(base: LogLink.of(connection)?.own ?? 0).write(connection)
    case .log(let salts):
      next = .log(salts)
      if noted == next || noted == .begun { return }
      try markLog(connection)
    }
  }

  /// A log that another process began, or that was there before the store was opened.
  private func markLog(_ connection: SQLiteConnection) throws {
    let file = try SQLiteConnection(path: url.path, mode: .immutable)
    defer { file.close() }
    let alone: LogLink?
    do {
      alone = try StoreSettings.exist(on: file) ? LogLink.of(file) : nil
    } catch is SQLiteError {
      // Of a file into which a log was copied in part nothing can be told.
      return
    }
    let base = alone?.own ?? 0
    if let link = try LogLink.of(connection), link != alone, link.base == base { return }
    try LogLink(base: base).write(connection)
  }

  /// The transaction is in the log.
  func committed() { noted = next }
}
