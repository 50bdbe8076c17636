/// Commands of `driftless-server` that a text advises, made such that they can be typed as they stand.
package enum AdvisedCommand {
  /// Those that work on a data folder, or a database, with the commands below each.
  private static let commands: [String: Set<String>] = [
    "zone": [
      "create", "list", "inspect", "limits", "format", "rename", "renew", "fold", "purge",
      "put-back", "delete",
    ],
    "token": ["create", "list", "rotate", "revoke"], "code": ["create", "list", "revoke"],
    "operator": ["create", "list", "revoke"], "replica": ["list", "forget"], "log": ["show"],
    "values": ["take-from"], "clock": ["show", "set-back"], "certificate": ["create"],
    "backup": [], "restore": [], "verify": [], "audit": [],
  ]
  private static let program = "driftless-server "

  /// The text, with the place in each command that works on one and names none.
  ///
  /// - Parameter place: as an option: `--data DIR`, or `--postgres …`.
  package static func naming(place: String, in text: String) -> String {
    var parts = text.split(separator: program, omittingEmptySubsequences: false).map(String.init)
    for index in parts.indices.dropFirst() {
      parts[index] = naming(place, afterProgram: parts[index])
    }
    return parts.joined(separator: program)
  }

  private static func naming(_ place: String, afterProgram rest: String) -> String {
    let placeholder = "--data DIR"
    if let range = rest.firstRange(of: placeholder) {
      return rest[..<range.lowerBound] + place + rest[range.upperBound...]
    }
    guard !rest.contains("--data"), !rest.contains("--postgres") else { return rest }
    var words = rest.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    guard let below = commands[bare(words[0])] else { return rest }
    var last = 0
    if !below.isEmpty {
      // What a full stop or a bracket follows is the end of the command.
      guard words.count > 1, words[0] == bare(words[0]), below.contains(bare(words[1])) else {
        return rest
      }
      last = 1
    }
    let word = bare(words[last])
    words[last] = "\(word) \(place)\(words[last].dropFirst(word.count))"
    return words.joined(separator: " ")
  }

  /// The word without the marks that end a sentence or a bracket.
  private static func bare(_ word: String) -> String {
    String(word.reversed().drop { ".,;:)".contains($0) }.reversed())
  }
}
