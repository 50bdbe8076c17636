import Foundation

/// What a program's command line may name, as the program tells it.
struct CommandTree: Decodable {
  struct Argument: Decodable {
    struct Name: Decodable {
      let kind: String
      let name: String
    }
    let kind: String
    let names: [Name]?
    let isOptional: Bool
    let valueName: String?

    /// `--store`; nil for what stands by its place.
    var option: String? { names?.first { $0.kind == "long" }.map { "--\($0.name)" } }
  }

  let commandName: String
  let subcommands: [CommandTree]?
  let arguments: [Argument]?

  private struct Dump: Decodable { let command: CommandTree }

  /// The commands that do something, each with the words that name it.
  static func leaves(of program: String) throws -> [(words: [String], command: CommandTree)] {
    let outcome = try Programs.run(program, ["--experimental-dump-help"])
    let tree = try JSONDecoder().decode(Dump.self, from: Data(outcome.output.utf8)).command
    func leaves(_ tree: CommandTree, _ words: [String]) -> [(words: [String], command: CommandTree)]
    {
      let children = (tree.subcommands ?? []).filter { $0.commandName != "help" }
      if children.isEmpty { return [(words, tree)] }
      return children.flatMap { leaves($0, words + [$0.commandName]) }
    }
    return leaves(tree, [])
  }

  /// Whether it takes an option.
  func takes(_ option: String) -> Bool { (arguments ?? []).contains { $0.option == option } }

  /// What has to be said, with values by the names of options and values.
  func needed(_ values: [String: String]) -> [String] {
    (arguments ?? []).filter { !$0.isOptional && $0.kind != "flag" }.flatMap { argument in
      let name = argument.option ?? argument.valueName ?? ""
      let value = values[name] ?? "x"
      return argument.option.map { [$0, value] } ?? [value]
    }
  }
}
