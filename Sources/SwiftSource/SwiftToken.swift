/// A piece of Swift source that means something: white space and comments lie between tokens.
struct SwiftToken: Hashable {
  enum Kind {
    /// A name, a keyword or a number; a name in backticks with them.
    case word
    /// `#if`, `#keyPath` and the like, with the sign.
    case directive
    /// One character, or `->`.
    case sign
    /// A piece of a text, or a regular expression. Code in an interpolation has tokens of its own between two pieces.
    case literal
  }

  var kind: Kind
  /// Where it lies in the source's bytes.
  var range: Range<Int>
  /// The characters of a word, a directive or a sign; nothing for a literal.
  var text: String
  /// Whether it is the first one on its line.
  var beginsLine: Bool
}
