import Driftless
import Foundation

/// Commands of `syncctl` that a text advises, made such that they can be typed as they stand.
package enum AdvisedCommand {
  /// Those that work on the store that `--store` names, with the commands below each.
  private static let commands: [String: Set<String>] = [
    "conflicts": ["list", "undo", "keep"], "quarantine": ["list", "retry"],
    "parked": ["list", "show", "retry", "accept"], "key": ["use", "reseal"],
    "values": ["list", "download", "take-back", "let-go"], "model": ["show"],
    "status": [], "watch": [], "sync": [], "push": [], "pull": [], "log": [], "why": [],
    "import": [], "export": [], "digest": [], "verify": [], "doctor": [], "enroll": [],
    "unenroll": [], "init": [],
  ]
  /// Those that work on the store whose file is an argument: a text that advises one names it, or says `FILE` in its place.
  private static let fileCommands: Set<String> = ["store", "migrate"]
  /// Those of them that are nothing without a command below.
  private static let groups: Set<String> = ["key", "model"]
  /// Options without a value, which may stand before the store.
  private static let flags: Set<String> = [
    "--reconcile", "--allow-mass-delete", "--keep-mass-deleted", "--give-up-unsent", "--yes",
    "--anew", "--upsert", "--waiting", "--repair", "--take-in", "--forget-lost", "--leave-values",
  ]
  private static let program = "syncctl "
  private static let file = "FILE"

  /// The text, with the store in each command that works on one and names none.
  package static func naming(store: String, in text: String) -> String {
    let parts = text.components(separatedBy: program)
    return parts[0]
      + parts.dropFirst().map { program + naming(store, afterProgram: $0) }.joined()
  }

  /// The lines of a report, with the store in the commands that they advise.
  package static func naming(store: String, in lines: [String]) -> [String] {
    lines.map { naming(store: store, in: $0) }
  }

  /// The text without the advice to run a command: who runs it has its answer. What was to follow it stays.
  package static func leavingOut(_ command: String, in text: String) -> String {
    let sentences = text.components(separatedBy: ". ")
    let left = sentences.enumerated().compactMap { number, sentence -> String? in
      guard let place = sentence.range(of: program + command) else { return sentence }
      let isLast = number == sentences.count - 1
      let ends = [", and ", ", then ", "; then ", "; "].compactMap {
        sentence.range(of: $0, range: place.upperBound..<sentence.endIndex)
      }
      guard let end = ends.min(by: { $0.lowerBound < $1.lowerBound }) else {
        return isLast && sentence.hasSuffix(".") ? "" : nil
      }
      let rest = sentence[end.upperBound...]
      return rest.hasPrefix(program) ? String(rest) : rest.prefix(1).uppercased() + rest.dropFirst()
    }
    let whole = left.joined(separator: ". ")
    return whole.hasSuffix(". ") ? String(whole.dropLast()) : whole
  }

  private static func naming(_ store: String, afterProgram rest: String) -> String {
    let option = "--store \(store.shellWord)"
    for placeholder in ["--store STORE", "--store \(file)"] where rest.contains(placeholder) {
      return rest.replacingOccurrences(of: placeholder, with: option)
    }
    var words = rest.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    let first = bare(words[0])
    if fileCommands.contains(first) {
      guard let place = words.firstIndex(where: { bare($0) == file }) else { return rest }
      words[place] = store.shellWord + words[place].dropFirst(file.count)
      return words.joined(separator: " ")
    }
    guard !rest.contains("--store"), let subcommands = commands[first] else { return rest }
    var count = 1
    func goesOn(_ isWanted: (String) -> Bool) -> Bool {
      // What a full stop or a bracket follows is the end of the command.
      guard count < words.count, words[count - 1] == bare(words[count - 1]) else { return false }
      return isWanted(bare(words[count]))
    }
    if goesOn(subcommands.contains) {
      count += 1
    } else if groups.contains(first) {
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
  /// The same, without the advice to run a command.
  package func leavingOut(_ command: String) -> Failure {
    var failure = self
    failure.suggestion = AdvisedCommand.leavingOut(command, in: suggestion)
    return failure
  }

  /// The same, with the store in the commands that it advises.
  package func naming(store: String) -> Failure {
    var failure = self
    failure.suggestion = AdvisedCommand.naming(store: store, in: suggestion)
    return failure
  }
}
