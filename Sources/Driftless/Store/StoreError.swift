import DriftlessSQLite

/// A failure of a store: what, where, and what to do about it.
public struct StoreError: Error, CustomStringConvertible, Sendable {
  /// What kind of failure it is. More may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    private init(_ description: String) { self.description = description }

    public static let cannotOpen = Code("cannotOpen")
    public static let notADatabase = Code("notADatabase")
    public static let notAStore = Code("notAStore")
    public static let damaged = Code("damaged")
    /// The model differs from the one that the store was written with (Core Data's 134100).
    public static let incompatibleModel = Code("incompatibleModel")
    /// The model has no configuration of this name.
    public static let unknownConfiguration = Code("unknownConfiguration")
    /// A relationship of a configuration leads to an entity that its stores do not have (Core Data's 133010).
    public static let relationshipLeavesConfiguration = Code("relationshipLeavesConfiguration")
    public static let missingModel = Code("missingModel")
    public static let newerFormat = Code("newerFormat")
    /// The store was migrated to a newer model than the one it is opened with.
    public static let newerModel = Code("newerModel")
    /// What becomes of the store's objects does not follow from the two models (Core Data's 134190).
    public static let cannotMigrate = Code("cannotMigrate")
    /// A derived attribute has an expression that a store cannot keep.
    public static let cannotDerive = Code("cannotDerive")
    /// A model that a stage of a migration names is missing, or is another (Core Data's 134504).
    public static let modelNotFound = Code("modelNotFound")
    /// The file has several names, which would have a log each.
    public static let hardLinked = Code("hardLinked")
    public static let readOnly = Code("readOnly")
    public static let diskFull = Code("diskFull")
    /// The disk failed while reading or writing; what was being saved was not.
    public static let readOrWriteFailed = Code("readOrWriteFailed")
    public static let busy = Code("busy")
    /// Another process syncs this store.
    public static let syncLocked = Code("syncLocked")
    /// The row changed or vanished since it was read (Core Data's 133020).
    public static let conflict = Code("conflict")
    /// A unique value exists already (Core Data's 133021).
    public static let constraint = Code("constraint")
    /// A zone object number that is to be an object's is another's.
    public static let numberTaken = Code("numberTaken")
    /// An edit would add to a value of the zone that the model here cannot hold.
    public static let valueNotHeld = Code("valueNotHeld")
    /// The history before this token is gone (Core Data's 134301).
    public static let historyTokenExpired = Code("historyTokenExpired")
    public static let invalidArgument = Code("invalidArgument")
    public static let sqlite = Code("sqlite")
  }

  public let code: Code
  public let message: String
  public let suggestion: String
  /// The objects whose rows conflict.
  public let keys: [ObjectKey]

  public init(_ code: Code, _ message: String, suggestion: String, keys: [ObjectKey] = []) {
    self.code = code
    self.message = message
    self.suggestion = suggestion
    self.keys = keys
  }

  public var description: String { "\(message) [\(code)] \(suggestion)" }

  /// The store's word for what SQLite reported.
  init(_ error: SQLiteError, path: String) {
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
    let code: Code =
      if error.isFull { .diskFull } else if error.isReadOnly { .readOnly } else if error.isBusy {
        .busy
      } else if error.isNotADatabase { .notADatabase } else if error.isCorrupt {
        .damaged
      } else if error.cannotOpen { .cannotOpen } else if error.isConstraint {
        .constraint
      } else if error.isReadOrWriteFailure { .readOrWriteFailed } else { .sqlite }
    self.init(code, "\(path): \(Self.words(for: error))", suggestion: error.suggestion)
  }

  /// What SQLite said, in words of the model where it has some.
  private static func words(for error: SQLiteError) -> String {
    // SQLite has other words where its shared memory does not grow.
    if error.isFull { return "there is no space left on the file system" }
    let unique = "UNIQUE constraint failed: "
    guard error.isConstraint, error.message.hasPrefix(unique) else { return error.message }
    return
      "two objects would hold one value of \(error.message.dropFirst(unique.count)), which is unique"
  }
}
