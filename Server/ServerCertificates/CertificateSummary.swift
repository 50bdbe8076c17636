import Crypto
import DriftlessServer
package import Foundation
import SwiftASN1
import X509

#if canImport(Glibc)
  import Glibc
#endif

/// What an operator wants to know of a certificate.
package struct CertificateSummary: Sendable, Hashable {
  /// What it is for; of an authority, what it is called.
  package let names: [String]
  package let isAuthority: Bool
  package let begins: Date
  package let ends: Date
  /// SHA-256 of the certificate, as hexadecimal pairs with colons: to compare it on two hosts.
  package let fingerprint: String

  init(_ certificate: Certificate) throws {
    var names: [String] = []
    for name in try certificate.extensions.subjectAlternativeNames ?? SubjectAlternativeNames() {
      switch name {
      case .dnsName(let text): names.append(text)
      case .ipAddress(let bytes):
        if let name = CertificateName(address: Array(bytes.bytes)) { names.append(name.text) }
      default: break
      }
    }
    if case .isCertificateAuthority? = try certificate.extensions.basicConstraints {
      isAuthority = true
    } else {
      isAuthority = false
    }
    self.names = names.isEmpty ? ["\(certificate.subject)"] : names
    begins = certificate.notValidBefore
    ends = certificate.notValidAfter
    fingerprint = SHA256.hash(data: try certificate.serializeAsPEM().derBytes)
      .map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }
      .joined(separator: ":")
  }

  /// The certificates of a file, in their order. Keys in it are passed over.
  ///
  /// - Throws: `ServerError` (`.badCertificate`) for a file that has none, or cannot be read.
  package static func read(_ file: URL) throws -> [CertificateSummary] {
    try certificates(in: file).map { try CertificateSummary($0) }
  }

  static func certificates(
    in file: URL, suggestion: String = "Name a file with certificates in PEM, or put it back."
  ) throws -> [Certificate] {
    try BoundedText.parsed(file, suggestion: suggestion) { text in
      let documents = try PEMDocument.parseMultiple(pemString: text)
      let certificates = try documents.filter { $0.discriminator == "CERTIFICATE" }
        .map { try Certificate(pemDocument: $0) }
      guard !certificates.isEmpty else { throw CertificateText.Problem("it has no certificate") }
      return certificates
    }
  }
}

/// Small files of text.
enum BoundedText {
  /// More is no file of certificates.
  private static let bytesMax = 1 << 20

  /// What a file of certificates holds.
  ///
  /// - Throws: `ServerError` (`.badCertificate`) with the file's path.
  static func parsed<Value>(
    _ file: URL, suggestion: String, _ parse: (String) throws -> Value
  ) throws -> Value {
    func failure(_ reason: String) -> ServerError {
      ServerError(
        .badCertificate, "cannot use \(file.path): \(reason)",
        suggestion: suggestion)
    }
    let place = file.resolvingSymlinksInPath().path
    let type = try? FileManager.default.attributesOfItem(atPath: place)[.type] as? FileAttributeType
    // A pipe would be waited for without end.
    if let type, type != .typeRegular { throw failure("it is no plain file") }
    let descriptor = open(place, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw failure(String(cString: strerror(errno))) }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    guard let data = try? handle.read(upToCount: bytesMax + 1), data.count <= bytesMax,
      let text = String(data: data, encoding: .utf8)
    else { throw failure("it is no text of certificates") }
    do {
      return try parse(text)
    } catch let error as ServerError {
      throw error
    } catch let problem as CertificateText.Problem {
      throw failure(problem.description)
    } catch {
      throw failure("it does not parse")
    }
  }
}
