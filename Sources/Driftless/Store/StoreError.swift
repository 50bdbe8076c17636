import DriftlessSQLite
import Foundation

/// A failure of a store: what, where, and what to do about it.
public struct StoreError: Error, CustomStringConvertible, Sendable {
  /// What kind of failure it is. More may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    private init(_ description: String) { self.description = description }

    /// In small letters with hyphens, as programs print codes: `syncLocked` is `sync-locked`.
    package var dashed: String {
      description.reduce(into: "") { $0 += $1.isUppercase ? "-\($1.lowercased())" : "\($1)" }
    }

    /// The file cannot be opened, or was closed.
    public static let cannotOpen = Code("cannotOpen")
    /// The system lets this process open no more files. Others may be closed at any time.
    public static let tooManyFiles = Code("tooManyFiles")
    /// The process holds as many query generations of the store as it may (`StoreOptions.queryGenerationsMax`).
    public static let tooManyQueryGenerations = Code("tooManyQueryGenerations")
    /// The file is no SQLite database.
    public static let notADatabase = Code("notADatabase")
    /// The database has not Core Data's layout.
    public static let notAStore = Code("notAStore")
    /// The file, or a value in it, cannot be read.
    public static let damaged = Code("damaged")
    /// A large value lies in a file beside the store that is gone, or cannot be read.
    public static let lostFile = Code("lostFile")
    /// The model differs from the one that the store was written with (Core Data's 134100).
    public static let incompatibleModel = Code("incompatibleModel")
    /// The model has no configuration of this name.
    public static let unknownConfiguration = Code("unknownConfiguration")
    /// A relationship of a configuration leads to an entity that its stores do not have (Core Data's 133010).
    public static let relationshipLeavesConfiguration = Code("relationshipLeavesConfiguration")
    /// No model was given, and none is inside.
    public static let missingModel = Code("missingModel")
    /// A newer version of the library wrote the file.
    public static let newerFormat = Code("newerFormat")
    /// The store was migrated to a newer model than the one it is opened with.
    public static let newerModel = Code("newerModel")
    /// What becomes of the store's objects does not follow from the two models (Core Data's 134190).
    public static let cannotMigrate = Code("cannotMigrate")
    /// A migration may not infer what becomes of the objects, and no mapping model says it (Core Data's 134140).
    public static let missingMapping = Code("missingMapping")
    /// A derived attribute has an expression that a store cannot keep.
    public static let cannotDerive = Code("cannotDerive")
    /// A model that a stage of a migration names is missing, or is another (Core Data's 134504).
    public static let modelNotFound = Code("modelNotFound")
    /// A log beside the file is no log of its content: one of the two was put back without the other. Nothing was read from
    /// them, and nothing changed.
    public static let strayLog = Code("strayLog")
    /// The file, or one beside it, was moved, removed or replaced while it was open. Nothing is read or written until it is opened
    /// again.
    public static let fileReplaced = Code("fileReplaced")
    /// The file has several names, which would have a log each.
    public static let hardLinked = Code("hardLinked")
    /// A write to a store that was opened for reading only, or whose file may not be written.
    public static let readOnly = Code("readOnly")
    /// There is no room; what was being saved was not.
    public static let diskFull = Code("diskFull")
    /// The disk failed while reading or writing; what was being saved was not.
    public static let readOrWriteFailed = Code("readOrWriteFailed")
    /// Another process holds the file longer than the time that was to be waited.
    public static let busy = Code("busy")
    /// Another process syncs this store.
    public static let syncLocked = Code("syncLocked")
    /// The row changed or vanished since it was read (Core Data's 133020).
    public static let conflict = Code("conflict")
    /// A unique value exists already (Core Data's 133021).
    public static let constraint = Code("constraint")
    /// A row was not written, because it breaks what its table declares: this program, or the one that made the file, is wrong.
    public static let brokenRule = Code("brokenRule")
    /// A zone object number that is to be an object's is another's.
    public static let numberTaken = Code("numberTaken")
    /// An edit would add to a value of the zone that the model here cannot hold.
    public static let valueNotHeld = Code("valueNotHeld")
    /// The history cannot answer for a token: what came after it was purged, it is of another store, or of a later state of
    /// a store that was put back (Core Data's 134301).
    public static let historyTokenExpired = Code("historyTokenExpired")
    /// The caller asked for something that cannot be.
    public static let invalidArgument = Code("invalidArgument")
    /// A failure that SQLite reported and that has no code of its own.
    public static let sqlite = Code("sqlite")
  }

  /// What kind of failure it is.
  public let code: Code
  /// What went wrong, with the file.
  public let message: String
  /// What to do about it.
  public let suggestion: String
  /// The objects whose rows conflict.
  public let keys: [ObjectKey]
  /// The entity and the property that objects would lack a value of after a migration (Core Data's 134110).
  package var lacking: (entity: String, property: String)?

  /// Whether a migration found values that the other model has unique, more than once (Core Data's 134111 beneath 134110).
  var isOfMigration = false

  /// Whether this process lacks a right, whatever the code.
  package var isOfRights = false

  /// - Parameters:
  ///   - code: What kind of failure it is.
  ///   - message: What went wrong, with the file.
  ///   - suggestion: What to do about it.
  ///   - keys: The objects whose rows conflict.
  public init(_ code: Code, _ message: String, suggestion: String, keys: [ObjectKey] = []) {
    self.code = code
    self.message = message
    self.suggestion = suggestion
    self.keys = keys
  }

  public var description: String {
    // Some messages are sentences with their stop.
    "\(message.hasSuffix(".") ? message.dropLast() : message[...]) [\(code)]. \(suggestion)"
  }

  /// The store's word for what SQLite reported.
  init(_ error: SQLiteError, path: String) {
    if error.isOutOfFiles {
      self = .tooManyFiles(path)
      return
    }
    if error.cannotOpen || error.cannotMakeLog, let obstacle = StoreObstacle.inTheWay(of: path) {
      self = obstacle
      return
    }
    if error.message == "integer overflow" {
      self.init(
        .invalidArgument, "A sum or an amount of whole numbers does not fit 64 bits.",
        suggestion: "Sum property * 1.0 instead, which gives a number with a fraction.")
      return
    }
    if error.isBusy, let holder = LockHolder.ofDatabase(path) {
      self = holder.failure(path)
      return
    }
    if error.isBrokenRule {
      self.init(
        .brokenRule, "\(path): \(error.message)",
        suggestion:
          "Nothing was changed. Run syncctl store check FILE; update Driftless, and report it."
      )
      return
    }
    if error.message.hasPrefix(ExternalDataFolder.lossWords) {
      self = .lostFile(error.message, of: path)
      return
    }
    let code: Code =
      if error.isFull { .diskFull } else if error.isReadOnly { .readOnly } else if error.isBusy {
        .busy
      } else if error.isNotADatabase { .notADatabase } else if error.isCorrupt {
        .damaged
      } else if error.cannotOpen { .cannotOpen } else if error.isConstraint {
        .constraint
      } else if error.isReadOrWriteFailure { .readOrWriteFailed } else { .sqlite }
    if error.isCorrupt || error.isNotADatabase, let cut = StoreObstacle.cutOff(path) {
      self = cut
      return
    }
    let suggestion = code == .damaged ? Self.wayOutOfDamage(path) : error.suggestion
    let free =
      error.isFull && path.hasPrefix("/")
      ? DiskRoom.words(beside: URL(fileURLWithPath: path)) : nil
    self.init(
      code, "\(path): \(free.map { "there is no space left: \($0)" } ?? Self.words(for: error))",
      suggestion: suggestion)
  }

  /// A large value lies in a file that cannot be read.
  ///
  /// - Parameters:
  ///   - message: which, and what is in the way.
  ///   - path: the store's.
  ///   - keys: of its object.
  static func lostFile(
    _ message: String, of path: String, keys: [ObjectKey] = []
  ) -> StoreError {
    StoreError(
      .lostFile, message,
      suggestion:
        "Put the file back from a copy of the folder. In a store that syncs, syncctl verify "
        + "--repair takes what the zone has. syncctl store give-up-lost \(path.shellWord) goes on without such values.",
      keys: keys)
  }

  private static func wayOutOfDamage(_ path: String) -> String {
    """
    The file is damaged: keep a copy. See what is: syncctl store check \(path.shellWord). Then put back a backup; or move \
    the file and what lies beside it away, make it anew (syncctl init) and take what the zone has (syncctl enroll, syncctl sync)
    """
  }

  /// The same, where what is in the way is a right that this process does not have.
  static func ofRights(_ code: Code, _ message: String, suggestion: String) -> StoreError {
    var error = StoreError(code, message, suggestion: suggestion)
    error.isOfRights = true
    return error
  }

  /// One more file is wanted, and the system gives none.
  static func tooManyFiles(_ path: String) -> StoreError {
    StoreError(
      .tooManyFiles,
      "\(path) cannot be opened: this process has as many files open as the system lets it.",
      suggestion: StoreSideFile.advice(for: EMFILE))
  }

  /// What SQLite said, in words of the model where it has some.
  private static func words(for error: SQLiteError) -> String {
    let unique = "UNIQUE constraint failed: "
    guard error.isConstraint, error.message.hasPrefix(unique) else { return error.words }
    return
      "two objects would hold one value of \(error.message.dropFirst(unique.count)), which is unique"
  }
}
