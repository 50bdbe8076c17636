/// What went wrong and what to do about it, where both stand in one line.
///
/// Messages come as sentences with their stop and, from servers and of older programs, without; what to do is a sentence or a
/// command. Put one behind the other as they are, the two would read as one.
package enum FailureText {
  /// The message with its stop, and what to try.
  package static func line(_ message: String, try suggestion: String) -> String {
    let advice = advice(suggestion)
    return advice.isEmpty ? sentence(message) : "\(sentence(message)) Try: \(advice)"
  }

  /// The text with a stop at its end.
  package static func sentence(_ text: String) -> String {
    guard let last = text.last else { return text }
    return ".!?…:".contains(last) ? text : text + "."
  }

  /// What to do, without the word that says that it is that.
  static func advice(_ suggestion: String) -> String {
    for word in ["Run: ", "Try: "] where suggestion.hasPrefix(word) {
      return String(suggestion.dropFirst(word.count))
    }
    return suggestion
  }

  /// The text without how long something took and how many bytes came of it, by which two attempts that fail for one reason differ.
  package static func withoutMeasures(_ text: String) -> String {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    let units: Set<Substring> = ["ms", "milliseconds", "s", "seconds", "bytes", "out"]
    return words.enumerated().map { place, word in
      guard words.indices.contains(place + 1), !word.isEmpty,
        word.allSatisfy({ $0.isNumber || $0 == "." })
      else { return word }
      let unit = words[place + 1].prefix { $0.isLetter }
      return units.contains(unit) ? "…" : word
    }.joined(separator: " ")
  }
}
