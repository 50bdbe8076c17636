import Crypto
import CryptoExtras
import Foundation

/// AES-256-GCM-SIV (RFC 8452): the one place that knows whose it is.
///
/// Two values sealed with one nonce tell no more than whether they are equal, so that a nonce which a host draws twice, since
/// its machine was copied while it ran, gives nothing up.
enum ValueCipher {
  static let nonceSize = 12
  static let tagSize = 16

  /// - Parameters:
  ///   - nonce: 12 bytes; nil for random ones.
  ///   - authenticated: What has to be the same when it is opened.
  /// - Returns: The nonce, the ciphertext and the tag.
  static func seal(
    _ plaintext: [UInt8], with key: SymmetricKey, nonce: [UInt8]? = nil,
    authenticating authenticated: [UInt8]
  ) throws -> [UInt8] {
    let nonce = try AES.GCM._SIV.Nonce(data: nonce ?? Self.nonce())
    return Array(
      try AES.GCM._SIV.seal(
        plaintext, using: key, nonce: nonce, authenticating: authenticated
      ).combined)
  }

  /// Of the system's source of randomness.
  private static func nonce() -> [UInt8] {
    withUnsafeBytes(of: UInt64.random(in: .min ... .max)) { Array($0) }
      + withUnsafeBytes(of: UInt32.random(in: .min ... .max)) { Array($0) }
  }

  /// - Returns: Nil where the bytes were sealed with another key or for another place, or were changed.
  static func open(
    _ sealed: some Collection<UInt8>, with key: SymmetricKey,
    authenticating authenticated: [UInt8]
  ) -> [UInt8]? {
    guard sealed.count >= nonceSize + tagSize,
      let box = try? AES.GCM._SIV.SealedBox(combined: Data(sealed)),
      let plaintext = try? AES.GCM._SIV.open(box, using: key, authenticating: authenticated)
    else { return nil }
    return Array(plaintext)
  }
}
