import ArgumentParser
import DriftlessServer
import Foundation
import ProgramStart

struct TokenCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token",
    abstract: "Create, list, rotate and revoke access tokens; works while the server runs.",
    subcommands: [Create.self, List.self, Rotate.self, Revoke.self])

  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Create a token and print it alone on standard output.",
      discussion: """
        The server keeps only a hash of it: it cannot be shown again. What is printed is a token; one that
        cannot be printed is taken back.

        Example: driftless-server token create --zone shop --name till-3 --expires 90d --data DIR > token
        """)

    @Option(help: "The zone that the token is for.")
    var zone: String

    @Option(help: "What it allows: read, write or read,write.")
    var verbs = "read,write"

    @Option(help: "What to call it in lists and in the log; it says nothing to the server.")
    var name: String?

    @Option(help: "When it ends: 90d, 12h, or a time as 2027-01-31T00:00:00Z. Never, if not given.")
    var expires: String?

    @Flag(
      help: """
        Bind it to the replica that uses it first: any other is refused with it. `token rotate` gives a store that \
        takes its place another.
        """)
    var bind = false

    @OptionGroup var common: CommonOptions

    func run() throws {
      try common.administeringZones { administration in
        let now = try administration.serverMilliseconds()
        let end = try expires.map { try TokenEnd($0, now: now) }
        try administration.createToken(
          zone: zone, verbs: Verbs(text: verbs), label: name,
          expiresMilliseconds: end?.milliseconds, binds: bind
        ) { token in
          try common.handOutOrRefuse(
            TokenMade(token, zone: zone, verbs: verbs, name: name, end: end))
        }
      }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "List the tokens by ID; their secrets are not known here.",
      discussion: "Example: driftless-server token list --data DIR")

    @OptionGroup var common: CommonOptions

    func run() throws {
      try common.administeringZones { administration in
        let now = try administration.serverMilliseconds()
        for token in try administration.tokens() {
          if common.json {
            try common.printJSON(TokenLine(token, now: now))
          } else {
            let line = TokenLine(token, now: now)
            try common.printLine(
              "\(token.id)\t\(token.zoneName)\t\(token.verbs)\t\(line.state)\t"
                + "\(token.name ?? "-")\t\(line.expires ?? "-")\t\(line.bound ?? "-")")
          }
        }
      }
    }
  }

  struct Revoke: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make a token worthless from the next request on.",
      discussion: "Example: driftless-server token revoke 0123456789abcdef --data DIR")

    @Argument(help: "The token's ID, as `token list` shows it, or the token.")
    var id: String

    @OptionGroup var common: CommonOptions

    func run() throws {
      // Of a token that leaked one has the whole: it is not said again.
      let id = AccessToken(text: id)?.id ?? id
      try common.administeringZones { administration in
        try administration.revokeToken(id: id)
        if common.json {
          try common.printJSON(["id": id, "state": "revoked"])
        } else {
          try common.printLine("revoked token \(id)")
        }
      }
    }
  }
}

extension TokenCommand {
  struct Rotate: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Create a token in the place of another and print it alone.",
      discussion: """
        The new one has the zone, the verbs and the name of the old one, which ends after --grace. Where the old one is \
        bound to a replica (token create --bind), the new one is bound to whoever uses it first.

        Example: driftless-server token rotate 0123456789abcdef --grace 7d --data DIR > token
        """)

    @Argument(help: "The ID of the old token, as `token list` shows it.")
    var id: String

    @Option(help: "How long the old one is still taken: 7d, 12h, 30m, 45s; 0 for not at all.")
    var grace = "0"

    @Option(
      help: """
        When the new one ends: 90d, 12h, a time, or never. If not given, it lives as long as the old one was made to.
        """)
    var expires: String?

    @OptionGroup var common: CommonOptions

    func run() throws {
      let id = AccessToken(text: id)?.id ?? id
      try common.administeringZones { administration in
        let now = try administration.serverMilliseconds()
        let wait = grace == "0" ? 0 : try TokenEnd.span(grace)
        guard let old = try administration.tokens().first(where: { $0.id == id }) else {
          throw ServerError(
            .notFound, "there is no token with the ID \(id)",
            suggestion: "See the IDs: driftless-server token list")
        }
        let end = try TokenEnd(of: expires, inPlaceOf: old, now: now)
        try administration.rotateToken(
          id: id, grace: wait, expiresMilliseconds: end?.milliseconds
        ) { token in
          try common.handOutOrRefuse(
            TokenMade(
              token, zone: old.zoneName, verbs: old.verbs.description, name: old.name, end: end))
        }
      }
    }
  }
}

/// When a token is to end.
struct TokenEnd {
  let milliseconds: Int64

  private init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// Reads a span from now on, or a time in ISO 8601.
  ///
  /// - Parameter now: the server's time.
  /// - Throws: `ServerError` (`.badName`).
  init(_ text: String, now: Int64) throws {
    if let date = try? Date(text, strategy: .iso8601) {
      milliseconds = Int64(date.timeIntervalSince1970 * 1000)
      guard milliseconds > now else {
        throw ServerError(
          .badName, "\(text) is in the past by the server's time",
          suggestion:
            "Name a time that is to come. See the server's time: driftless-server clock show")
      }
    } else {
      milliseconds = now + (try Self.span(text))
    }
  }

  /// When a token ends that takes the place of another: as `text` says, else after as long as the other one was made for. Nil for never.
  ///
  /// - Throws: `ServerError` (`.badName`).
  init?(of text: String?, inPlaceOf old: TokenRecord, now: Int64) throws {
    if text == "never" { return nil }
    if let text {
      try self.init(text, now: now)
    } else if let end = old.expiresMilliseconds {
      self.init(milliseconds: now + max(0, end - old.createdMilliseconds))
    } else {
      return nil
    }
  }

  /// Milliseconds of 90d, 12h, 30m or 45s.
  static func span(_ text: String) throws -> Int64 {
    let units: [Character: Int64] = ["d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000]
    guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()),
      count > 0, count <= 36_500_000
    else {
      throw ServerError(
        .badName, "\"\(text)\" is neither a span nor a time",
        suggestion: "Write 90d, 12h, 30m or 45s, or a time as 2027-01-31T00:00:00Z.")
    }
    return count * unit
  }
}

/// A token with its secret, which is known this once.
private struct TokenMade: Encodable {
  let id: String
  let token: String
  let zone: String
  let verbs: String
  @OrNull var name: String?
  @OrNull var expires: String?

  init(_ token: AccessToken, zone: String, verbs: String, name: String?, end: TokenEnd?) {
    id = token.id
    self.token = token.text
    self.zone = zone
    self.verbs = verbs
    self.name = name
    expires = end.map { JSONText.time($0.milliseconds) }
  }
}

extension CommonOptions {
  fileprivate func handOutOrRefuse(_ made: TokenMade) throws {
    try handOutOrRefuse(made, token: made.token)
  }

  /// - Parameters:
  ///   - made: what is printed as JSON.
  ///   - token: what is printed else.
  ///   - what: what it is called.
  func handOutOrRefuse(
    _ made: some Encodable, token: String, named what: String = "token"
  ) throws {
    do throws(UnwrittenOutput) {
      try handOut(made, token: token)
    } catch {
      // Also where nobody reads: whoever asked has no token.
      throw ServerError(
        .notHandedOut, "the \(what) could not be printed, and was not made: \(error.message)",
        suggestion: "Give standard output a place that takes it, and say the command again.")
    }
  }

  private func handOut(_ made: some Encodable, token: String) throws(UnwrittenOutput) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let line = json ? (try? encoder.encode(made)) ?? Data() : Data(token.utf8)
    try ProgramOutput.write(line + [0x0A])
  }
}

private struct TokenLine: Encodable {
  let id: String
  let zone: String
  let verbs: String
  let state: String
  let created: String
  @OrNull var name: String?
  @OrNull var expires: String?
  @OrNull var revoked: String?
  /// The replica that it is bound to, or `first` where it is to be bound to who uses it first.
  @OrNull var bound: String?

  init(_ record: TokenRecord, now: Int64) {
    id = record.id
    zone = record.zoneName
    verbs = record.verbs.description
    created = JSONText.time(record.createdMilliseconds)
    name = record.name
    expires = record.expiresMilliseconds.map { JSONText.time($0) }
    revoked = record.revokedMilliseconds.map { JSONText.time($0) }
    bound = record.binding == .first ? "first" : record.binding.replica.map { JSONText.id($0) }
    let hasEnded = (record.expiresMilliseconds ?? .max) <= now
    state = record.revokedMilliseconds != nil ? "revoked" : hasEnded ? "expired" : "valid"
  }
}
