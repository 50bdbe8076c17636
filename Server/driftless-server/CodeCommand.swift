import ArgumentParser
import DriftlessServer
import Foundation

struct CodeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "code",
    abstract: "Create, list and revoke codes for one enrolment each; works while the server runs.",
    subcommands: [Create.self, List.self, Revoke.self])

  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Create a code and print it alone on standard output.",
      discussion: """
        One host enrols by it (syncctl enroll --code-file -), with a token that it makes itself: so no token is carried \
        about, and a code that was used opens nothing. The server keeps only a hash of it: it cannot be shown again.

        Example: driftless-server code create shop --expires 1h --name till-3 --data DIR
        """)

    @Argument(help: "The zone that the token will be for.")
    var zone: String

    @Option(help: "What the token will allow: read, write or read,write.")
    var verbs = "read,write"

    @Option(
      help: "What to call code and token in lists and in the log; it says nothing to the server.")
    var name: String?

    @Option(help: "When the code ends: 1h, 30m, 2d, or a time as 2027-01-31T00:00:00Z.")
    var expires = "1h"

    @Option(help: "When the token ends: 90d, 12h, or a time. Never, if not given.")
    var tokenExpires: String?

    @OptionGroup var common: CommonOptions

    func run() throws {
      try common.administeringZones { administration in
        let now = try administration.serverMilliseconds()
        let end = try TokenEnd(expires, now: now).milliseconds
        let tokenEnd = try tokenExpires.map { try TokenEnd($0, now: now).milliseconds }
        guard end < tokenEnd ?? .max else {
          throw ServerError(
            .badName, "the token would end before the code",
            suggestion: "Name a later time with --token-expires, or an earlier one with --expires.")
        }
        let request = CodeRequest(
          zone: zone, verbs: try Verbs(text: verbs), name: name, expiresMilliseconds: end,
          tokenExpiresMilliseconds: tokenEnd)
        try administration.createCode(request) { record, code in
          try common.handOutOrRefuse(
            CodeMade(code, record), token: code, named: "code")
        }
      }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "List the codes by ID, those too that were used or ended in the last 30 days.",
      discussion: "Example: driftless-server code list --data DIR")

    @OptionGroup var common: CommonOptions

    func run() throws {
      try common.administeringZones { administration in
        let now = try administration.serverMilliseconds()
        for record in try administration.codes() {
          let line = CodeLine(record, now: now)
          if common.json {
            try common.printJSON(line)
          } else {
            try common.printLine(
              "\(line.id)\t\(line.zone)\t\(line.verbs)\t\(line.state)\t\(line.name ?? "-")\t"
                + "\(line.expires)\t\(line.token ?? "-")")
          }
        }
      }
    }
  }

  struct Revoke: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make a code worthless that was not used, or all such.",
      discussion: "Example: driftless-server code revoke 01234567 --data DIR")

    @Argument(help: "The code's ID, as `code list` shows it.")
    var id: String?

    @Flag(help: "All that were not used: after a copy of the database was put back by other means.")
    var all = false

    @OptionGroup var common: CommonOptions

    func validate() throws {
      guard (id == nil) == all else { throw ValidationError("Give the ID of a code, or --all.") }
    }

    func run() throws {
      try common.administeringZones { administration in
        guard let id else {
          for code in try administration.revokeCodes() { try tell(code.id) }
          return
        }
        try administration.revokeCode(id: id)
        try tell(id)
      }
    }

    private func tell(_ id: String) throws {
      if common.json {
        try common.printJSON(["id": id, "state": "revoked"])
      } else {
        try common.printLine("revoked code \(id)")
      }
    }
  }
}

/// A code with its text, which is known this once.
private struct CodeMade: Encodable {
  let id: String
  let code: String
  let zone: String
  let verbs: String
  let expires: String
  @OrNull var name: String?
  @OrNull var tokenExpires: String?

  init(_ code: String, _ record: CodeRecord) {
    id = record.id
    self.code = code
    zone = record.zoneName
    verbs = record.verbs.description
    expires = JSONText.time(record.expiresMilliseconds)
    name = record.name
    tokenExpires = record.tokenExpiresMilliseconds.map { JSONText.time($0) }
  }
}

private struct CodeLine: Encodable {
  let id: String
  let zone: String
  let verbs: String
  let state: String
  let created: String
  let expires: String
  @OrNull var name: String?
  @OrNull var tokenExpires: String?
  @OrNull var used: String?
  @OrNull var token: String?
  @OrNull var revoked: String?

  init(_ record: CodeRecord, now: Int64) {
    id = record.id
    zone = record.zoneName
    verbs = record.verbs.description
    state = record.state(at: now)
    created = JSONText.time(record.createdMilliseconds)
    expires = JSONText.time(record.expiresMilliseconds)
    name = record.name
    tokenExpires = record.tokenExpiresMilliseconds.map { JSONText.time($0) }
    used = record.usedMilliseconds.map { JSONText.time($0) }
    token = record.tokenID
    revoked = record.revokedMilliseconds.map { JSONText.time($0) }
  }
}
