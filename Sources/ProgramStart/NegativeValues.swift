/// Numbers below 0 on a command line.
package enum NegativeValues {
  /// The command line with each option and a number below 0 behind it as one word, `--limit=-1`: as two, the number would be
  /// taken for an option, and the option for one without a value. So the option itself says which numbers it takes.
  package static func joined(_ arguments: [String]) -> [String] {
    var words: [String] = []
    var isOver = false
    for word in arguments {
      if !isOver, let option = words.last, option.hasPrefix("--"), !option.contains("="),
        word.hasPrefix("-"), word.dropFirst().first?.isNumber == true
      {
        words[words.count - 1] = "\(option)=\(word)"
      } else {
        words.append(word)
      }
      if word == "--" { isOver = true }
    }
    return words
  }
}
