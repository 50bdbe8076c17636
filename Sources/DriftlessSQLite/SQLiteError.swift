import CSQLite
import Glibc

/// A failure that SQLite reported: what, where, and what to do about it.
package struct SQLiteError: Error, CustomStringConvertible, Sendable {
  /// The extended result code.
  package let code: Int32
  package let message: String
  /// The statement that failed, without its values.
  package let sql: String?
  /// The file, where whoever ran the statement says it.
  package var file: String?
  /// The system's number for what it refused SQLite last; 0 where that is not known.
  private let systemNumber: Int32

  package init(code: Int32, message: String, sql: String? = nil, systemNumber: Int32 = 0) {
    self.code = code
    self.message = message
    self.sql = sql
    self.systemNumber = systemNumber
  }

  /// A failure of the system while a function of ours wrote a file.
  package static func system(_ number: Int32, _ message: String) -> SQLiteError {
    SQLiteError(
      code: number == ENOSPC || number == EDQUOT ? SQLITE_FULL : SQLITE_IOERR, message: message)
  }

  /// A database of which something is missing.
  package static func corrupt(_ message: String) -> SQLiteError {
    SQLiteError(code: SQLITE_CORRUPT, message: message)
  }

  /// The code of a statement that cannot be, say because a table is not there.
  package static let generic = SQLITE_ERROR

  /// The result code without its extension.
  package var primaryCode: Int32 { code & 0xff }

  package var isBusy: Bool { primaryCode == SQLITE_BUSY || primaryCode == SQLITE_LOCKED }
  /// SQLite cannot tell why a file in shared memory does not grow: it is for want of space.
  package var isFull: Bool { primaryCode == SQLITE_FULL || code == Self.cannotGrowSharedMemory }
  /// Whether the disk said that it has no room. Else a bound of the database's own may have.
  package var isFullDisk: Bool { isFull && (systemNumber == ENOSPC || systemNumber == EDQUOT) }
  /// `SQLITE_IOERR_SHMSIZE`
  private static let cannotGrowSharedMemory = SQLITE_IOERR | (19 << 8)
  package var isReadOnly: Bool { primaryCode == SQLITE_READONLY }
  package var isReadOrWriteFailure: Bool { primaryCode == SQLITE_IOERR }
  package var isNotADatabase: Bool { primaryCode == SQLITE_NOTADB }
  package var isCorrupt: Bool { primaryCode == SQLITE_CORRUPT }
  package var isConstraint: Bool { primaryCode == SQLITE_CONSTRAINT }
  /// `SQLITE_CONSTRAINT_CHECK`: a row breaks what its table declares.
  package var isBrokenRule: Bool { code == SQLITE_CONSTRAINT | (1 << 8) }
  package var cannotOpen: Bool { primaryCode == SQLITE_CANTOPEN }
  /// Whether the system lets this process, or all of them, open no more files.
  package var isOutOfFiles: Bool {
    (cannotOpen || isReadOrWriteFailure) && (systemNumber == EMFILE || systemNumber == ENFILE)
  }
  /// `SQLITE_READONLY_DIRECTORY`: a log cannot be made beside the file.
  package var cannotMakeLog: Bool { code == SQLITE_READONLY | (6 << 8) }

  /// What is wrong, for a person: SQLite's own words are for its programmers.
  package var words: String {
    if isFull { return "there is no space left on the file system" }
    switch primaryCode {
    case SQLITE_READONLY: return "it may not be written"
    case SQLITE_BUSY, SQLITE_LOCKED: return "another process has it locked"
    case SQLITE_NOTADB: return "it is no database"
    case SQLITE_CORRUPT: return "it is damaged: its pages do not fit together"
    case SQLITE_CANTOPEN: return "it cannot be opened"
    case SQLITE_IOERR: return ownWords ?? "the disk failed while it was read or written"
    case SQLITE_CONSTRAINT: return "a value would break a rule of its tables (\(message))"
    case SQLITE_TOOBIG: return "a value is larger than a database can hold"
    case SQLITE_NOMEM: return "there is not enough memory"
    case SQLITE_INTERRUPT: return "the work was interrupted"
    case SQLITE_ABORT: return "one of its statements failed, and all of them were taken back"
    case SQLITE_ERROR where message.hasPrefix("no such "):
      return "its tables are not those of a store (it has \(message))"
    default: return message
    }
  }

  /// What was said here, where it was no word of SQLite's.
  private var ownWords: String? { message.hasPrefix("disk I/O error") ? nil : message }

  /// What a person can do.
  package var suggestion: String {
    switch isFull ? SQLITE_FULL : primaryCode {
    case SQLITE_FULL: "Free space on the file system and try again; nothing was changed."
    case SQLITE_READONLY: "Give the process the right to write the file and its folder."
    case SQLITE_BUSY, SQLITE_LOCKED: "Another process holds the file; try again."
    case SQLITE_NOTADB: "The file is not an SQLite database: check the path."
    case SQLITE_CORRUPT: "The file is damaged: keep a copy, and put back a backup."
    case SQLITE_CANTOPEN: "Check that the folder exists and that the process may open the file."
    case SQLITE_IOERR: "Reading or writing failed: check the disk and its free space."
    case SQLITE_CONSTRAINT: "Give one of the two objects another value."
    case SQLITE_TOOBIG: "Make the value smaller: a row holds at most a gigabyte."
    case SQLITE_NOMEM: "Free memory and try again; nothing was changed."
    case SQLITE_INTERRUPT: "It was interrupted; try again."
    case SQLITE_ABORT: "Nothing was changed: check the disk and its free space, and try again."
    default: "Run: syncctl doctor --store FILE"
    }
  }

  package var description: String {
    "SQLite \(code): \(message)" + (sql.map { " in «\($0)»" } ?? "")
      + (file.map { " (\($0))" } ?? "")
  }
}
