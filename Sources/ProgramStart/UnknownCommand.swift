/// A word of a command line where a subcommand stands, and that is none.
package struct UnknownCommand {
  /// The command around it, such as `driftless-server zone`.
  package let around: String
  package let word: String
  /// The subcommand that was probably meant.
  package let near: String?

  /// A command and those in it, by their names.
  package struct Node {
    package var children: [String: Node]
    /// Whether it does something without a subcommand.
    package var isComplete: Bool

    package init(children: [String: Node], isComplete: Bool) {
      self.children = children
      self.isComplete = isComplete
    }
  }

  /// Nil where the words name a command, or go on with options.
  package init?(_ arguments: [String], program: String, _ root: Node) {
    var (node, around) = (root, program)
    var words = arguments[...]
    // `help zone lst` is about the command that follows.
    if words.first == "help" { words = words.dropFirst() }
    for word in words {
      guard !node.children.isEmpty, !node.isComplete, !word.hasPrefix("-"), word != "help" else {
        return nil
      }
      guard let next = node.children[word] else {
        self.around = around
        self.word = word
        near = SettingsReader.nearest(to: word, of: Array(node.children.keys))
        return
      }
      around += " \(word)"
      node = next
    }
    return nil
  }

  package var message: String {
    "\(around) has no command “\(word)”" + (near.map { "; did you mean \($0)?" } ?? ".")
  }

  package var suggestion: String { "\(near.map { "\(around) \($0)" } ?? around) --help" }
}
