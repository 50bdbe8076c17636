import ArgumentParser
import DriftlessServer
import Foundation
import ProgramStart
import ServerCertificates

struct CertificateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "certificate",
    abstract: "Make and look at TLS certificates, and a private authority for them.",
    subcommands: [Create.self, Show.self])

  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make a certificate for the server or a client, and the authority that signs it.",
      discussion: """
        Run again, it makes a new certificate under the same authority: the names are those of \
        the old one, and those that are given; --drop-names leaves out the former. Start the \
        server again then. Hosts trust the \
        authority: they need its certificate, authority.pem, once. Its key, authority-key.pem, is \
        needed for the next certificate alone: keep it where nobody else gets at it.
        With --client it makes a certificate by which a client shows itself to a server that \
        serves with --tls-client-ca authority.pem; the server's own stays as it is.

        Example: driftless-server certificate create --name sync.example.com --data DIR
                 driftless-server certificate create --client till-4 --data DIR
        """)

    @Option(
      help: """
        What clients call the server by: a name or an address, once for each. Those of the \
        certificate that is there, localhost and the loopback addresses are always among them.
        """)
    var name: [String] = []

    @Flag(
      help: "Leave out the names of the certificate that is there, unless they are given again.")
    var dropNames = false

    @Option(
      help: """
        Make the certificate of a client of this name, client-NAME.pem, in place of the server's: its host keeps it by \
        syncctl enroll --client-certificate.
        """)
    var client: String?

    @Option(
      help: "Days that the certificate is good for; it ends at the latest with the authority.")
    var days = 397

    @Flag(
      help: "Make a new authority in the place of the one that is there: all hosts need it then.")
    var force = false

    @OptionGroup var place: CertificatePlace

    func validate() throws {
      guard (1...CertificateFolder.daysMax).contains(days) else {
        throw ValidationError("--days is 1 to \(CertificateFolder.daysMax).")
      }
      guard client == nil || name.isEmpty && !force else {
        throw ValidationError("--client goes without --name and --force.")
      }
      guard !dropNames || !name.isEmpty else {
        throw ValidationError("--drop-names goes with the names that stay, each with --name.")
      }
    }

    func run() throws { try place.reporting { try create(in: $0) } }

    private func create(in folder: CertificateFolder) throws {
      if let client { return try create(client: client, in: folder) }
      // Hosts trust it, and refuse the server from now on: it is named, so that they can be told which.
      let former = force ? (try? CertificateSummary.read(folder.authority))?.first : nil
      let made = try folder.create(
        names: name.map { try CertificateName($0) }, days: days, dropsFormerNames: dropNames,
        replacesAuthority: force)
      let authority = CertificateLine(made.authority, folder.authority)
      let server = CertificateLine(made.server, folder.server)
      if place.report.json {
        return try place.report.printJSON(
          CreatedLine(
            authority: authority, server: server, isAuthorityNew: made.isAuthorityNew,
            droppedNames: made.droppedNames, areFormerNamesUnknown: made.areFormerNamesUnknown,
            replaced: OrNull(wrappedValue: former.map { CertificateLine($0, folder.authority) })))
      }
      for line in server.lines("certificate") { try place.report.printLine(line) }
      if !made.droppedNames.isEmpty {
        try place.report.printLine(
          "dropped names: \(made.droppedNames.joined(separator: ", ")); clients that call the server by them refuse it"
        )
      }
      if made.areFormerNamesUnknown {
        try place.report.printLine(
          "the names of the former certificate could not be read: this one has those that were given"
        )
      }
      try tell(authority, isNew: made.isAuthorityNew)
      if let former {
        let line = CertificateLine(former, folder.authority)
        for text in line.lines("replaced authority") { try place.report.printLine(text) }
        try place.report.printLine(
          "hosts that trust the replaced one refuse this server until they have the new one")
      }
      if made.isAuthorityNew {
        try place.report.printLine(
          "copy \(folder.authority.path) to every host, and name it there: "
            + "syncctl enroll … --ca authority.pem")
      }
    }

    private func create(client name: String, in folder: CertificateFolder) throws {
      let made = try folder.createClient(name, days: days)
      let authority = CertificateLine(made.authority, folder.authority)
      let client = CertificateLine(made.client, made.file)
      if place.report.json {
        return try place.report.printJSON(
          CreatedClientLine(
            authority: authority, client: client, isAuthorityNew: made.isAuthorityNew))
      }
      for line in client.lines("client certificate") { try place.report.printLine(line) }
      try tell(authority, isNew: made.isAuthorityNew)
      try place.report.printLine(
        "move \(made.file.path) to its host, and name it there: "
          + "syncctl enroll … --client-certificate \(made.file.lastPathComponent)")
    }

    private func tell(_ authority: CertificateLine, isNew: Bool) throws {
      let kind = isNew ? "new authority" : "authority"
      for line in authority.lines(kind) { try place.report.printLine(line) }
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Tell a certificate's names, its end and its SHA-256 fingerprint.",
      discussion: """
        Example: driftless-server certificate show --data DIR
                 driftless-server certificate show /etc/driftless-server/tls.crt
        """)

    @Argument(help: "A PEM file; those that `create` made, if not given.", completion: .file())
    var file: String?

    @OptionGroup var place: CertificatePlace

    func validate() throws {
      guard file == nil || (place.data == nil && place.out == nil) else {
        throw ValidationError("Give a file, or --data or --out.")
      }
    }

    func run() throws {
      guard let file else {
        return try place.reporting { folder in
          guard FileManager.default.fileExists(atPath: folder.server.path) else {
            throw ServerError(
              .badCertificate, "there is no certificate \(folder.server.path) yet",
              suggestion: "To make one: driftless-server certificate create --name HOST. "
                + "To look at another file: driftless-server certificate show FILE")
          }
          try show([("certificate", folder.server), ("authority", folder.authority)])
        }
      }
      try place.report.reporting(check: "the file") {
        try show([("certificate", URL(fileURLWithPath: file))])
      }
    }

    private func show(_ files: [(kind: String, url: URL)]) throws {
      for file in files {
        for summary in try CertificateSummary.read(file.url) {
          let line = CertificateLine(summary, file.url)
          if place.report.json {
            try place.report.printJSON(line)
          } else {
            let kind = summary.isAuthority ? "authority" : file.kind
            for text in line.lines(kind) { try place.report.printLine(text) }
          }
        }
      }
    }
  }
}

/// Where certificates lie.
struct CertificatePlace: ParsableArguments {
  @Option(help: "The server's data folder: they lie in its folder tls, where `serve` finds them.")
  var data: String?

  @Option(help: "A folder for them elsewhere: `serve` is told of them then.")
  var out: String?

  @OptionGroup var report: ReportOptions

  func reporting(_ body: (CertificateFolder) throws -> Void) throws {
    let option = data.map { "--data \(CommonOptions.word($0))" }
    try report.reporting(check: "the folder \(out ?? data ?? "")", at: option) {
      if let out { return try body(CertificateFolder(URL(fileURLWithPath: out))) }
      guard let data, !data.isEmpty else {
        throw ServerError(
          .badName, "no folder is named",
          suggestion: "Give the server's data folder with --data, or another one with --out.")
      }
      try body(CertificateFolder(data: URL(fileURLWithPath: data, isDirectory: true)))
    }
  }
}

private struct CreatedLine: Encodable {
  let authority: CertificateLine
  let server: CertificateLine
  let isAuthorityNew: Bool
  let droppedNames: [String]
  let areFormerNamesUnknown: Bool
  /// The authority whose place the new one took.
  @OrNull var replaced: CertificateLine?
}

private struct CreatedClientLine: Encodable {
  let authority: CertificateLine
  let client: CertificateLine
  let isAuthorityNew: Bool
}

private struct CertificateLine: Encodable {
  let file: String
  let names: [String]
  let isAuthority: Bool
  let begins: String
  let ends: String
  let state: String
  let sha256: String

  private enum Key: CodingKey { case file, names, isAuthority, begins, ends, state, sha256 }

  private let span: String

  init(_ summary: CertificateSummary, _ file: URL) {
    self.file = file.path
    names = summary.names
    isAuthority = summary.isAuthority
    begins = Self.text(summary.begins)
    ends = Self.text(summary.ends)
    sha256 = summary.fingerprint
    let now = Date()
    let left = summary.ends.timeIntervalSince(now)
    state =
      left <= 0
      ? "ended"
      : summary.begins > now
        ? "not-begun" : left < CertificateFolder.warningSeconds ? "ends-soon" : "valid"
    let span = JSONText.span(Int64(left * 1000))
    self.span = left <= 0 ? "\(span) ago" : "in \(span)"
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(file, forKey: .file)
    try container.encode(names, forKey: .names)
    try container.encode(isAuthority, forKey: .isAuthority)
    try container.encode(begins, forKey: .begins)
    try container.encode(ends, forKey: .ends)
    try container.encode(state, forKey: .state)
    try container.encode(sha256, forKey: .sha256)
  }

  func lines(_ kind: String) -> [String] {
    let note =
      switch state {
      case "ended": ", which is past: clients refuse it"
      case "not-begun": "; it begins only \(begins): set the clock"
      case "ends-soon": ": make a new one soon"
      default: ""
      }
    return [
      "\(kind): \(file)", "  names    \(names.joined(separator: ", "))",
      "  ends     \(ends), \(span)\(note)", "  SHA-256  \(sha256)",
    ].map(TerminalText.line)
  }

  private static func text(_ date: Date) -> String {
    JSONText.time(Int64(date.timeIntervalSince1970 * 1000))
  }
}
