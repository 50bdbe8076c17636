import ArgumentParser
import DriftlessServer
import Foundation
import ProgramStart

struct TokenCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token",
    abstract: "Create, list and revoke access tokens; works while the server runs.",
    subcommands: [Create.self, List.self, Revoke.self])

  struct Create: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Create a token and print it alone on standard output.",
      discussion: """
        The server keeps only a hash of it: it cannot be shown again. A token that cannot be
        printed is not made. Where the command fails, what it printed is no token.
        """)

    @Option(help: "The zone that the token is for.")
    var zone: String

    @Option(help: "What it allows: read, write or read,write.")
    var verbs = "read,write"

    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.administering { administration in
        try administration.createToken(zone: zone, verbs: Verbs(text: verbs)) { token in
          do throws(UnwrittenOutput) {
            try common.handOut(token, zone: zone, verbs: verbs)
          } catch {
            // Also where nobody reads: whoever asked has no token.
            throw ServerError(
              .notHandedOut, "the token could not be printed, and was not made: \(error.message)",
              suggestion: error.suggestion)
          }
        }
      }
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "List the tokens by ID; their secrets are not known here.")

    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.administering { administration in
        for token in try administration.tokens() {
          if common.json {
            try common.printJSON(TokenLine(token))
          } else {
            let state = token.revokedMilliseconds == nil ? "valid" : "revoked"
            try common.printLine("\(token.id)\t\(token.zoneName)\t\(token.verbs)\t\(state)")
          }
        }
      }
    }
  }

  struct Revoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make a token worthless from the next request on.")

    @Argument(help: "The token's ID, as `token list` shows it.")
    var id: String

    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.administering { administration in
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

extension CommonOptions {
  fileprivate func handOut(
    _ token: AccessToken, zone: String, verbs: String
  ) throws(UnwrittenOutput) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let fields = ["id": token.id, "token": token.text, "zone": zone, "verbs": verbs]
    let line = json ? (try? encoder.encode(fields)) ?? Data() : Data(token.text.utf8)
    try ProgramOutput.write(line + [0x0A])
  }
}

private struct TokenLine: Encodable {
  let id: String
  let zone: String
  let verbs: String
  let createdMilliseconds: Int64
  let revokedMilliseconds: Int64?

  init(_ record: TokenRecord) {
    id = record.id
    zone = record.zoneName
    verbs = record.verbs.description
    createdMilliseconds = record.createdMilliseconds
    revokedMilliseconds = record.revokedMilliseconds
  }
}
