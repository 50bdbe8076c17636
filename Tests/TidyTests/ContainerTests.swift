import Foundation
import Testing

/// `Server/Containerfile` as far as it can be looked at without a container engine: the gate has none, and builds no image.
struct ContainerTests {
  private static func text(_ path: String) throws -> String {
    try String(contentsOf: Pages.root.appendingPathComponent(path), encoding: .utf8)
  }

  /// The instructions with their words; lines that go on are one.
  private static func instructions() throws -> [(name: String, words: [String])] {
    try text("Server/Containerfile").replacingOccurrences(of: "\\\n", with: " ")
      .split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
        let words = line.split(separator: " ").map(String.init)
        return (words[0], Array(words.dropFirst()))
      }
  }

  @Test("What it copies is there, and all that the build needs is copied")
  func copies() throws {
    var copied: Set<String> = []
    for (name, words) in try Self.instructions() where name == "COPY" {
      guard !words[0].hasPrefix("--from=") else { continue }
      let path = Pages.root.appendingPathComponent(words[0]).path
      #expect(FileManager.default.fileExists(atPath: path), "\(words[0])")
      copied.insert(words[0])
    }
    #expect(copied.isSuperset(of: ["Package.swift", "Scripts", "Sources", "Server"]))
    // A manifest that names a folder of a target which is not there does not load; ONLY leaves such targets out.
    for target in try Self.targets().filter({ try Self.only().contains($0.name) }) {
      let folder = String((target.path ?? "Sources/\(target.name)").prefix { $0 != "/" })
      #expect(copied.contains(folder), "\(target.name) lies in \(folder)")
    }
  }

  @Test("ONLY has the server, and every target that one of its targets needs")
  func targetsAreWhole() throws {
    let only = try Self.only()
    let targets = try Self.targets()
    let names = Set(targets.map(\.name))
    #expect(
      only.contains("driftless-server") && only.isSubset(of: names), "\(only.subtracting(names))")
    for target in targets where only.contains(target.name) {
      let missing = Set(target.dependencies).intersection(names).subtracting(only)
      // PostgreSQL is a trait, and the image is built without it.
      #expect(missing.subtracting(["CPostgres"]).isEmpty, "\(target.name) needs \(missing)")
    }
  }

  @Test("It builds as make release does, and starts the server with options that it has")
  func commands() throws {
    let instructions = try Self.instructions()
    let builds = instructions.filter { $0.name == "RUN" }.map { $0.words.joined(separator: " ") }
    #expect(builds.contains { $0.contains("Scripts/packaging/build driftless-server") })
    #expect(try Self.text("Makefile").contains("release:\n\t@Scripts/packaging/build\n"))
    let start = try #require(instructions.first { $0.name == "CMD" }).words.joined(separator: " ")
    let serve =
      try Self.text("Server/driftless-server/ServeCommand.swift")
      + Self.text("Server/driftless-server/ServeInput.swift")
      + Self.text("Server/driftless-server/CommonOptions.swift")
    let options = start.matches(of: /--([a-z-]+)/).map { String($0.1) }
    #expect(options.count == 4)
    for option in options {
      let words = option.split(separator: "-")
      let name = words[0] + words.dropFirst().map { $0.capitalized }.joined()
      #expect(serve.contains("var \(name)"), "serve has no --\(option)")
    }
  }

  private static func only() throws -> Set<String> {
    let words = try instructions().filter { $0.name == "ENV" }.flatMap(\.words)
    let list = try #require(words.first { $0.hasPrefix("ONLY=") })
    return Set(list.dropFirst(5).split(separator: ",").map(String.init))
  }

  private struct Target {
    var name: String
    var path: String?
    var dependencies: [String]
  }

  /// The targets of the manifest, as its text has them.
  private static func targets() throws -> [Target] {
    let manifest = try text("Package.swift")
    let starts = manifest.matches(
      of: /\n  \.(?:target|executableTarget|systemLibrary)\(\s*name: "([^"]+)"/)
    return starts.indices.map { index in
      let end = index + 1 < starts.count ? starts[index + 1].range.lowerBound : manifest.endIndex
      let rest = manifest[starts[index].range.upperBound..<end]
      let list = rest.firstMatch(of: /dependencies: \[([^\]]*)\]/)?.1 ?? ""
      return Target(
        name: String(starts[index].1),
        path: rest.firstMatch(of: /path: "([^"]+)"/).map { String($0.1) },
        dependencies: list.matches(of: /"([^"]+)"/).map { String($0.1) })
    }
  }
}
