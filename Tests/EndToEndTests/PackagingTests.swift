import Foundation
import TestSupport
import Testing

/// What a package has beside a program: its version, its manual page, its completions, its unit.
struct PackagingTests {
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  private static let programs = ["syncctl", "syncd", "driftless-server"]

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  /// Runs a script of the repository and gives what it printed.
  private static func script(
    _ path: String, _ arguments: [String], environment: [String: String] = [:]
  ) throws -> String {
    let process = Process()
    process.executableURL = root.appendingPathComponent(path)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(path) \(arguments)")
    return String(decoding: data, as: UTF8.self)
  }

  // MARK: Versions

  @Test("Every program and command says one version, that of the packages", arguments: programs)
  func version(program: String) throws {
    let version = try Self.script("Scripts/packaging/version", [])
      .trimmingCharacters(in: .newlines)
    let below = ["syncctl": [["sync"]], "driftless-server": [["serve"], ["zone", "create"]]]
    for command in [[]] + (below[program] ?? []) {
      let outcome = try Programs.run(program, command + ["--version"])
      #expect(outcome.status == 0)
      #expect(outcome.output == "\(program) \(version)\n", "\(command): \(outcome.errors)")
    }
  }

  @Test("The changes begin with the programs' version")
  func changes() throws {
    let heading = try Self.text("CHANGELOG.md").split(separator: "\n").first {
      $0.hasPrefix("## ")
    }
    let words = try #require(heading).dropFirst(3).split(separator: ",")
    let version = try Self.script("Scripts/packaging/version", [])
      .trimmingCharacters(in: .newlines)
    #expect(version == (words.count > 1 ? "\(words[0])-dev" : "\(words[0])"))
    // A version on the way comes before the version itself.
    let packages = try Self.script("Scripts/packaging/version", ["--deb"])
    #expect(packages == version.replacing("-", with: "~") + "\n")
  }

  // MARK: Manual pages

  /// A command as the program itself describes it for other programs.
  private struct Command: Decodable {
    struct Argument: Decodable {
      struct Name: Decodable {
        var kind: String
        var name: String
      }
      var kind: String
      var names: [Name]?
      var valueName: String?
      var shouldDisplay: Bool
    }
    var commandName: String
    var abstract: String?
    var arguments: [Argument]?
    var subcommands: [Command]?
    var shouldDisplay: Bool
  }

  private struct Description: Decodable { var command: Command }

  private static func command(of program: String) throws -> Command {
    let outcome = try Programs.run(program, ["--experimental-dump-help"])
    return try JSONDecoder().decode(Description.self, from: Data(outcome.output.utf8)).command
  }

  /// The manual page of a program, as it is made of its help and what is written of the rest.
  private static func page(of program: String) throws -> String {
    let (section, folder) =
      switch program {
      case "syncctl": ("1", "Client")
      case "syncd": ("8", "Client")
      default: ("8", "Server")
      }
    let rest = root.appendingPathComponent("\(folder)/Packaging/\(program).man")
    return try script(
      "Scripts/packaging/manual", [Programs.url(program).path, section, rest.path])
  }

  /// The texts of a page by their headings. Of a command's heading, that is its words.
  private static func sections(of page: String) -> [String: String] {
    var sections: [String: String] = [:]
    var heading = ""
    for line in page.split(separator: "\n") {
      if line.hasPrefix(".SH ") || line.hasPrefix(".SS ") {
        heading = String(line.dropFirst(4).replacing("\"", with: ""))
      } else {
        sections[heading, default: ""] += line.replacing("\\-", with: "-") + "\n"
      }
    }
    return sections
  }

  private static func check(_ command: Command, below path: [String], in page: [String: String]) {
    let words = path + [command.commandName]
    let name = words.joined(separator: " ")
    let section =
      path.isEmpty
      ? page.filter { ["NAME", "ARGUMENTS", "OPTIONS"].contains($0.key) }.values.joined()
      : page[name] ?? ""
    #expect(!section.isEmpty, "the page has nothing of \(name)")
    let abstract = (command.abstract ?? "").replacing(/\.$/, with: "")
    #expect(section.contains(abstract), "\(name): \(abstract)")
    for argument in command.arguments ?? [] where argument.shouldDisplay {
      for option in argument.names ?? [] where !["h", "help", "version"].contains(option.name) {
        let dashes = option.kind == "short" ? "-" : "--"
        let entry = section.split(separator: "\n").contains {
          $0.hasPrefix(".B ") && $0.contains("\(dashes)\(option.name)")
        }
        #expect(entry, "\(name) \(dashes)\(option.name)")
      }
      if argument.kind == "positional", let value = argument.valueName {
        #expect(section.contains("\n.B <\(value)>"), "\(name) <\(value)>")
      }
    }
    for below in command.subcommands ?? [] where below.shouldDisplay && below.commandName != "help"
    {
      check(below, below: words, in: page)
    }
  }

  @Test(
    "A manual page has every command and option of its program, and is well formed",
    arguments: ["syncctl", "syncd", "driftless-server"])
  func manual(program: String) throws {
    let page = try Self.page(of: program)
    let sections = Self.sections(of: page)
    Self.check(try Self.command(of: program), below: [], in: sections)
    #expect(sections["OPTIONS"]?.contains(".B --version") == true)
    #expect(sections["FILES"] != nil && sections["SEE ALSO"] != nil)
    // A line of text that begins with a point would be taken for a request.
    let requests = Set([
      "TH", "SH", "SS", "PP", "TP", "B", "I", "BR", "IB", "IR", "BI", "RI", "nf", "fi",
    ])
    for line in page.split(separator: "\n") where line.hasPrefix(".") && !line.hasPrefix(".\\\"") {
      let request = line.dropFirst().prefix { $0 != " " }
      #expect(requests.contains(String(request)), "\(line)")
    }
  }

  /// A line of a page as a reader sees it.
  private static func shown(_ line: Substring) -> String {
    var text = String(line)
    for request in [".B ", ".I "] where text.hasPrefix(request) {
      text.removeFirst(request.count)
    }
    if text.hasPrefix("\\&") { text.removeFirst(2) }
    return text.replacing("\\-", with: "-").replacing("\\e", with: "\\")
      .trimmingCharacters(in: .whitespaces)
  }

  /// The words of each command of a program, of those below others too.
  private static func paths(_ command: Command, below path: [String] = []) -> [[String]] {
    let below = (command.subcommands ?? []).filter { $0.shouldDisplay && $0.commandName != "help" }
    return [path] + below.flatMap { paths($0, below: path + [$0.commandName]) }
  }

  @Test(
    "What the help of each command says is on its program's page",
    arguments: ["syncctl", "syncd", "driftless-server"])
  func helpOnPage(program: String) throws {
    let page = try Self.page(of: program)
    let lines = Set(page.split(separator: "\n").map(Self.shown))
    let paths = Self.paths(try Self.command(of: program))
    #expect(paths.count == 1 || paths.count > 20)
    for words in paths {
      let help = try Programs.run(
        program, words.isEmpty ? ["--help"] : ["help"] + words,
        environment: ["COLUMNS": "100000"])
      #expect(help.status == 0, "\(words)")
      var heading = ""
      for line in help.output.split(separator: "\n") {
        if line.wholeMatch(of: /[A-Z ]+:/) != nil { heading = String(line) }
        var text = line.trimmingCharacters(in: .whitespaces)
        for part in ["OVERVIEW: ", "USAGE: "] where text.hasPrefix(part) {
          text.removeFirst(part.count)
        }
        // A command's own part has the abstracts; -h and --version are said once.
        if heading == "SUBCOMMANDS:" || line == heading || text.contains("--help")
          || text.hasPrefix("--version") || text.contains("abstract")
        {
          continue
        }
        // A label stands beside what it means, which begins in the 27th column.
        let parts =
          line.hasPrefix("  ") && line.count > 26
          ? [line.prefix(26), line.dropFirst(26)].map {
            $0.trimmingCharacters(in: .whitespaces)
          } : [text]
        let isThere =
          lines.contains(text) || parts.allSatisfy { lines.contains($0) }
          || words.isEmpty
            && page.contains(text.replacing("-", with: "\\-").replacing(/\.$/, with: ""))
        #expect(isThere, "\(program) \(words.joined(separator: " ")): \(text)")
      }
    }
  }

  @Test("The pages of the daemon have the exit codes of its help, and no others")
  func exitCodes() throws {
    let help = try Programs.run("syncd", ["--help"]).output
    let codes = Set(help.matches(of: /(?m)^ *(\d+)  \w/).compactMap { Int($0.output.1) })
    #expect(codes.count > 5)
    let status = Self.sections(of: try Self.text("Client/Packaging/syncd.man"))["EXIT STATUS"] ?? ""
    let onPage = status.matches(of: /(?:^|, |\n)(\d+) (?:when|for|where)/).compactMap {
      Int($0.output.1)
    }
    #expect(Set(onPage) == codes, "\(onPage)")
    let errors = try Self.text("Sources/Driftless/Driftless.docc/Errors.md")
    let table = errors.components(separatedBy: "## Exit codes").last ?? ""
    let inTable = table.matches(of: /(?m)^\| (\d+) \|/).compactMap { Int($0.output.1) }
    #expect(codes.subtracting(inTable).isEmpty, "\(inTable)")
  }

  @Test(
    "The page of syncctl has the variables that it reads, and the files that lie beside a store")
  func surroundings() throws {
    var names: Set<String> = []
    for folder in ["Client", "Sources/Driftless", "Sources/DriftlessSync", "Sources/ProgramStart"] {
      let url = Self.root.appendingPathComponent(folder)
      for case let file as URL in try #require(
        FileManager.default.enumerator(at: url, includingPropertiesForKeys: nil))
      where file.pathExtension == "swift" {
        let source = try String(contentsOf: file, encoding: .utf8)
        for match in source.matches(of: /"-driftless-[a-z]+"|SYNCCTL_[A-Z]+|NO_COLOR/) {
          names.insert(String(match.output).replacing("\"", with: ""))
        }
      }
    }
    #expect(names.isSuperset(of: ["-driftless-token", "SYNCCTL_TOKEN", "NO_COLOR"]))
    let page = try Self.text("Client/Packaging/syncctl.man").replacing("\\-", with: "-")
    for name in names.sorted() { #expect(page.contains(name), "\(name)") }
  }

  /// The names that a configuration file may have, as the daemon itself lists them for one that it does not know.
  private func settings(_ configuration: String) throws -> Set<String> {
    let directory = try TemporaryDirectory()
    let file = directory.file("syncd.json")
    try Data(configuration.utf8).write(to: file)
    let outcome = try Programs.run("syncd", ["--config", file.path, "--check"])
    #expect(outcome.status == 65)
    let line = outcome.errors.components(separatedBy: "known are ").last ?? ""
    let names = line.prefix { $0 != "." && $0 != "\n" }
    return Set(names.components(separatedBy: ", "))
  }

  @Test("The page of the daemon's configuration has every setting, and its example is one")
  func configurationPage() throws {
    let page = Self.sections(of: try Self.text("Client/Packaging/syncd.json.5.in"))
    for (heading, configuration) in [
      ("SETTINGS", #"{"nothing":1}"#), ("STORES", #"{"stores":[{"nothing":1}]}"#),
    ] {
      let names = (page[heading] ?? "").components(separatedBy: ".TP\n.B ").dropFirst()
        .map { String($0.prefix { $0 != "\n" }) }
      #expect(names.count >= 2)
      #expect(try settings(configuration) == Set(names), "\(heading)")
    }
    let example = Self.root.appendingPathComponent("Client/Packaging/syncd.json.example")
    let outcome = try Programs.run("syncd", ["--config", example.path, "--check"])
    #expect(outcome.output.contains("2 stores"), "\(outcome.errors)")
  }

  @Test("The page of the server has every setting of its configuration, and the example is one")
  func serverConfiguration() throws {
    let page = Self.sections(of: try Self.text("Server/Packaging/driftless-server.man"))
    let names = (page["CONFIGURATION"] ?? "").components(separatedBy: ".TP\n.B ").dropFirst()
      .map { String($0.prefix { $0 != "\n" }) }
    let directory = try TemporaryDirectory()
    let file = directory.file("server.json")
    func check(_ text: String) throws -> Outcome {
      try Data(text.utf8).write(to: file)
      return try Programs.run("driftless-server", ["serve", "--config", file.path, "--check"])
    }
    let known = try check(#"{"nothing": 1}"#).errors.components(separatedBy: "known are ").last
    #expect(
      known?.trimmingCharacters(in: .newlines).components(separatedBy: ", ") == names.sorted())
    for path in ["server.json.example", "server.json"] {
      let outcome = try check(try Self.text("Server/Packaging/\(path)"))
      // The folder is that of an installed server.
      #expect(!outcome.errors.contains("is no setting"), "\(outcome)")
      #expect(outcome.output.contains("data\t/var/lib/driftless-server\t"), "\(outcome)")
    }
  }

  // MARK: Completions and installation

  @Test(
    "make install puts everything below DESTDIR, with the paths of PREFIX, and make uninstall takes it away"
  )
  func installation() throws {
    let directory = try TemporaryDirectory()
    let bystander = directory.file("opt/bin/bystander")
    try FileManager.default.createDirectory(
      at: bystander.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data().write(to: bystander)
    let environment = [
      "PREFIX": "/opt", "DESTDIR": directory.url.path, "BIN": Programs.folder.path,
    ]
    _ = try Self.script("Scripts/packaging/install", [], environment: environment)
    let installed = try FileManager.default.subpathsOfDirectory(atPath: directory.url.path)
    for program in Self.programs {
      for path in [
        "bin/\(program)", "share/bash-completion/completions/\(program)",
        "share/zsh/site-functions/_\(program)", "share/fish/vendor_completions.d/\(program).fish",
      ] {
        #expect(installed.contains("opt/\(path)"), "\(path)")
      }
      let file = directory.file("opt/share/bash-completion/completions/\(program)")
      let script = try String(contentsOf: file, encoding: .utf8)
      #expect(script.contains("complete ") && script.contains("--version"), "\(program)")
    }
    let unit = directory.file("opt/lib/systemd/system/syncd.service")
    let text = try String(contentsOf: unit, encoding: .utf8)
    #expect(text.contains("ExecStart=/opt/bin/syncd "))
    _ = try Self.script("Scripts/packaging/install", ["--uninstall"], environment: environment)
    let left = try FileManager.default.subpathsOfDirectory(atPath: directory.url.path)
    let files = left.filter { path in
      let type = try? FileManager.default.attributesOfItem(
        atPath: directory.url.appendingPathComponent(path).path)[.type]
      return type as? FileAttributeType != .typeDirectory
    }
    #expect(files == ["opt/bin/bystander"])
    #expect(!left.contains("opt/share/doc/driftless"))
  }

  @Test(
    "Units start the programs with options that there are",
    arguments: [
      "Client/Packaging/syncd.service", "Server/Packaging/driftless-server.service",
    ])
  func units(path: String) throws {
    let line = try Self.text(path).split(separator: "\n").first { $0.hasPrefix("ExecStart=") }
    let words = try #require(line).dropFirst("ExecStart=".count).split(separator: " ")
    let program = try #require(words.first?.split(separator: "/").last)
    let help = try Programs.run(
      String(program),
      words.dropFirst().filter { !$0.contains("/") && !$0.hasPrefix("-") }
        .filter { !$0.hasPrefix("$") }.map(String.init) + ["--help"])
    #expect(help.status == 0, "\(help.errors)")
    for option in words where option.hasPrefix("--") {
      #expect(help.output.contains("\(option) "), "\(program) has no \(option)")
    }
  }
}
