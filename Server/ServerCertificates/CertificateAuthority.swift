import Crypto
import DriftlessServer
import Foundation
import SwiftASN1
import X509

/// A private authority: the key that signs servers' certificates, and its own certificate, which hosts trust.
struct CertificateAuthority {
  let key: Certificate.PrivateKey
  let certificate: Certificate

  /// How long a new one is good for: hosts have to be told of each.
  static let days = 3650
  private static let day: TimeInterval = 86_400
  /// A certificate begins a day before it is made: hosts' clocks differ.
  private static let backdating = day
  /// The beginning of 2025, before this was written: a host whose clock is before that lost it.
  private static let earliest = Date(timeIntervalSince1970: 1_735_689_600)

  /// Makes one.
  ///
  /// - Throws: `ServerError` (`.badCertificate`) where the clock cannot be right.
  init(now: Date) throws {
    guard now >= Self.earliest else {
      throw ServerError(
        .badCertificate, "this host's clock says \(now.formatted(.iso8601)), which cannot be",
        suggestion: "Set the clock: a certificate would have ended before it is used.")
    }
    let own = Certificate.PrivateKey(P256.Signing.PrivateKey())
    key = own
    let mark = UInt32.random(in: 0 ... .max)
    // Two authorities of one name could not be told apart.
    let name = try DistinguishedName {
      CommonName("Driftless authority " + String(mark, radix: 16))
    }
    certificate = try Certificate(
      version: .v3, serialNumber: .init(), publicKey: own.publicKey,
      notValidBefore: now - Self.backdating,
      notValidAfter: now + Double(Self.days) * Self.day, issuer: name, subject: name,
      signatureAlgorithm: .ecdsaWithSHA256,
      extensions: Certificate.Extensions {
        Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
        Critical(KeyUsage(keyCertSign: true, cRLSign: true))
        SubjectKeyIdentifier(hash: own.publicKey)
      }, issuerPrivateKey: own)
  }

  /// Reads one: a key and its certificate.
  ///
  /// - Throws: what the parsers say, or `CertificateText.Problem`.
  init(pem: String) throws {
    let documents = try PEMDocument.parseMultiple(pemString: pem)
    guard let keyText = documents.first(where: { $0.discriminator.hasSuffix("PRIVATE KEY") }),
      let text = documents.first(where: { $0.discriminator == "CERTIFICATE" })
    else { throw CertificateText.Problem("it has no key, or no certificate") }
    key = try Certificate.PrivateKey(pemDocument: keyText)
    certificate = try Certificate(pemDocument: text)
    guard certificate.publicKey == key.publicKey else {
      throw CertificateText.Problem("its key is not that of its certificate")
    }
    guard case .isCertificateAuthority = try certificate.extensions.basicConstraints else {
      throw CertificateText.Problem("its certificate is no authority's")
    }
  }

  /// Signs a certificate for a new key of a server. It ends at the latest with the authority.
  ///
  /// - Throws: `ServerError` (`.badCertificate`) where the authority has ended, or not begun by this host's clock.
  func issue(
    _ names: [CertificateName], days: Int, now: Date
  ) throws -> (key: Certificate.PrivateKey, certificate: Certificate) {
    // A common name has 64 characters at most; clients look at the other names alone.
    let first = names.first { $0.text.count <= 64 }?.text ?? "driftless-server"
    let all: [GeneralName] = names.map { name in
      name.address.map { .ipAddress(ASN1OctetString(contentBytes: $0[...])) }
        ?? .dnsName(name.text)
    }
    return try issue(called: first, all, for: .serverAuth, days: days, now: now)
  }

  /// Signs a certificate for a new key of a client, which no server can use.
  ///
  /// - Throws: as for a server's.
  func issue(
    client name: String, days: Int, now: Date
  ) throws -> (key: Certificate.PrivateKey, certificate: Certificate) {
    try issue(called: name, [], for: .clientAuth, days: days, now: now)
  }

  private func issue(
    called name: String, _ names: [GeneralName], for usage: ExtendedKeyUsage.Usage, days: Int,
    now: Date
  ) throws -> (key: Certificate.PrivateKey, certificate: Certificate) {
    guard now < certificate.notValidAfter else {
      throw ServerError(
        .badCertificate,
        "the authority ended \(certificate.notValidAfter.formatted(.iso8601)), by this host's clock",
        suggestion: "Check the clock. Make a new one with --force, copy its authority.pem to all "
          + "hosts, and name it there: syncctl enroll … --ca authority.pem")
    }
    guard now >= certificate.notValidBefore else {
      throw ServerError(
        .badCertificate,
        "the authority begins \(certificate.notValidBefore.formatted(.iso8601)), "
          + "which is to come by this host's clock",
        suggestion: "Set the clock.")
    }
    let own = Certificate.PrivateKey(P256.Signing.PrivateKey())
    let issuerKey = try certificate.extensions.subjectKeyIdentifier?.keyIdentifier
    let issued = try Certificate(
      version: .v3, serialNumber: .init(), publicKey: own.publicKey,
      notValidBefore: max(now - Self.backdating, certificate.notValidBefore),
      notValidAfter: min(now + Double(days) * Self.day, certificate.notValidAfter),
      issuer: certificate.subject, subject: DistinguishedName { CommonName(name) },
      signatureAlgorithm: .ecdsaWithSHA256,
      extensions: Certificate.Extensions {
        Critical(BasicConstraints.notCertificateAuthority)
        Critical(KeyUsage(digitalSignature: true))
        try ExtendedKeyUsage([usage])
        if !names.isEmpty { SubjectAlternativeNames(names) }
        SubjectKeyIdentifier(hash: own.publicKey)
        AuthorityKeyIdentifier(keyIdentifier: issuerKey)
      }, issuerPrivateKey: key)
    return (own, issued)
  }
}

/// How keys and certificates stand in files.
enum CertificateText {
  /// Why a file holds no certificate that can be used.
  struct Problem: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  /// A key and its certificate in one text: one file has both, so that no end of the process can part them.
  static func pem(_ key: Certificate.PrivateKey, _ certificate: Certificate) throws -> String {
    try key.serializeAsPEM().pemString + "\n" + pem(certificate)
  }

  static func pem(_ certificate: Certificate) throws -> String {
    try certificate.serializeAsPEM().pemString + "\n"
  }
}
