import ArgumentParser
import Foundation
import SyncDaemon
import Testing

@testable import SyncControl

/// Each command of `syncctl` that a text of the sources advises can be typed as it stands, once the store is named in it: it says which
/// store it is about, or says `FILE` where that is an argument.
struct AdviceTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// Commands that work on no store.
  private static let withoutStore = [
    "key create", "key rotate", "model generate", "model lint", "code", "help", "import …",
  ]

  /// The text of a file's strings, each in one piece, with `X` in place of what is worked out.
  static func texts(of source: String) -> [String] {
    let code = source.split(separator: "\n", omittingEmptySubsequences: false)
      .filter { !$0.drop { $0 == " " }.hasPrefix("//") }.joined(separator: "\n")
      // What a command's own help says of others is no advice on a store.
      .replacing(/(discussion|abstract|help): *\n? *("""(.|\n)*?"""|"[^"\n]*")/, with: "")
    var plain = ""
    var depth = 0
    var previous: Character = " "
    for character in code {
      if depth > 0 {
        if character == "(" { depth += 1 }
        if character == ")" { depth -= 1 }
      } else if previous == "\\", character == "(" {
        depth = 1
        plain.removeLast()
        plain.append("X")
      } else {
        plain.append(character)
      }
      previous = character
    }
    return
      plain
      .replacing(/\\\n */, with: "")
      .replacing(/" *\n *\+ "/, with: "")
      .split(separator: "\"").map(String.init)
  }

  /// What is wrong with the commands of a text.
  static func complaints(of text: String, among commands: Set<String>) -> [String] {
    let named = AdvisedCommand.naming(store: "S.sqlite", in: text.replacing("\n", with: " "))
    return named.components(separatedBy: "syncctl ").dropFirst().compactMap { rest in
      let command = rest[...]
      let word = command.prefix { $0.isLetter || $0 == "-" }
      guard commands.contains(String(word)),
        !withoutStore.contains(where: { command.hasPrefix($0) }),
        !command.contains("--store "), !command.contains("S.sqlite"),
        command.firstMatch(of: /^(store [a-z-]+( --[a-z-]+)*|migrate|diff|store compare) '?X/)
          == nil
      else { return nil }
      return String(command.prefix(80))
    }
  }

  @Test("Each advised command names its store", arguments: ["Client", "Sources", "Server"])
  func named(folder: String) throws {
    let commands = Set(SyncControlCommand.configuration.subcommands.map { $0._commandName })
    try #require(commands.isSuperset(of: ["status", "verify", "store", "migrate"]))
    let files = try #require(
      FileManager.default.enumerator(
        at: Self.root.appendingPathComponent(folder), includingPropertiesForKeys: nil))
    var (count, found) = (0, [String]())
    for case let file as URL in files where file.pathExtension == "swift" {
      let source = try String(contentsOf: file, encoding: .utf8)
      guard source.contains("syncctl ") else { continue }
      for text in Self.texts(of: source) where text.contains("syncctl ") {
        count += 1
        found += Self.complaints(of: text, among: commands).map {
          "\(file.lastPathComponent): syncctl \($0)"
        }
      }
    }
    #expect(count > 0 || folder == "Server")
    #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
  }

  @Test("A command that names none is found, and one that does is not")
  func rule() {
    func found(_ text: String) -> Bool {
      !Self.complaints(of: text, among: ["store", "migrate", "status", "key"]).isEmpty
    }
    #expect(found("run: syncctl store check, then") && found("(syncctl migrate)"))
    #expect(
      !found("syncctl status") && !found("syncctl store check FILE") && !found("the syncctl of"))
    #expect(!found("syncctl store check X"))
    #expect(
      Self.texts(of: "a \"syncctl \"\n  + \"store \\(b(c)) d\"").contains("syncctl store X d"))
  }
}
