import Driftless
import Foundation

/// Commands of `syncctl` that a text advises, made such that they can be typed as they stand.
package enum AdvisedCommand {
  /// Those that work on the store that `--store` names, with the commands below each.
  private static let commands: [String: Set<String>] = [
    "conflicts": ["list", "undo", "keep"], "quarantine": ["list", "retry"],
    "parked": ["list", "show", "retry", "accept"], "key": ["use", "reseal"],
    "values": ["list", "download"],
    "status": [], "watch": [], "sync": [], "push": [], "pull": [], "log": [], "why": [],
    "import": [], "export": [], "digest": [], "verify": [], "doctor": [], "enroll": [],
    "unenroll": [], "init": [],
  ]
  /// Those of them that are nothing without a command below.
  private static let groups: Set<String> = ["key"]
  /// Options without a value, which may stand before the store.
  private static let flags: Set<String> = [
    "--reconcile", "--allow-mass-delete", "--keep-mass-deleted", "--give-up-unsent", "--yes",
    "--anew", "--upsert", "--waiting",
  ]
  private static let program = "syncctl "

  /// The text, with the store in each command that works on one and names none.
  package static func naming(store: String, in text: String) -> String {
    let parts = text.components(separatedBy: program)
    return parts[0]
      + parts.dropFirst().map { program + naming(store, afterProgram: $0) }.joined()
  }

  private static func naming(_ store: String, afterProgram rest: String) -> String {
    let option = "--store \(store.shellWord)"
    for placeholder in ["--store STORE", "--store FILE"] where rest.contains(placeholder) {
      return rest.replacingOccurrences(of: placeholder, with: option)
    }
    let words = rest.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    guard !rest.contains("--store"), let subcommands = commands[bare(words[0])] else {
      return rest
    }
    var count = 1
    func goesOn(_ isWanted: (String) -> Bool) -> Bool {
      // What a full stop or a bracket follows is the end of the command.
      guard count < words.count, words[count - 1] == bare(words[count - 1]) else { return false }
      return isWanted(bare(words[count]))
    }
    if goesOn(subcommands.contains) {
      count += 1
    } else if groups.contains(bare(words[0])) {
      return rest
    }
    while goesOn(flags.contains) { count += 1 }
    let last = bare(words[count - 1])
    let mark = words[count - 1].dropFirst(last.count)
    return (words[..<(count - 1)] + ["\(last) \(option)\(mark)"] + words[count...])
      .joined(separator: " ")
  }

  /// The word without the marks that end a sentence or a bracket.
  private static func bare(_ word: String) -> String {
    String(word.reversed().drop { ".,;:)".contains($0) }.reversed())
  }
}

extension Failure {
  /// The same, with the store in the commands that it advises.
  package func naming(store: String) -> Failure {
    var failure = self
    failure.suggestion = AdvisedCommand.naming(store: store, in: suggestion)
    return failure
  }
}
