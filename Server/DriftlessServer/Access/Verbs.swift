/// What a token allows in its zone.
public struct Verbs: OptionSet, Sendable, CustomStringConvertible {
  /// As the database has it.
  public let rawValue: Int64
  /// As the database has it.
  public init(rawValue: Int64) { self.rawValue = rawValue }

  /// To pull.
  public static let read = Verbs(rawValue: 1)
  /// To push.
  public static let write = Verbs(rawValue: 2)

  /// Reads `read`, `write` or `read,write`.
  ///
  /// - Throws: `ServerError` (`.badName`) that names the unknown verb.
  public init(text: String) throws {
    self = []
    for word in text.split(separator: ",") {
      switch word {
      case "read": insert(.read)
      case "write": insert(.write)
      default:
        throw ServerError(
          .badName, "unknown verb \"\(word)\"", suggestion: "Use read, write or read,write.")
      }
    }
    guard !isEmpty else {
      throw ServerError(
        .badName, "a token needs a verb", suggestion: "Use read, write or read,write.")
    }
  }

  /// In words.
  public var description: String {
    [contains(.read) ? "read" : nil, contains(.write) ? "write" : nil].compactMap(\.self)
      .joined(separator: ",")
  }
}
