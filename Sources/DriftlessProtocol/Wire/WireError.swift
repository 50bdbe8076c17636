/// A refusal as it stands on the wire: the JSON body of an answer that is not 200.
///
/// | status | codes |
/// |---|---|
/// | 400 | malformed, damaged, unsupported |
/// | 401 | unauthorized |
/// | 403 | forbidden, token-bound |
/// | 404 | no-zone, no-snapshot, not-staged, no-value |
/// | 409 | stale, generation-changed, diverged, forked, clock-ahead, code-used, values-missing |
/// | 410 | purged |
/// | 413 | too-large |
/// | 429, 503 | busy (with Retry-After) |
/// | 507 | disk-full, zone-full |
public struct WireError: Hashable, Sendable, Codable {
  /// What kind of refusal it is (``ProtocolError/Code``).
  public var code: String
  /// What was refused.
  public var message: String
  /// What to do about it.
  public var suggestion: String
  /// The zone's last sequence number, where it helps.
  public var head: UInt64?
  /// With *stale*: zone numbers of what changed.
  public var objects: [UInt64]?
  /// The server's clock, in milliseconds since 1970, where it helps.
  public var serverTimeMilliseconds: UInt64?
  /// With *purged*: the last entry whose change set may be gone.
  public var floor: UInt64?
  /// With *values-missing*: the digests of the values, 64 hexadecimal digits each.
  public var values: [String]?

  /// A refusal with what helps the replica.
  public init(
    code: String, message: String, suggestion: String, head: UInt64? = nil,
    objects: [UInt64]? = nil, serverTimeMilliseconds: UInt64? = nil, floor: UInt64? = nil,
    values: [String]? = nil
  ) {
    self.floor = floor
    self.code = code
    self.message = message
    self.suggestion = suggestion
    self.head = head
    self.objects = objects
    self.serverTimeMilliseconds = serverTimeMilliseconds
    self.values = values
  }

  /// The form of an error on the wire.
  public init(_ error: ProtocolError) {
    self.init(
      code: error.code.rawValue, message: error.message, suggestion: error.suggestion,
      head: error.head, objects: error.objects.isEmpty ? nil : error.objects,
      serverTimeMilliseconds: error.serverTimeMilliseconds, floor: error.floor,
      values: error.values.isEmpty ? nil : error.values)
  }

  /// The error to throw for an answer with this body.
  ///
  /// - Parameter status: The answer's HTTP status: it decides when the body names no code.
  public func protocolError(status: Int) -> ProtocolError {
    let code = code.isEmpty ? Self.code(forStatus: status) : .init(rawValue: code)
    return ProtocolError(
      code, message, suggestion: suggestion, head: head, objects: objects ?? [],
      serverTimeMilliseconds: serverTimeMilliseconds, floor: floor, values: values ?? [])
  }

  /// The HTTP status that goes with a code.
  public static func status(for code: ProtocolError.Code) -> Int {
    switch code {
    case .unauthorized: 401
    case .forbidden, .tokenBound: 403
    case .noZone, .noSnapshot, .notStaged, .noValue: 404
    case .stale, .generationChanged, .diverged, .forked, .clockAhead, .codeUsed, .valuesMissing: 409
    case .purged: 410
    case .tooLarge: 413
    case .busy: 503
    case .diskFull, .zoneFull: 507
    default: 400
    }
  }

  private static func code(forStatus status: Int) -> ProtocolError.Code {
    switch status {
    case 401: .unauthorized
    case 403: .forbidden
    case 404: .noZone
    case 409: .stale
    case 413: .tooLarge
    case 429, 503: .busy
    case 507: .diskFull
    default: .malformed
    }
  }
}
