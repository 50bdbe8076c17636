#if PostgreSQL
  import Foundation
  import TestSupport
  import Testing

  /// A password that somebody wrote into `--postgres` in spite of the manual is printed by no command.
  struct ConnectionSecretTests {
    private static let secret = "hunter2"

    private static let forms = [
      "host=127.0.0.1 port=1 password=\(secret)", "host=127.0.0.1 port=1 sslpassword=\(secret)",
      "host=127.0.0.1 port=1 password='a \(secret)'", "host=127.0.0.1 port=1 password=a \(secret)",
      "host=127.0.0.1 port=1 passwd=\(secret)", "postgres://user:\(secret)@127.0.0.1:1/db",
      "postgresql://user:\(secret)@127.0.0.1:1/db",
      "postgresql://127.0.0.1:1/db?password=\(secret)",
      "postgres://user:a/\(secret)@127.0.0.1:1/db", "postgres://user:\(secret)@[127.0.0.1:1/db",
    ]

    private static let commands = [
      ["zone", "list"], ["zone", "delete", "shop", "--yes"], ["token", "create", "--zone", "shop"],
      ["verify"], ["audit"], ["backup", "/nowhere/b.sqlite"], ["serve", "--check"],
      ["serve", "--listen", "127.0.0.1:0"],
    ]

    private func expectSilent(
      _ arguments: [String], _ environment: [String: String] = [:],
      _ location: SourceLocation = #_sourceLocation
    ) throws {
      for json in [[], ["--json"]] {
        let outcome = try Programs.run(
          "driftless-server", arguments + json, environment: environment)
        #expect(outcome.status != 0, "\(arguments): \(outcome)", sourceLocation: location)
        for text in [outcome.output, outcome.errors] {
          #expect(
            !text.contains(Self.secret), "\(arguments): \(outcome)", sourceLocation: location)
        }
      }
    }

    @Test("No command prints the password of its database, in whatever form it was given")
    func commands() throws {
      for form in Self.forms { try expectSilent(["zone", "list", "--postgres", form]) }
      for command in Self.commands {
        for form in [Self.forms[0], Self.forms[5]] {
          try expectSilent(command + ["--postgres", form])
          try expectSilent(command, ["DRIFTLESS_SERVER_POSTGRES": form])
        }
      }
    }

    @Test("Nor does a command line that cannot be read")
    func commandLine() throws {
      for form in [Self.forms[0], Self.forms[5]] {
        let words = form.split(separator: " ").map(String.init)
        try expectSilent(["zone", "list", "--postgres"] + words + [Self.forms[5]])
        try expectSilent(["zone", words.last ?? ""])
        try expectSilent([words.last ?? ""])
      }
    }

    @Test("What a command that failed advises names the database, and not its password")
    func advised() throws {
      let cluster = try PostgresCluster.shared()
      let place = try cluster.place()
      let text = place + " password=\(Self.secret)"
      let outcome = try Programs.run(
        "driftless-server", ["token", "create", "--zone", "none", "--postgres", text])
      #expect(outcome.errors.contains("zone create --postgres "), "\(outcome)")
      #expect(outcome.errors.contains("password=…"), "\(outcome)")
      #expect(!outcome.errors.contains(Self.secret), "\(outcome)")
    }
  }
#endif
