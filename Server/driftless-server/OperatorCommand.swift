import ArgumentParser
import DriftlessServer
import Foundation

struct OperatorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "operator",
    abstract: "Create, list and revoke tokens for the status page; works while the server runs.",
    subcommands: [Create.self, List.self, Revoke.self])

  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Create an operator's token and print it alone on standard output.",
      discussion: """
        With it one signs in at the server's status page, which shows zones and replicas; it opens no zone. The server \
        keeps only a hash of it: it cannot be shown again.

        Example: driftless-server operator create --name ada --expires 90d --data DIR > token
        """)

    @Option(help: "What the operator is called, on the page and in the log.")
    var name: String

    @Option(help: "When it ends: 90d, 12h, or a time as 2027-01-31T00:00:00Z. Never, if not given.")
    var expires: String?

    @OptionGroup var common: CommonOptions

    func run() throws {
      try common.administeringZones { administration in
        let now = try administration.serverMilliseconds()
        let end = try expires.map { try TokenEnd($0, now: now).milliseconds }
        try administration.createOperator(name: name, expiresMilliseconds: end) { token in
          try common.handOutOrRefuse(
            OperatorMade(token, name: name, end: end), token: token.text)
        }
      }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "List the operators' tokens by ID; their secrets are not known here.",
      discussion: "Example: driftless-server operator list --data DIR")

    @OptionGroup var common: CommonOptions

    func run() throws {
      try common.administeringZones { administration in
        let now = try administration.serverMilliseconds()
        for record in try administration.operators() {
          let line = OperatorLine(record, now: now)
          if common.json {
            try common.printJSON(line)
          } else {
            try common.printLine(
              "\(line.id)\t\(line.state)\t\(line.name)\t\(line.expires ?? "-")")
          }
        }
      }
    }
  }

  struct Revoke: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make an operator's token worthless, and end the sessions that began with it.",
      discussion: "Example: driftless-server operator revoke 0123456789abcdef --data DIR")

    @Argument(help: "The token's ID, as `operator list` shows it, or the token.")
    var id: String

    @OptionGroup var common: CommonOptions

    func run() throws {
      let id = AccessToken(text: id)?.id ?? id
      try common.administeringZones { administration in
        try administration.revokeOperator(id: id)
        if common.json {
          try common.printJSON(["id": id, "state": "revoked"])
        } else {
          try common.printLine("revoked token \(id)")
        }
      }
    }
  }
}

/// A token with its secret, which is known this once.
private struct OperatorMade: Encodable {
  let id: String
  let token: String
  let name: String
  @OrNull var expires: String?

  init(_ token: AccessToken, name: String, end: Int64?) {
    id = token.id
    self.token = token.text
    self.name = name
    expires = end.map { JSONText.time($0) }
  }
}

private struct OperatorLine: Encodable {
  let id: String
  let name: String
  let state: String
  let created: String
  @OrNull var expires: String?
  @OrNull var revoked: String?

  init(_ record: OperatorRecord, now: Int64) {
    id = record.id
    name = record.name
    created = JSONText.time(record.createdMilliseconds)
    expires = record.expiresMilliseconds.map { JSONText.time($0) }
    revoked = record.revokedMilliseconds.map { JSONText.time($0) }
    state =
      record.revokedMilliseconds != nil
      ? "revoked" : record.isValid(at: now) ? "valid" : "expired"
  }
}
