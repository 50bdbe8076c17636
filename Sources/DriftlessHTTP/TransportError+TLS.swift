extension TransportError {
  /// Numbers of OpenSSL's `X509_V_ERR_…` that are about time.
  private static let timeResults: Set<Int> = [9, 10]

  /// Why a TLS connection was refused, from what libcurl knows: OpenSSL's number, or another library's words.
  static func refusedConnection(
    _ address: String, _ reason: String, verification: Int
  ) -> TransportError {
    let words = reason.lowercased()
    if timeResults.contains(verification) || words.contains("expired")
      || words.contains("not yet valid") || words.contains("not activated")
    {
      return TransportError(
        .certificateExpired,
        "The certificate of \(address) has ended or not begun, by this host's clock: \(reason).",
        suggestion: "Check this host's clock. Where the certificate ended, make a new one on the "
          + "server (driftless-server certificate create --data DIR) and start it again.")
    }
    if words.contains("wrong version number") || words.contains("unexpected tls packet") {
      return TransportError(
        .noTLS, "What answers at \(address) speaks no TLS: \(reason).",
        suggestion: "Check host and port. Where the server is meant to serve without TLS, enroll "
          + "with http:// instead; else have it serve with a certificate "
          + "(driftless-server certificate create)."
      )
    }
    if words.contains("subject name") || words.contains("hostname mismatch") {
      return TransportError(
        .wrongHostName, "The certificate of \(address) is for another name: \(reason).",
        suggestion: "Enroll with a name that the certificate has (on the server: driftless-server "
          + "certificate show), or give it this one too: driftless-server certificate create --name HOST."
      )
    }
    return TransportError(
      .untrusted, "The TLS connection to \(address) was refused: \(reason).",
      suggestion: "Where the server has a private authority, copy its authority.pem (in the folder "
        + "tls of its data folder) to this host and enroll again: syncctl enroll … --ca authority.pem."
    )
  }

  /// What of a server's alert is about the certificate that this host shows, or does not; nil for anything else.
  static func refusedClient(
    _ address: String, _ reason: String, certificate: String?
  ) -> TransportError? {
    let words = reason.lowercased()
    guard words.contains("alert") else { return nil }
    let anew =
      "Ask the server's operator for a certificate (driftless-server certificate create --client "
      + "NAME), and enroll again with it: syncctl enroll … --client-certificate FILE."
    if words.contains("certificate required") || words.contains("certificate is required") {
      return TransportError(
        .clientCertificateRequired, "\(address) wants a certificate of this host: \(reason).",
        suggestion: anew)
    }
    guard let certificate else { return nil }
    if words.contains("certificate expired") || words.contains("certificate has expired") {
      return TransportError(
        .clientCertificateExpired,
        "The certificate that this host shows to \(address), \(certificate), has ended or not "
          + "begun, by the server's clock: \(reason).",
        suggestion: anew + " Changes stay queued here.")
    }
    let refusals = [
      "unknown ca", "bad certificate", "unsupported certificate", "certificate unknown",
      "certificate revoked", "ca is unknown", "certificate is bad", "decrypt error",
    ]
    guard refusals.contains(where: words.contains) else { return nil }
    return TransportError(
      .clientCertificateRefused,
      "\(address) does not take the certificate that this host shows, \(certificate): \(reason).",
      suggestion: anew)
  }

  static func badClientCertificate(_ file: String, _ reason: String) -> TransportError {
    TransportError(
      .badClientCertificate,
      "The file with this host's certificate, \(file), cannot be used: \(reason).",
      suggestion: "It has a certificate and the key of that very one, in PEM, which no passphrase "
        + "closes. Put it back, and enroll again: syncctl enroll … --client-certificate FILE.")
  }

  static func badAuthorityFile(_ file: String, _ reason: String) -> TransportError {
    TransportError(
      .badAuthorityFile, "The file of authorities to trust, \(file), cannot be used: \(reason).",
      suggestion: "Copy the server's authority.pem to this host anew, and enroll again: "
        + "syncctl enroll … --ca authority.pem.")
  }
}
