import Foundation

/// A connection string of libpq, as it may be printed: what is printed may be kept where many read it.
///
/// Nothing stands in it but what is known to be no secret: a key word that is mistyped, or newer than this program, keeps its value to
/// itself, and so does what libpq would not read.
package struct ConnectionText {
  /// The text without secrets.
  package let shown: String
  private let text: String

  package init(_ text: String) {
    self.text = text
    if let scheme = text.prefixMatch(of: /\s*[A-Za-z][A-Za-z0-9+.-]*:\/\//) {
      shown = Self.shown(uri: text, after: scheme.range.upperBound)
    } else if Self.isText(text) {
      shown = Self.shown(pairs: text)
    } else {
      // The name of a database.
      shown = text
    }
  }

  /// What libpq or the database said, without what this text hides: some messages repeat parts of it between quotation marks.
  package func hiding(in message: String) -> String {
    guard shown != text else { return message }
    let asItIsRead = [text, text.removingPercentEncoding ?? "", text.filter { $0 != "\\" }]
    return message.replacing(text, with: shown).replacing(/"([^"]+)"/) { quoted in
      let part = quoted.output.1
      let isHidden = !shown.contains(part) && asItIsRead.contains { $0.contains(part) }
      return isHidden ? "\"\(Self.hidden)\"" : String(quoted.output.0)
    }
  }

  /// The same for what a command line says that could not be read: the text may stand there in pieces.
  package static func hiding(inCommandLine message: String) -> String {
    message.replacing(/[A-Za-z]+:\/\/[^\s]*/) { shown(uri: $0) }
      .replacing(/(?i)([a-z_]*(?:password|passwd|secret)[a-z_]*\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s']+)/)
    {
      "\($0.output.1)\(hidden)"
    }
  }

  private static let hidden = "…"

  /// Key words whose values are no secrets. A file that has passwords is none itself.
  private static let open: Set<String> = [
    "application_name", "channel_binding", "client_encoding", "connect_timeout", "dbname",
    "fallback_application_name", "gssdelegation", "gssencmode", "gsslib", "host", "hostaddr",
    "keepalives", "keepalives_count", "keepalives_idle", "keepalives_interval", "krbsrvname",
    "load_balance_hosts", "max_protocol_version", "min_protocol_version", "options", "passfile",
    "port", "replication", "require_auth", "requirepeer", "requiressl", "service", "ssl",
    "ssl_max_protocol_version", "ssl_min_protocol_version", "sslcert", "sslcertmode",
    "sslcompression", "sslcrl", "sslcrldir", "sslkey", "sslmode", "sslnegotiation", "sslrootcert",
    "sslsni", "target_session_attrs", "tcp_user_timeout", "user",
  ]

  // MARK: - host=db dbname=driftless

  /// As libpq reads it: a value lies between blanks, or between apostrophes; a backslash takes the next character as it is.
  private static func shown(pairs text: String) -> String {
    var (shown, rest) = ("", text[...])
    while true {
      shown += rest.prefix { $0.isWhitespace }
      rest = rest.drop { $0.isWhitespace }
      guard !rest.isEmpty else { return shown }
      let name = rest.prefix { $0 != "=" && !$0.isWhitespace }
      let afterName = rest.dropFirst(name.count).drop { $0.isWhitespace }
      guard afterName.first == "=" else {
        // It may be what follows a blank within a secret.
        shown += hidden
        rest = rest.dropFirst(name.count)
        continue
      }
      let start = afterName.dropFirst().drop { $0.isWhitespace }
      let value = Self.value(start)
      let isOpen = open.contains(String(name)) && !(name == "dbname" && isText(value))
      shown += rest[..<start.startIndex] + (isOpen ? String(value) : hidden)
      rest = start.dropFirst(value.count)
    }
  }

  /// A connection string, or what was meant for one, may stand in the place of a database's name.
  private static func isText(_ name: some StringProtocol) -> Bool {
    name.contains { "=:@".contains($0) }
  }

  private static func value(_ text: Substring) -> Substring {
    let isQuoted = text.first == "'"
    var end = isQuoted ? text.index(after: text.startIndex) : text.startIndex
    while end < text.endIndex {
      let character = text[end]
      if !isQuoted, character.isWhitespace { break }
      end = text.index(after: end)
      if isQuoted, character == "'" { break }
      if character == "\\", end < text.endIndex { end = text.index(after: end) }
    }
    return text[..<end]
  }

  // MARK: - postgresql://user@host/dbname?…

  private static func shown(uri match: Regex<Substring>.Match) -> String {
    ConnectionText(String(match.output)).shown
  }

  /// A password may have what has to be said otherwise in it: all up to the last `@` is taken for one.
  private static func shown(uri text: String, after start: String.Index) -> String {
    var shown = String(text[..<start])
    var rest = text[start...]
    if let at = rest.lastIndex(of: "@"), let colon = rest.firstIndex(of: ":"), colon < at {
      shown += rest[...colon] + hidden
      rest = rest[at...]
    }
    guard let mark = rest.firstIndex(of: "?") else { return shown + rest }
    let query = rest[rest.index(after: mark)...].split(
      separator: "&", omittingEmptySubsequences: false)
    return shown + rest[...mark] + query.map(Self.shown(parameter:)).joined(separator: "&")
  }

  private static func shown(parameter: Substring) -> String {
    guard let sign = parameter.firstIndex(of: "=") else {
      return parameter.isEmpty ? "" : hidden
    }
    let name = String(parameter[..<sign])
    let isOpen = open.contains(name.removingPercentEncoding ?? name)
    return isOpen ? String(parameter) : parameter[...sign] + hidden
  }
}
