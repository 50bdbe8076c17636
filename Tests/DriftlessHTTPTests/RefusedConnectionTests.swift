import Testing

@testable import DriftlessHTTP

/// Why a TLS connection was refused, in the words of libcurl's TLS libraries.
struct RefusedConnectionTests {
  @Test(
    "Each reason has its code",
    arguments: [
      ("SSL certificate problem: certificate has expired", 10, "certificate-expired"),
      ("SSL certificate problem: certificate is not yet valid", 9, "certificate-expired"),
      ("server certificate verification failed: expired", 1, "certificate-expired"),
      (
        "SSL: no alternative certificate subject name matches target host name '127.0.0.2'", 0,
        "wrong-host-name"
      ),
      (
        "SSL: certificate subject name 'a' does not match target hostname 'b'", 0, "wrong-host-name"
      ),
      ("SSL certificate problem: unable to get local issuer certificate", 20, "untrusted"),
      ("SSL certificate problem: self-signed certificate", 18, "untrusted"),
      ("TLS connect error", 0, "untrusted"),
      ("OpenSSL/3.0.19: error:0A00010B:SSL routines::wrong version number", 0, "no-tls"),
      ("gnutls_handshake() failed: An unexpected TLS packet was received.", 0, "no-tls"),
    ])
  func codes(reason: String, verification: Int, code: String) {
    let error = TransportError.refusedConnection(
      "https://h.example", reason, verification: verification)
    #expect(error.code.rawValue == code)
    #expect(error.needsPerson)
    #expect(error.message.contains("https://h.example") && error.message.contains(reason))
    #expect(!error.suggestion.isEmpty && !error.suggestion.contains("\n"))
  }
}
