import Driftless
import Foundation

/// Arguments of a format in a list of C's, which C's own formats read.
enum ListedArguments {
  /// As many characters as an argument takes at most: a number with a fraction in base 16.
  private static let charactersMax = 64

  /// The values that the format asks for, in their order; none where it does not parse, which the predicate says.
  static func read(_ list: CVaListPointer, for format: String) -> [Any?] {
    guard let placeholders = try? FetchPredicate.placeholders(of: format), !placeholders.isEmpty
    else { return [] }
    let asked = placeholders.map(self.format).joined(separator: " ")
    var text = [CChar](repeating: 0, count: placeholders.count * charactersMax + 1)
    guard vsnprintf(&text, text.count, asked, list) >= 0 else { return [] }
    let words = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }.split(separator: 32)
    return zip(placeholders, words).map { value(of: $0, String(decoding: $1, as: UTF8.self)) }
  }

  /// A pointer, a number with a fraction without loss, or an integer of the size that is asked for.
  private static func format(_ placeholder: String) -> String {
    switch placeholder {
    case "%@", "%K": "%p"
    case "%f", "%lf", "%g": "%a"
    case "%d", "%i", "%hd", "%hi", "%hhd", "%hhi": "%d"
    case "%u", "%hu", "%hhu": "%u"
    default: "%ld"
    }
  }

  private static func value(of placeholder: String, _ word: String) -> Any? {
    switch format(placeholder) {
    case "%p":
      UInt(word.dropFirst(2), radix: 16).flatMap(CArgumentObjects.value)
    case "%a": Double(word)
    default: Int64(word)
    }
  }
}
