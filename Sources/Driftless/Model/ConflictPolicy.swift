/// The rule that settles a conflict over one property.
public enum ConflictPolicy: Hashable, Sendable {
  /// The later edit stands, by hybrid time. The default.
  case lastWriterWins
  /// The value that the zone's log has stands.
  case serverWins
  /// The value that is pending here stands.
  case clientWins
  /// The greater value stands.
  case max
  /// The lesser value stands.
  case min
  /// Increments add up.
  case counter
  /// Elements add up: an element that either side added stays.
  case union
  /// Edits of text are merged.
  case text
  /// A closure of the application decides, by the name under which it is registered.
  case custom(String)
  /// Both values are kept until a person decides.
  case manual

  /// The key in a `userInfo` under which a policy rides in a model file.
  public static let userInfoKey = "driftless.conflictPolicy"

  /// The text form, as in `userInfo`: `counter`, or `custom:name`.
  public var text: String {
    switch self {
    case .lastWriterWins: "lastWriterWins"
    case .serverWins: "serverWins"
    case .clientWins: "clientWins"
    case .max: "max"
    case .min: "min"
    case .counter: "counter"
    case .union: "union"
    case .text: "text"
    case .custom(let name): "custom:\(name)"
    case .manual: "manual"
    }
  }

  /// Whether the rule looks at the value before the first local change, which a store that syncs then keeps.
  package var needsBase: Bool {
    switch self {
    case .counter, .union, .text, .custom, .manual: true
    case .lastWriterWins, .serverWins, .clientWins, .max, .min: false
    }
  }

  /// Whether an edit is what it adds to the value before it, so that it says nothing without that.
  package var addsToFormer: Bool {
    switch self {
    case .counter, .union, .text: true
    case .lastWriterWins, .serverWins, .clientWins, .max, .min, .custom, .manual: false
    }
  }

  /// Reads the text form. Nil for any other text.
  public init?(text: String) {
    switch text {
    case "lastWriterWins": self = .lastWriterWins
    case "serverWins": self = .serverWins
    case "clientWins": self = .clientWins
    case "max": self = .max
    case "min": self = .min
    case "counter": self = .counter
    case "union": self = .union
    case "text": self = .text
    case "manual": self = .manual
    default:
      guard text.hasPrefix("custom:"), text.count > 7 else { return nil }
      self = .custom(String(text.dropFirst(7)))
    }
  }
}

/// The rule that settles a delete against an edit.
public enum DeletePolicy: String, Sendable, Codable {
  /// The object goes; the edit is kept in the journal. The default.
  case deleteWins
  /// The object stays, or comes back.
  case editWins

  /// The key in an entity's `userInfo` under which the policy rides in a model file.
  public static let userInfoKey = "driftless.deletePolicy"
}
