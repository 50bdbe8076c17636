import ArgumentParser
import Driftless
import DriftlessHTTP
import DriftlessProtocol
import DriftlessSync
import Foundation
import SyncDaemon

struct EnrollCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "enroll", abstract: "Make a store a replica of a zone.",
    discussion: """
      The token comes from --token-file (- for standard input), from the variable SYNCCTL_TOKEN, \
      from beside the store, where that was enrolled before, or from a prompt; never \
      from an argument, where others could see it. It is kept beside the store, readable by its \
      owner only. In place of a token the operator may have given a code for one use: it comes from --code-file \
      (- for standard input), the variable SYNCCTL_CODE, the prompt, or --code, which others of this host see \
      while the command runs; and this host makes its token itself. What was stopped on the way \
      goes on when the same command is said again. Enrolling again with the same zone replaces the token and the server's address, and the \
      zone's name where it was renamed; --server and --zone may be left out then, where they are the same.
      A server with a private authority needs --ca once: every later command and syncd take the \
      certificates that are kept beside the store then. So it is with --client-certificate, for a server that \
      lets in who shows a certificate of its own.
      A store whose model has rules of its application (custom:NAME) is synced by that application, \
      and enrolled by it: this program has none of them. With --without-rules it syncs the store \
      all the same, and where it meets a conflict the later edit stands; enrolling again with --with-rules leaves the \
      store to its application again.
      A store whose record of its zone is damaged (syncctl store check) goes on with --anew: stop \
      what syncs it, and keep a copy.

      Example: syncctl enroll --store shop.sqlite --server https://sync.example.org --zone shop --token-file token
      """)

  @OptionGroup var target: StoreArguments
  @OptionGroup var model: GivenModelArguments
  @Option(
    name: .long,
    help: """
      The server's address: https://HOST or http://127.0.0.1:PORT; if not given, that of the store's zone.
      """)
  var server: String?
  @Option(
    name: .customLong("zone"),
    help: "The zone's name; if not given, that of the zone in which the store is.")
  var namedZone: String?
  @Option(
    name: .long, help: "A file that holds the token alone, or - for standard input.",
    completion: .file())
  var tokenFile: String?
  @Option(
    name: .long,
    help: """
      A code for one use, in place of a token: ABCDE-FGHJK-MNPQR-STVWX. Others of this host see it \
      while the command runs: --code-file - does not show it.
      """)
  var code: String?
  @Option(
    name: .long, help: "A file that holds the code alone, or - for standard input.",
    completion: .file())
  var codeFile: String?
  @Option(
    name: .long,
    help: """
      A file of certificates (PEM) to trust for this store in place of the system's authorities: \
      the server's authority.pem. The word system goes back to those.
      """, completion: .file())
  var ca: String?
  @Option(
    name: .long,
    help: """
      The certificate (PEM) by which this host shows itself to a server that asks for one, with its key if \
      --client-key names no other file. The word none shows none from then on.
      """, completion: .file())
  var clientCertificate: String?
  @Option(
    name: .long, help: "The private key (PEM) of --client-certificate, where it lies apart.",
    completion: .file())
  var clientKey: String?
  @Option(
    name: .long,
    help: """
      A name by which people know this replica, in the server's lists and in status; by default, or given as an \
      empty text, the host's.
      """)
  var name: String?
  @Flag(name: .long, help: "Let the token go over plain HTTP to another host.")
  var allowPlaintext = false
  @Option(
    name: .long,
    help: """
      What every program does when the server was put back or replaced: automatic (come back by \
      itself), or ask (wait for syncctl sync --reconcile).
      """)
  var onDiverged: OnDiverged?
  @Flag(
    name: .long,
    help:
      "Let programs that lack the application's rules (custom:NAME) sync the store: the later edit stands there."
  )
  var withoutRules = false
  @Flag(
    name: .long,
    help:
      "Take --without-rules back: only programs with the application's rules sync the store.")
  var withRules = false
  @Option(
    name: .long,
    help: """
      Which large values are fetched when somebody asks for them (syncctl values), by every program \
      that is told nothing else: first-use (all that can wait), as-declared (as the model says, \
      driftless.fetch), or eager (none).
      """)
  var values: Values?
  @Flag(
    name: .long,
    help: "Forget what the store knows of its zone, and offer what it holds as a new replica.")
  var anew = false
  @OptionGroup var output: OutputOptions

  func validate() throws {
    if let name, !name.isEmpty, ReplicaName(name) == nil {
      throw ValidationError(
        "--name is one line of at most \(ReplicaName.bytesMax) bytes.")
    }
    guard !withRules || !withoutRules else {
      throw ValidationError("Give one of --with-rules and --without-rules.")
    }
    guard clientKey == nil || clientCertificate != nil else {
      throw ValidationError("--client-key goes with --client-certificate.")
    }
    guard [tokenFile, code, codeFile].compactMap(\.self).count > 1 else { return }
    throw ValidationError("Give one of --token-file, --code and --code-file.")
  }

  enum Values: String, ExpressibleByArgument, CaseIterable {
    case firstUse = "first-use"
    case asDeclared = "as-declared"
    case eager

    var fetching: ValueFetching {
      switch self {
      case .firstUse: .firstUse
      case .asDeclared: .asDeclared
      case .eager: .eager
      }
    }
  }

  enum OnDiverged: String, ExpressibleByArgument, CaseIterable {
    case automatic, ask
  }

  func perform() async throws {
    let named = try server.map { try Self.address($0, zone: namedZone ?? "NAME") }
    if let named { try ServerAddress.check(named, allowsPlaintext: allowPlaintext) }
    let store = try model.open(target.url, output)
    let zone = try namedZone ?? knownZone(of: store)
    let address = try named ?? knownServer(of: store, zone: zone)
    // A record that is damaged may not be read, and is forgotten.
    if !anew { _ = try SyncEngine.status(of: store) }
    try SyncEngine.checkLayout(of: store)
    // Who takes the leave back needs none of the rules for it.
    if !withoutRules, !withRules { try StoreAccess.requireRules(of: store, at: target.url) }
    let authorities = try trusted()
    let client = try shown()
    // The token of one server is no other's.
    let home = try? SyncEngine.knownHome(of: store)
    let isSame = home.map { $0.server.isSameServer(as: address) } ?? false
    let given = try given(besideStore: isSame, otherHome: isSame ? nil : home?.server)
    var enrolment: EnrolmentFile?
    if case .code(let code) = given {
      // It is not used up for a store that cannot be enrolled.
      try SyncEngine.checkTakesCode(store, zone: zone)
      enrolment = try EnrolmentFile(code: code, server: address, zone: zone, store: target.url)
    }
    let token = enrolment?.token.text ?? given.text
    var options = TransportOptions()
    options.allowsPlaintext = allowPlaintext
    options.replicaName =
      try name.map { ReplicaName($0) } ?? SyncEngine.name(of: store) ?? ReplicaName.ofHost
    if let file = authorities.file { options.certificateAuthorityFile = file.path }
    options.clientCertificateFile = client.file?.path
    options.clientKeyFile = client.key?.path
    let transport = try CurlTransport(
      server: address, zone: zone, token: token, options: options)
    let info = try await WaitNotice(output: output).during({ transport.awaited }) {
      if let enrolment, !enrolment.isSettled { try await transport.enroll(code: given.text) }
      return try await transport.zoneInfo()
    }
    let answered = Date()
    try SyncEngine.checkZone(of: store, named: zone, info)
    if home == nil { try noteUnprepared(store) }
    let leavesZone = try !anew && SyncEngine.isOfAnotherZone(store, than: info)
    // A store that is refused here stays with its server of before, whose token is nowhere else.
    let former = home == nil ? nil : FormerAccess(ofStore: target.url)
    do {
      try authorities.keep(target.url)
      try client.keep(target.url)
      try TokenFile.write(token, to: TokenFile.url(forStore: target.url))
      try SyncEngine.enroll(
        store: store, server: address, zone: zone, info: info, answered: answered,
        anew: anew)
    } catch {
      do throws(Failure) { try former?.putBack() } catch { output.note("\(error)") }
      throw error
    }
    if withoutRules || withRules {
      try SyncEngine.setSyncsWithoutRules(withoutRules, of: store)
    }
    if let name { try SyncEngine.setName(ReplicaName(name), of: store) }
    if let enrolment, !enrolment.isSettled {
      try enrolment.settle()
      output.note(
        "\(EnrolmentFile.path(forStore: target.url)) stays beside the store, so that this command can be said again: it has "
          + "a digest of the code and the token's ID, which open nothing; syncctl unenroll --store \(target.store.shellWord) "
          + "removes it"
      )
    }
    if let onDiverged {
      try SyncEngine.setOnDiverged(onDiverged == .ask ? .ask : .automatic, of: store)
    }
    if let values { try SyncEngine.setValueFetching(values.fetching, of: store) }
    if leavesZone {
      output.note(
        "this zone \(zone) is another one than the one of that name in which the store was: the next sync offers it all that the "
          + "store has. Where that is not meant, before it: syncctl unenroll --store \(target.store.shellWord)"
      )
    }
    // It looks where the store is enrolled by now.
    await DaemonClient.wake(store: target.url)
    let status = try SyncEngine.status(of: store)
    try output.put(
      try StatusReport(of: store, at: target.url, daemon: nil),
      line: "enrolled with zone \(zone) at \(address.absoluteString), as replica "
        + (status.replica?.uuidString.lowercased() ?? "unknown")
        + (status.zoneWasReplaced ? "; \(StatusReport.replacedText)" : ""))
  }

  /// Says by what the objects of a file of Core Data's are the same on another host, and what would be there once more.
  private func noteUnprepared(_ store: PersistentStore) throws {
    let count = try SyncEngine.unpreparedObjects(of: store)
    if count > 0 {
      output.note(
        "\(count) object\(count == 1 ? "" : "s") without unique keys \(count == 1 ? "is" : "are") this store's own: Core Data "
          + "wrote the file, and an earlier version of Driftless opened it first. If the same file lies on other hosts, do not sync yet: run "
          + "syncctl store adopt \(target.store.shellWord), and enroll copies of it there; else each host adds the objects once more."
      )
    } else if let digest = try store.contentDigest() {
      output.note(
        "Core Data wrote the file: its objects are the same as those of every copy with the content \(digest.prefix(8)), "
          + "as syncctl store info \(target.store.shellWord) shows it. A copy on another host that was written to before it came here shows another, and adds "
          + "its objects without unique keys once more."
      )
    }
  }

  /// The code or the token that this enrols by.
  ///
  /// - Parameters:
  ///   - isBeside: whether a token beside the store would do.
  ///   - other: the server that it is for, where that is another one.
  private func given(
    besideStore isBeside: Bool, otherHome other: URL?
  ) throws(Failure) -> TokenSource.Given {
    if tokenFile == nil, let code = try CodeSource(code: code, file: codeFile).read() {
      return .code(code)
    }
    return try TokenSource(
      file: tokenFile, store: isBeside ? target.url : nil,
      withheld: other.map { (TokenFile.url(forStore: target.url), $0) }
    ).given()
  }

  private static func address(_ text: String, zone: String) throws(Failure) -> URL {
    guard let address = URL(string: text) else {
      throw Failure(
        .usage, code: "bad-configuration", "\(text) is no server address.",
        suggestion: "give it as https://HOST or http://127.0.0.1:PORT")
    }
    try checkPath(address, zone: zone)
    return address
  }

  /// The server that a store is enrolled with already.
  private func knownServer(of store: PersistentStore, zone: String) throws -> URL {
    guard let server = try? SyncEngine.knownHome(of: store)?.server else {
      throw Failure(
        .usage, code: "usage", "\(target.store) is enrolled with no server: --server is missing.",
        suggestion:
          "syncctl enroll --store \(target.store.shellWord) --server URL --zone \(zone.shellWord)")
    }
    try ServerAddress.check(server, allowsPlaintext: allowPlaintext)
    return server
  }

  /// The name of the zone in which a store is already.
  private func knownZone(of store: PersistentStore) throws -> String {
    if let zone = try? SyncEngine.knownHome(of: store)?.zone { return zone }
    throw Failure(
      .usage, code: "usage", "\(target.store) is enrolled with no zone: --zone is missing.",
      suggestion: "syncctl enroll --store \(target.store.shellWord) "
        + "--server \(server?.shellWord ?? "URL") --zone NAME")
  }

  /// The zone's own address is what one has at hand, and not what is asked for.
  private static func checkPath(_ address: URL, zone: String) throws(Failure) {
    guard let api = address.path.range(of: "/v1/zones") else { return }
    let before = address.path[..<api.lowerBound]
    let host = address.absoluteString.components(separatedBy: address.path)[0]
    throw Failure(
      .usage, code: "bad-configuration",
      "\(address.absoluteString) is the address of a zone, and not the server's.",
      suggestion: "give scheme, host and port alone, and the zone's name apart: "
        + "--server \("\(host)\(before)".shellWord) --zone \(zone.shellWord)")
  }

  /// By what this host shows itself with the first request, and how that is kept.
  private func shown() throws -> (file: URL?, key: URL?, keep: (URL) throws -> Void) {
    guard let clientCertificate else {
      let kept = ClientCertificateFile.kept(forStore: target.url)
      if let kept { _ = try ClientCertificateFile.read(kept) }
      return (kept, nil, { _ in })
    }
    guard clientCertificate != ClientCertificateFile.noneWord else {
      return (nil, nil, { try ClientCertificateFile.remove(forStore: $0) })
    }
    let file = URL(fileURLWithPath: clientCertificate)
    let key = clientKey.map { URL(fileURLWithPath: $0) }
    let text = try ClientCertificateFile.read(file, key: key)
    return (file, key, { try ClientCertificateFile.write(text, forStore: $0) })
  }

  /// What is trusted for the first request, and how that is kept.
  private func trusted() throws -> (file: URL?, keep: (URL) throws -> Void) {
    guard let ca else {
      let kept = AuthorityFile.kept(forStore: target.url)
      if let kept { _ = try AuthorityFile.read(kept) }
      return (kept, { _ in })
    }
    guard ca != AuthorityFile.systemWord else {
      return (nil, { try AuthorityFile.remove(forStore: $0) })
    }
    let file = URL(fileURLWithPath: ca)
    let certificates = try AuthorityFile.read(file)
    return (file, { try AuthorityFile.write(certificates, forStore: $0) })
  }
}
