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

  static func badAuthorityFile(_ file: String, _ reason: String) -> TransportError {
    TransportError(
      .badAuthorityFile, "The file of authorities to trust, \(file), cannot be used: \(reason).",
      suggestion: "Copy the server's authority.pem to this host anew, and enroll again: "
        + "syncctl enroll … --ca authority.pem.")
  }
}
