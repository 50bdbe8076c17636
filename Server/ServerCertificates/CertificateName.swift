import DriftlessServer

#if canImport(Glibc)
  import Glibc
#endif

/// What clients call a server by, and its certificate is for: a host's name, or an address.
package struct CertificateName: Hashable, Sendable, CustomStringConvertible {
  /// In lower case, without brackets and without the dot that may end a name.
  package let text: String
  /// The bytes of an address; nil for a name.
  let address: [UInt8]?

  package var description: String { text }

  /// Names in one certificate: enough for a host, and a certificate that every handshake carries stays small.
  package static let countMax = 100
  /// The longest name that DNS has, and the longest of its parts.
  private static let bytesMax = 253
  private static let labelBytesMax = 63

  /// Every host calls itself by these, and an operator looks at the server there.
  package static let loopback = [
    CertificateName("localhost", nil), CertificateName("127.0.0.1", [127, 0, 0, 1]),
    CertificateName("::1", Array(repeating: 0, count: 15) + [1]),
  ]

  private init(_ text: String, _ address: [UInt8]?) {
    self.text = text
    self.address = address
  }

  /// Reads `sync.example.com`, `*.example.com`, `192.0.2.1`, `2001:db8::1` or `[2001:db8::1]`.
  ///
  /// - Throws: `ServerError` (`.badName`) that says what is wrong.
  package init(_ given: String) throws {
    let isBracketed = given.hasPrefix("[") && given.hasSuffix("]")
    let bare = isBracketed ? String(given.dropFirst().dropLast()) : given
    if let found = Self.address(in: bare) {
      self = found
      return
    }
    var name = bare.lowercased()
    if name.hasSuffix(".") { name.removeLast() }
    if let problem = isBracketed ? "it is no address" : Self.problem(of: name) {
      throw ServerError(
        .badName, "\"\(given.prefix(300))\" cannot be a name of a certificate: \(problem)",
        suggestion: "Give what clients call the server by, as in --name sync.example.com "
          + "--name 192.0.2.1.")
    }
    self.init(name, nil)
  }

  /// Of the bytes that a certificate has; nil for what is no address.
  init?(address: [UInt8]) {
    let family = address.count == 4 ? AF_INET : AF_INET6
    guard address.count == 4 || address.count == 16 else { return nil }
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_ntop(family, address, &text, socklen_t(text.count)) != nil else { return nil }
    let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    self.init(String(decoding: bytes, as: UTF8.self), address)
  }

  private static func address(in text: String) -> CertificateName? {
    for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
      var bytes = [UInt8](repeating: 0, count: count)
      if inet_pton(family, text, &bytes) == 1 { return CertificateName(address: bytes) }
    }
    return nil
  }

  private static func problem(of name: String) -> String? {
    if name.isEmpty { return "it is empty" }
    guard name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      return "it has characters that no host's name has; of an international name give the form "
        + "that begins with xn--"
    }
    guard name.utf8.count <= bytesMax else {
      return "it has \(name.utf8.count) bytes, and a host's name has at most \(bytesMax)"
    }
    let isWild = name.hasPrefix("*.")
    let labels = (isWild ? name.dropFirst(2) : name[...])
      .split(separator: ".", omittingEmptySubsequences: false)
    if isWild, labels.count < 2 { return "a star stands before at least two parts" }
    for label in labels {
      if label.isEmpty { return "a part of it is empty" }
      if label.contains("*") { return "a star stands for all of the first part" }
      guard label.utf8.count <= labelBytesMax else {
        return "a part of it has \(label.utf8.count) bytes, and may have \(labelBytesMax)"
      }
      let isPlain = label.allSatisfy {
        $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_"
      }
      guard isPlain, !label.hasPrefix("-"), !label.hasSuffix("-") else {
        return "\"\(label)\" is no part of a host's name"
      }
    }
    // Clients take such a text for an address, and look for no name.
    if let last = labels.last, last.allSatisfy(\.isNumber) { return "it is no address" }
    return nil
  }
}
