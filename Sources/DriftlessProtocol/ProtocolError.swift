/// Why bytes or a request of the sync protocol were refused, and what to do about it.
///
/// The set of codes may grow: compare `code` with the constants below and keep a default.
public struct ProtocolError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of refusal it is, as it stands on the wire. Open: later versions may add codes.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The bytes are not what the format says.
    public static let malformed = Code(rawValue: "malformed")
    /// The bytes were changed on their way: a length or a checksum does not fit.
    public static let damaged = Code(rawValue: "damaged")
    /// The bytes are of a newer format than this program reads.
    public static let unsupported = Code(rawValue: "unsupported")
    /// No token, or one that the server does not know.
    public static let unauthorized = Code(rawValue: "unauthorized")
    /// The code for one use stands for another token already.
    public static let codeUsed = Code(rawValue: "code-used")
    /// The token does not allow this.
    public static let forbidden = Code(rawValue: "forbidden")
    /// The token is bound to another replica.
    public static let tokenBound = Code(rawValue: "token-bound")
    /// The server has no such zone.
    public static let noZone = Code(rawValue: "no-zone")
    /// Something that the push touches changed after the push's cursor: pull, then push again.
    public static let stale = Code(rawValue: "stale")
    /// The zone was made anew since the cursor was made.
    public static let generationChanged = Code(rawValue: "generation-changed")
    /// The push number was used for other bytes: the store is a copy of another, or was restored.
    public static let forked = Code(rawValue: "forked")
    /// The cursor or the mark is not of this log: the server was put back to an older copy.
    public static let diverged = Code(rawValue: "diverged")
    /// The replica's clock is too far ahead of the server's.
    public static let clockAhead = Code(rawValue: "clock-ahead")
    /// More than a limit allows.
    public static let tooLarge = Code(rawValue: "too-large")
    /// Try again later.
    public static let busy = Code(rawValue: "busy")
    /// The server has no room left.
    public static let diskFull = Code(rawValue: "disk-full")
    /// The zone has as many replicas, names, entries, bytes or large values as it may have, whatever is in the push.
    public static let zoneFull = Code(rawValue: "zone-full")
    /// A part of a push is not at the server, or not any more: send it whole.
    public static let notStaged = Code(rawValue: "not-staged")
    /// The zone has no such snapshot, or none any more.
    public static let noSnapshot = Code(rawValue: "no-snapshot")
    /// What the replica asks for was purged from the zone's log: the zone's snapshot stands for it.
    public static let purged = Code(rawValue: "purged")
    /// A push names large values that the zone does not have: send them, then the push again.
    public static let valuesMissing = Code(rawValue: "values-missing")
    /// The zone does not have this large value.
    public static let noValue = Code(rawValue: "no-value")
  }

  /// What kind of refusal it is.
  public let code: Code
  /// What is wrong, with the name of the element that is wrong.
  public let message: String
  /// What the reader can do about it.
  public let suggestion: String
  /// The zone's last sequence number, where the server said it.
  public let head: UInt64?
  /// With `.stale`: zone numbers of what changed, and of objects that hold a claimed key; at most
  /// `objectsMax`.
  public let objects: [UInt64]
  /// The server's clock in milliseconds since 1970, where the server said it.
  public let serverTimeMilliseconds: UInt64?
  /// With `.purged`: the last entry whose change set may be gone, where the server said it.
  public let floor: UInt64?

  /// With `.valuesMissing`: the names of the values (``LargeValue/name``); at most `objectsMax`.
  public let values: [String]

  /// The most objects that an error lists.
  public static let objectsMax = 100

  /// A refusal; of `objects` the first ``objectsMax`` are kept.
  public init(
    _ code: Code, _ message: String, suggestion: String, head: UInt64? = nil,
    objects: [UInt64] = [], serverTimeMilliseconds: UInt64? = nil, floor: UInt64? = nil,
    values: [String] = []
  ) {
    self.floor = floor
    self.code = code
    self.message = message
    self.suggestion = suggestion
    self.head = head
    self.objects = Array(objects.prefix(Self.objectsMax))
    self.serverTimeMilliseconds = serverTimeMilliseconds
    self.values = Array(values.prefix(Self.objectsMax))
  }

  public var description: String {
    // Some messages are sentences with their stop.
    "\(message.hasSuffix(".") ? message.dropLast() : message[...]) (\(code.rawValue)). \(suggestion)"
  }
}

extension ProtocolError {
  package static func malformed(_ message: String) -> ProtocolError {
    ProtocolError(
      .malformed, message,
      suggestion: "The sender does not follow the format: update it, or report it with the frame.")
  }

  static func damaged(_ message: String) -> ProtocolError {
    ProtocolError(
      .damaged, message,
      suggestion: "Send or fetch it again; when it stays, the stored copy is damaged.")
  }

  static func unsupported(_ message: String) -> ProtocolError {
    ProtocolError(.unsupported, message, suggestion: "Update this program.")
  }

  static func tooLarge(_ message: String) -> ProtocolError {
    ProtocolError(
      .tooLarge, message,
      suggestion: "Send it in smaller change sets, or raise the limit of that name.")
  }
}
