import Driftless

/// Why a sync operation failed, and what to do about it.
///
/// The set of codes may grow: compare `code` with the constants below and keep a default.
public struct SyncError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of failure it is. Open: later versions may add codes.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The store has not been enrolled with a server.
    public static let notEnrolled = Code(rawValue: "not-enrolled")
    /// The store is enrolled with another zone already.
    public static let alreadyEnrolled = Code(rawValue: "already-enrolled")
    /// The store has edits that the zone has not acknowledged.
    public static let unsentEdits = Code(rawValue: "unsent-edits")
    /// The store's file keeps a relationship in a way that sync cannot keep alike everywhere.
    public static let unsuitableLayout = Code(rawValue: "unsuitable-layout")
    /// Two things of the model say that they were called by one name before.
    public static let sharedName = Code(rawValue: "shared-name")
    /// The store can only be read.
    public static let readOnlyStore = Code(rawValue: "read-only-store")
    /// The zone is of another generation than the replica's cursor: it was restored or replaced.
    public static let generationChanged = Code(rawValue: "generation-changed")
    /// Others wrote to the same properties again and again while this replica tried to push.
    public static let stillStale = Code(rawValue: "still-stale")
    /// The server says that something is older than the zone, though the zone has nothing newer.
    public static let conflicting = Code(rawValue: "conflicting")
    /// A change set of the zone's log does not continue the cursor, or cannot be read.
    public static let brokenLog = Code(rawValue: "broken-log")
    /// The server refuses the change set for good.
    public static let refused = Code(rawValue: "refused")
    /// One transaction is larger than the server takes.
    public static let tooLarge = Code(rawValue: "too-large")
    /// A row of the engine's own tables cannot be read.
    public static let damagedState = Code(rawValue: "damaged-state")
    /// The model has no such entity or property, or the object does not exist.
    public static let unknownElement = Code(rawValue: "unknown-element")
    /// What lost a conflict cannot be put back.
    public static let cannotUndo = Code(rawValue: "cannot-undo")
    /// The store was enrolled anew while an answer was under way: sync again.
    public static let superseded = Code(rawValue: "superseded")
    /// Bytes were changed on their way again and again.
    public static let damagedOnTheWay = Code(rawValue: "damaged-on-the-way")
    /// Under the zone's name the server has another zone: it waits for a person's word.
    public static let otherZone = Code(rawValue: "other-zone")
    /// The server was put back, and the replica was told to ask.
    public static let diverged = Code(rawValue: "diverged")
    /// The server's log was another one twice within a day: it waits for a person's word.
    public static let divergedAgain = Code(rawValue: "diverged-again")
    /// The store cannot be compared with its zone: the server has nothing to compare with, or the zone moves on too fast.
    public static let notVerified = Code(rawValue: "not-verified")
    /// A value of the object cannot be read in this store's file, and is not sent.
    public static let unreadableValue = Code(rawValue: "unreadable-value")
    /// A large value is in the zone, and the zone cannot be reached.
    public static let valueUnreachable = Code(rawValue: "value-unreachable")
    /// The zone has large values of the store that were not fetched.
    public static let valuesInZone = Code(rawValue: "values-in-zone")
    /// A large value is neither here nor in the zone.
    public static let valueMissing = Code(rawValue: "value-missing")
    /// A value is encrypted, and there is no key to seal it with; or a key file cannot be used.
    public static let noKey = Code(rawValue: "no-key")
    /// The pull would delete a large part of the store: it waits for a person's word.
    public static let massDelete = Code(rawValue: "mass-delete")
    /// The zone's log was purged below what the store has of it, and the zone's snapshot cannot stand for it here: it waits for a
    /// person's word.
    public static let logPurged = Code(rawValue: "log-purged")
    /// Counts, texts or lists are older than what a purged zone remembers of saves: it waits for a person's word.
    public static let oldCounts = Code(rawValue: "old-counts")
  }

  /// What kind of failure it is.
  public let code: Code
  /// What went wrong, with the name of the element that is wrong.
  public let message: String
  /// What the reader can do about it.
  public let suggestion: String

  /// - Parameters:
  ///   - code: What kind of failure it is.
  ///   - message: What went wrong.
  ///   - suggestion: What to do about it.
  public init(_ code: Code, _ message: String, suggestion: String) {
    self.code = code
    self.message = message
    self.suggestion = suggestion
  }

  public var description: String {
    // Some messages are sentences with their stop.
    "\(message.hasSuffix(".") ? message.dropLast() : message[...]) (\(code.rawValue)). \(suggestion)"
  }
}

extension SyncError {
  static func notEnrolled(_ store: String) -> SyncError {
    SyncError(
      .notEnrolled, "The store \(store) is not enrolled with a server.",
      suggestion: "Run: syncctl enroll --store \(store.shellWord) --server URL --zone NAME")
  }

  static func alreadyEnrolled(_ store: String, zone: String) -> SyncError {
    SyncError(
      .alreadyEnrolled, "The store \(store) is enrolled with zone \(zone).",
      suggestion:
        "Sync it with that zone; for another, leave it first: syncctl unenroll. Where it was renamed: syncctl enroll --zone NAME."
    )
  }

  static func damaged(_ what: String) -> SyncError {
    SyncError(
      .damagedState, "The engine's own record of \(what) cannot be read.",
      suggestion:
        "Run syncctl store check FILE, then restore the store, or run syncctl enroll --anew: its rows are offered."
    )
  }

  static func damagedOnTheWay(_ what: String) -> SyncError {
    SyncError(
      .damagedOnTheWay, "Bytes were changed on their way: \(what).",
      suggestion: "Try again later; when it stays, look for a proxy or a cable that damages them.")
  }

  static var otherLog: SyncError {
    SyncError(
      .superseded, "The store was enrolled or put back while a page of the log was under way.",
      suggestion: "Sync again.")
  }

  static var otherAnswer: SyncError {
    damagedOnTheWay("The answer is that to another change set")
  }

  /// - Parameters:
  ///   - reason: what the snapshot does not tell.
  ///   - hasNothing: whether the store has nothing of the zone.
  static func logPurged(_ reason: String, hasNothing: Bool = false) -> SyncError {
    SyncError(
      .logPurged,
      "The zone's log was purged below what this store has of it, and the zone's snapshot cannot stand for it here: \(reason). "
        + "Nothing was changed.",
      suggestion: hasNothing
        ? "Sync with the program and the model that the zone's other stores have, which takes what the snapshot names. "
          + "The store goes on without the zone until then. Where no such program helps, keep a copy of it (syncctl export), and give up "
          + "what was not sent: syncctl sync --give-up-unsent. It stands in a file and in the journal then, and can be put back."
        : "The store goes on without the zone. Keep a copy of it (syncctl export), and give up what was not sent: syncctl sync "
          + "--give-up-unsent. It stands in a file and in the journal then, and can be put back."
    )
  }

  /// - Parameter name: an object that a conflict's undo would bring back.
  static func isBackAlready(_ name: String) -> SyncError {
    SyncError(
      .cannotUndo, "The \(name) is back already.",
      suggestion:
        "Nothing needs to be done for the object. Where what was set of it was given up (syncctl sync --give-up-unsent), its line in the "
        + "file kept then beside the store (NAME.before-TIME.jsonl) has it: set that by hand. The whole file would undo later edits."
    )
  }

  static func cannotHold(_ value: PropertyValue, of property: String, refusal: String) -> SyncError
  {
    SyncError(
      .cannotUndo, "The model here does not hold that value of \(property): \(refusal)",
      suggestion: value.isInZone
        ? "Set the value by hand, or take it from a store that has its bytes (syncctl export --upsert there, syncctl import here)."
        : "Give the store a model that does (syncctl migrate FILE --model MODEL), then undo it.")
  }

  static func offeredToPurged(_ label: String) -> SyncError {
    SyncError(
      .logPurged,
      "The zone's log was purged, and what the store \(label) holds would be offered anew, which only all of the log can "
        + "settle. Nothing was changed.",
      suggestion:
        "Keep what it holds (syncctl export --upsert), enrol a new, empty store with the zone and sync it, and import the file "
        + "there (syncctl import)."
    )
  }

  static func brokenLog(_ what: String) -> SyncError {
    SyncError(
      .brokenLog, what,
      suggestion: "Pull again; when it stays, the server's log is damaged: ask its operator.")
  }
}
