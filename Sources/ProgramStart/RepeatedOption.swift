/// An option that a command line has more than once, though it takes one value: the parser takes the last one in silence.
package enum RepeatedOption {
  /// The first such option; nil where there is none.
  ///
  /// - Parameter lists: options that may stand several times.
  package static func first(in arguments: [String], except lists: Set<String> = []) -> String? {
    var seen: Set<Substring> = []
    for word in arguments.prefix(while: { $0 != "--" }) where word.hasPrefix("--") {
      let name = word.prefix { $0 != "=" }
      if !seen.insert(name).inserted, !lists.contains(String(name)) { return String(name) }
    }
    return nil
  }

  /// What is said of it.
  package static func message(_ option: String) -> String {
    "\(option) is given twice: a command takes it once."
  }

  package static let suggestion = "run the command once for each"
}
