import DriftlessServer
import Foundation
import ProgramStart

/// What `serve` is told, by the command line, the environment or a file, and where each is said.
struct ServerSettings {
  struct Said<Value> {
    let value: Value
    /// `--listen`, `DRIFTLESS_SERVER_LISTEN`, or `/etc/driftless-server/server.json:3`.
    let at: String
  }

  var data: Said<URL>?
  var postgres: Said<String>?
  var listen: Said<String>?
  var tlsCertificate: Said<URL>?
  var tlsKey: Said<URL>?
  var tlsClientCA: Said<URL>?
  var allowPlaintext: Said<Bool>?
  var logLevel: Said<String>?
  var limits: [String: Said<Int>] = [:]

  /// What a file may have.
  static let declared = [
    SettingDeclaration("data", .path, "The server's data folder."),
    SettingDeclaration(
      "postgres", .text, rival: "data",
      "In place of a data folder, the PostgreSQL database, as libpq has it: host=db dbname=driftless."
    ),
    SettingDeclaration(
      "listen", .text, standard: .text("127.0.0.1:8080"),
      "HOST:PORT to listen on; port 0 takes a free one."),
    SettingDeclaration(
      "tlsCertificate", .path, "PEM file with the certificate chain: serve TLS 1.2 or newer."),
    SettingDeclaration("tlsKey", .path, "PEM file with the certificate's private key."),
    SettingDeclaration(
      "tlsClientCA", .path,
      "PEM file with authorities: clients have to show a certificate of one of them."),
    SettingDeclaration(
      "allowPlaintext", .flag, standard: .flag(false),
      "Listen off loopback without TLS, say behind a proxy that speaks TLS."),
    .logLevel("The least level that is logged."),
    SettingDeclaration("limits", .object(limits), "Bounds in place of the usual ones, by name."),
  ]

  /// What a file of limits may have, or the limits of a configuration.
  private static let limits = ServerLimits.names.map { name in
    SettingDeclaration(
      name, .whole(ServerLimits.range(of: name)),
      standard: ServerLimits()[name].map { .number(Double($0)) },
      ServerLimits.meanings[name] ?? "")
  }

  /// The names in a file. A flag has them with hyphens, the environment in capitals.
  static let names = declared.map(\.name)

  init() {}

  /// These settings, and of another source what is not said here.
  func over(_ other: ServerSettings) -> ServerSettings {
    var all = self
    // Where zones are is one question with two answers.
    if data == nil, postgres == nil { (all.data, all.postgres) = (other.data, other.postgres) }
    all.listen = listen ?? other.listen
    all.tlsCertificate = tlsCertificate ?? other.tlsCertificate
    all.tlsKey = tlsKey ?? other.tlsKey
    all.tlsClientCA = tlsClientCA ?? other.tlsClientCA
    all.allowPlaintext = allowPlaintext ?? other.allowPlaintext
    all.logLevel = logLevel ?? other.logLevel
    all.limits = other.limits.merging(limits) { $1 }
    return all
  }

  /// How to serve by them.
  ///
  /// - Throws: `ServerError`.
  func options() throws -> ServeOptions {
    var options = ServeOptions()
    if let listen { try options.listen(on: listen.value) }
    options.tlsCertificate = tlsCertificate?.value
    options.tlsKey = tlsKey?.value
    options.tlsClientCA = tlsClientCA?.value
    options.allowsPlaintext = allowPlaintext?.value ?? false
    if let data { options.takeCertificate(ofData: data.value) }
    for (name, limit) in limits { try options.limits.set(name, to: limit.value) }
    options.trimsMemory = ProgramHeap.trim
    return options
  }
}

// MARK: - A file

extension ServerSettings {
  /// - Parameter complaints: gets all that is wrong with the file.
  init(file: String, complaints: inout [String]) {
    let reader = SettingsReader()
    let node: SettingsNode
    do throws(SettingsComplaint) {
      node = try SettingsNode.read(file)
    } catch {
      complaints.append(error.text(in: file))
      return
    }
    let folder = URL(fileURLWithPath: file).deletingLastPathComponent()
    let root = reader.object(node, "the file", Self.declared, isFile: true)
    func said<Value>(_ name: String, _ value: Value?) -> Said<Value>? {
      value.map { Said(value: $0, at: "\(file):\(root.line(of: name))") }
    }
    data = said("data", root.path("data", in: folder))
    postgres = said("postgres", root.text("postgres"))
    listen = said("listen", root.text("listen"))
    if let listen, let wrong = Self.wrongAddress(listen.value) {
      reader.complain(root.line(of: "listen"), "listen", wrong)
    }
    tlsCertificate = said("tlsCertificate", root.path("tlsCertificate", in: folder))
    tlsKey = said("tlsKey", root.path("tlsKey", in: folder))
    tlsClientCA = said("tlsClientCA", root.path("tlsClientCA", in: folder))
    allowPlaintext = said("allowPlaintext", root.flag("allowPlaintext"))
    logLevel = said("logLevel", root.choice("logLevel"))
    if data != nil, postgres != nil {
      reader.complain(
        root.line(of: "postgres"), "postgres", "stands beside data: say one of the two")
    }
    if let limits = root.node("limits") {
      self.limits = Self.limits(of: limits, "\"limits\"", file: file, reader)
    }
    complaints += reader.complaints.sorted { ($0.line ?? 0) < ($1.line ?? 0) }
      .map { $0.text(in: file) }
  }

  /// The limits of a file that has nothing else.
  static func limits(ofFile file: String, complaints: inout [String]) -> [String: Said<Int>] {
    let reader = SettingsReader()
    do throws(SettingsComplaint) {
      let limits = limits(of: try SettingsNode.read(file), "the file", file: file, reader)
      complaints += reader.complaints.map { $0.text(in: file) }
      return limits
    } catch {
      complaints.append(error.text(in: file))
      return [:]
    }
  }

  private static func limits(
    of node: SettingsNode, _ what: String, file: String, _ reader: SettingsReader
  ) -> [String: Said<Int>] {
    let object = reader.object(node, what, limits, isFile: what == "the file")
    return object.names.reduce(into: [:]) { limits, name in
      limits[name] = object.whole(name)
        .map { Said(value: $0, at: "\(file):\(object.line(of: name))") }
    }
  }

  private static func wrongAddress(_ text: String) -> String? {
    var options = ServeOptions()
    do {
      try options.listen(on: text)
      return nil
    } catch {
      return "is \"\(text)\", and HOST:PORT is asked for, as in 127.0.0.1:8080"
    }
  }
}

// MARK: - The command line and the environment

extension ServerSettings {
  /// - Parameters:
  ///   - texts: what is said of each name.
  ///   - at: how a name is called there.
  ///   - complaints: gets all that is wrong.
  init(texts: [String: String], at: (String) -> String, complaints: inout [String]) {
    func said<Value>(_ name: String, _ read: (String) -> Value?) -> Said<Value>? {
      texts[name].flatMap { read($0).map { Said(value: $0, at: at(name)) } }
    }
    data = said("data") { URL(fileURLWithPath: $0, isDirectory: true) }
    postgres = said("postgres") { $0 }
    listen = said("listen") { $0 }
    if let listen, let wrong = Self.wrongAddress(listen.value) {
      complaints.append("\(listen.at) \(wrong)")
    }
    tlsCertificate = said("tlsCertificate") { URL(fileURLWithPath: $0) }
    tlsKey = said("tlsKey") { URL(fileURLWithPath: $0) }
    tlsClientCA = said("tlsClientCA") { URL(fileURLWithPath: $0) }
    let words = ["true": true, "yes": true, "1": true, "false": false, "no": false, "0": false]
    allowPlaintext = said("allowPlaintext") { words[$0.lowercased()] }
    if let text = texts["allowPlaintext"], allowPlaintext == nil {
      complaints.append("\(at("allowPlaintext")) is \"\(text)\", and true or false is asked for")
    }
    logLevel = said("logLevel") { $0 }
    if let logLevel, !SettingsObject.logLevels.contains(logLevel.value) {
      complaints.append(
        "\(logLevel.at) is \"\(logLevel.value)\", and one of "
          + "\(SettingsObject.logLevels.joined(separator: ", ")) is asked for")
    }
    if data != nil, postgres != nil {
      complaints.append("\(at("data")) and \(at("postgres")) are two answers: say one of the two")
    }
    if let file = texts["limits"] {
      limits = Self.limits(ofFile: file, complaints: &complaints)
    }
  }

  private static let prefix = "DRIFTLESS_SERVER_"

  /// `DRIFTLESS_SERVER_TLS_KEY` of `tlsKey`.
  static func variable(_ name: String) -> String {
    prefix + words(of: name).map { $0.uppercased() }.joined(separator: "_")
  }

  /// `--tls-key` of `tlsKey`.
  static func flag(_ name: String) -> String {
    "--" + words(of: name).map { $0.lowercased() }.joined(separator: "-")
  }

  /// `tls`, `Client` and `CA` of `tlsClientCA`: capitals that follow each other are one word.
  private static func words(of name: String) -> [String] {
    var words: [String] = []
    var isAfterCapital = true
    for letter in name {
      if words.isEmpty || letter.isUppercase && !isAfterCapital { words.append("") }
      words[words.count - 1].append(letter)
      isAfterCapital = letter.isUppercase
    }
    return words
  }

  /// Variables that look like the server's own, and are none: perhaps somebody mistyped one.
  static func unknownVariables(_ environment: [String: String]) -> [String] {
    // The unit's command line has the first.
    let known = ["DRIFTLESS_SERVER_OPTIONS", variable("config")] + names.map(variable)
    return environment.keys.filter { $0.hasPrefix(prefix) && !known.contains($0) }.sorted()
      .map { name in
        let near = SettingsReader.nearest(to: name, of: known).map { "; did you mean \($0)?" }
        return "\(name) is no variable of the server\(near ?? "")"
      }
  }
}
