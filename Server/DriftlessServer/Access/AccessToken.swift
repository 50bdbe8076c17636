import Crypto
public import Foundation

/// A bearer token: `dl_ID_SECRET`. The ID finds the row; the secret is 256 random bits, of which
/// the server keeps only the SHA-256.
///
/// The prefix lets secret scanners recognise a token that leaked into a repository.
public struct AccessToken: Sendable {
  /// 16 hexadecimal digits, which find the row.
  public let id: String
  /// 64 hexadecimal digits.
  public let secret: String

  /// As it is shown and sent.
  public var text: String { "dl_\(id)_\(secret)" }
  /// What the server keeps of it: the SHA-256 of the secret.
  public var hash: Data { Data(SHA256.hash(data: Data(secret.utf8))) }

  /// A new token from the system's random numbers.
  public static func mint() -> AccessToken {
    var random = SystemRandomNumberGenerator()
    let id = hexadecimal((0..<8).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    let secret = hexadecimal((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    return AccessToken(id: id, secret: secret)
  }

  private init(id: String, secret: String) {
    self.id = id
    self.secret = secret
  }

  /// Reads a token; nil when it does not have the form of one.
  public init?(text: some StringProtocol) {
    let parts = text.split(separator: "_", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0] == "dl", parts[1].utf8.count == 16, parts[2].utf8.count == 64,
      parts[1].utf8.allSatisfy(Self.isHexadecimal), parts[2].utf8.allSatisfy(Self.isHexadecimal)
    else { return nil }
    id = String(parts[1])
    secret = String(parts[2])
  }

  /// Whether the secret hashes to `stored`, in a time that does not depend on where they differ.
  public func matches(_ stored: Data) -> Bool {
    let own = hash
    guard own.count == stored.count else { return false }
    return zip(own, stored).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    (48...57).contains(byte) || (97...102).contains(byte)
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
