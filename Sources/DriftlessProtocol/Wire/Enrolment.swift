import Crypto
public import Foundation

/// A token that a replica makes itself: a code of the server's operator stands for the right to have it taken
/// (``EnrolmentRequest``). Whoever makes one keeps it before the code is sent, and has it whatever becomes of the answer.
public struct ReplicaToken: Hashable, Sendable {
  /// What is sent as the bearer token: `dl_ID_SECRET`.
  public let text: String
  /// What names it in the server's lists: 16 hexadecimal digits.
  public let id: String
  private let secret: Substring

  /// A new token, of the system's random numbers.
  public static func make() -> ReplicaToken {
    func digits(_ count: Int) -> String {
      var random = SystemRandomNumberGenerator()
      return (0..<count).map { _ in
        let byte = UInt8.random(in: .min ... .max, using: &random)
        return (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }.joined()
    }
    return ReplicaToken(id: digits(8), secret: digits(32)[...])
  }

  private init(id: String, secret: Substring) {
    self.id = id
    self.secret = secret
    text = "dl_\(id)_\(secret)"
  }

  /// Reads a token; nil for what has not the form of one.
  public init?(_ text: String) {
    let parts = text.split(separator: "_", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0] == "dl", parts[1].isHexadecimal(16), parts[2].isHexadecimal(64)
    else { return nil }
    self.init(id: String(parts[1]), secret: parts[2])
  }

  /// The SHA-256 of its secret, which is all that the server is told of it before it is used: 64 hexadecimal digits.
  public var hash: String {
    SHA256.hash(data: Data(secret.utf8)).map {
      let digits = String($0, radix: 16)
      return digits.count < 2 ? "0" + digits : digits
    }.joined()
  }
}

extension StringProtocol {
  /// Whether it is so many hexadecimal digits, in small letters.
  fileprivate func isHexadecimal(_ count: Int) -> Bool {
    utf8.count == count && utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
  }
}

/// A code for one use, as an operator hands it out: 20 letters and digits, 100 bits.
public enum EnrolmentCode {
  /// Without I, L, O and U: no two of them look alike, and they spell nothing.
  private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
  private static let count = 20
  private static let groupCount = 5

  /// A new code, of the system's random numbers.
  public static func make() -> String {
    var random = SystemRandomNumberGenerator()
    return String(
      decoding: (0..<count).map { _ in alphabet[Int.random(in: 0..<32, using: &random)] },
      as: UTF8.self)
  }

  /// As it is printed: `ABCDE-FGHJK-MNPQR-STVWX`.
  public static func printed(_ code: String) -> String {
    stride(from: 0, to: code.count, by: groupCount)
      .map { String(code.dropFirst($0).prefix(groupCount)) }.joined(separator: "-")
  }

  /// The code that somebody wrote: in either case, with or without strokes and spaces, O for 0, I and L for 1. Nil for what is
  /// none.
  public static func read(_ text: String) -> String? {
    var bytes: [UInt8] = []
    for byte in text.uppercased().utf8 {
      switch byte {
      case UInt8(ascii: "-"), UInt8(ascii: " "), 9, 10, 13: continue
      case UInt8(ascii: "O"): bytes.append(UInt8(ascii: "0"))
      case UInt8(ascii: "I"), UInt8(ascii: "L"): bytes.append(UInt8(ascii: "1"))
      default: bytes.append(byte)
      }
      guard bytes.count <= count, let last = bytes.last, alphabet.contains(last) else { return nil }
    }
    return bytes.count == count ? String(decoding: bytes, as: UTF8.self) : nil
  }

  /// What the server keeps of a code: its SHA-256.
  ///
  /// - Parameter code: As ``read(_:)`` gives it.
  public static func hash(_ code: String) -> Data { Data(SHA256.hash(data: Data(code.utf8))) }
}

/// The body of `POST /v1/zones/{zone}/enroll`: binds a token to a code.
public struct EnrolmentRequest: Hashable, Sendable, Codable {
  /// The code.
  public var code: String
  /// The token's ID.
  public var token: String
  /// The SHA-256 of the token's secret.
  public var hash: String

  /// - Parameters:
  ///   - code: As the operator gave it.
  ///   - token: The token, which is kept by now.
  public init(code: String, token: ReplicaToken) {
    self.code = code
    self.token = token.id
    hash = token.hash
  }
}

/// The answer: the token is one, now or since the same request first came.
public struct EnrolmentReply: Hashable, Sendable, Codable {
  /// The zone that it is for.
  public var zone: String
  /// The token's ID.
  public var token: String
  /// When the token ends, in milliseconds since 1970; nil for never.
  public var expiresMilliseconds: Int64?

  package init(zone: String, token: String, expiresMilliseconds: Int64?) {
    self.zone = zone
    self.token = token
    self.expiresMilliseconds = expiresMilliseconds
  }
}
