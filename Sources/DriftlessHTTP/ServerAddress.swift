public import Foundation

/// Which server addresses and zone names can be used.
public enum ServerAddress {
  /// Checks the address of a server.
  ///
  /// - Throws: `TransportError` with `.badConfiguration` when it is no HTTP address, carries
  ///   credentials or a query, or would send the token in the clear to another host.
  public static func check(_ server: URL, allowsPlaintext: Bool) throws(TransportError) {
    let text = server.absoluteString
    guard let parts = URLComponents(url: server, resolvingAgainstBaseURL: false),
      let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https",
      let host = parts.host, !host.isEmpty
    else {
      throw TransportError(
        .badConfiguration, "\(text) is no server address.",
        suggestion: "Give it as https://HOST or http://127.0.0.1:PORT.")
    }
    guard parts.user == nil, parts.password == nil, parts.query == nil, parts.fragment == nil else {
      throw TransportError(
        .badConfiguration, "A server address carries no credentials, query or fragment.",
        suggestion: "Give scheme, host, port and path only; the token travels apart.")
    }
    guard scheme == "https" || allowsPlaintext || isLoopback(host) else {
      throw TransportError(
        .badConfiguration, "\(text) would send the token and the data in the clear.",
        suggestion: "Use https://, or allow it with --allow-plaintext on a network you trust.")
    }
  }

  /// Whether `host` is this host by its own name, so that no other can listen.
  static func isLoopback(_ host: String) -> Bool {
    let name = host.lowercased().trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
    if name == "localhost" || name == "::1" { return true }
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }

  /// A zone's name as one segment of a path.
  static func pathSegment(zone: String) throws(TransportError) -> String {
    var allowed = CharacterSet.alphanumerics
    allowed.insert(charactersIn: "-._~")
    guard !zone.isEmpty, zone != ".", zone != "..", zone.utf8.count <= 255,
      let segment = zone.addingPercentEncoding(withAllowedCharacters: allowed)
    else {
      throw TransportError(
        .badConfiguration, "\(zone.isEmpty ? "An empty text" : zone) is no zone name.",
        suggestion: "Give the name that `driftless-server zone create` was given.")
    }
    return segment
  }
}
