import Foundation
import Synchronization

/// Text comparison, the same in memory and inside the store.
enum TextPattern {
  /// The text without what the options ignore. Texts that differ only in that fold to one.
  static func fold(_ text: String, _ options: FetchComparison.Options) -> String {
    if options.effective.isEmpty { return text }
    if !options.contains(.localized), text.utf8.allSatisfy({ $0 < 0x80 }) {
      return options.contains(.caseInsensitive) ? text.lowercased() : text
    }
    var folding: String.CompareOptions = []
    if options.contains(.caseInsensitive) { folding.insert(.caseInsensitive) }
    if options.contains(.diacriticInsensitive) { folding.insert(.diacriticInsensitive) }
    return text.precomposedStringWithCanonicalMapping.folding(
      options: folding, locale: options.contains(.localized) ? locale : nil)
  }

  /// The process' own: one that changed in between would give an order that is none.
  private static let locale = Locale.current

  /// The order of texts by the rules of a locale, or with numbers in them, as options say.
  static func collate(
    _ left: String, _ right: String, _ options: FetchComparison.Options
  ) -> ComparisonResult {
    var comparison: String.CompareOptions = []
    if options.contains(.caseInsensitive) { comparison.insert(.caseInsensitive) }
    if options.contains(.diacriticInsensitive) { comparison.insert(.diacriticInsensitive) }
    if options.contains(.numeric) { comparison.insert(.numeric) }
    return left.compare(
      right, options: comparison, range: nil, locale: options.contains(.localized) ? locale : nil)
  }

  static func order(_ left: String, _ right: String) -> ComparisonResult {
    if left.utf8.elementsEqual(right.utf8) { return .orderedSame }
    return left.utf8.lexicographicallyPrecedes(right.utf8) ? .orderedAscending : .orderedDescending
  }

  static func contains(_ text: String, _ part: String) -> Bool {
    part.utf8.isEmpty || Array(text.utf8).firstRange(of: Array(part.utf8)) != nil
  }

  static func begins(_ text: String, _ part: String) -> Bool {
    text.utf8.starts(with: part.utf8)
  }

  /// The least text behind all that begin with the prefix; nil when there is none.
  static func successor(ofPrefix prefix: String) -> String? {
    var scalars = Array(prefix.unicodeScalars)
    while let last = scalars.popLast() {
      // The surrogates between are no scalars.
      let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
      if let scalar = Unicode.Scalar(next) {
        return String(String.UnicodeScalarView(scalars + [scalar]))
      }
    }
    return nil
  }

  static func ends(_ text: String, _ part: String) -> Bool {
    text.utf8.reversed().starts(with: part.utf8.reversed())
  }

  /// Whether the text fits a pattern of `*`, `?` and `\`.
  ///
  /// On a mismatch only the latest `*` is tried again, one character further: the time is at most
  /// the product of the lengths, whatever the pattern.
  static func like(_ text: String, _ pattern: String) -> Bool {
    let text = Array(text)
    let pattern = wildcards(pattern)
    var position = 0
    var next = 0
    var retry: (position: Int, next: Int)?
    while position < text.count {
      if next < pattern.count, pattern[next] == .run {
        next += 1
        retry = (position, next)
      } else if next < pattern.count,
        pattern[next] == .one || pattern[next] == .this(text[position])
      {
        next += 1
        position += 1
      } else if let last = retry {
        retry = (last.position + 1, last.next)
        position = last.position + 1
        next = last.next
      } else {
        return false
      }
    }
    return pattern[next...].allSatisfy { $0 == .run }
  }

  private enum Wildcard: Equatable {
    case run, one
    case this(Character)
  }

  private static func wildcards(_ pattern: String) -> [Wildcard] {
    var wildcards: [Wildcard] = []
    var isEscaped = false
    for character in pattern {
      if isEscaped {
        wildcards.append(.this(character))
        isEscaped = false
      } else {
        switch character {
        case "\\": isEscaped = true
        case "*": wildcards.append(.run)
        case "?": wildcards.append(.one)
        default: wildcards.append(.this(character))
        }
      }
    }
    if isEscaped { wildcards.append(.this("\\")) }
    return wildcards
  }

  // MARK: Regular expressions

  private struct Expression: Hashable {
    let pattern: String
    let options: FetchComparison.Options
  }

  /// Compiled expressions: a store's function meets the same pattern once a row.
  private static let expressions = Mutex<[Expression: NSRegularExpression]>([:])
  private static let maximumExpressions = 64

  static func regularExpression(
    _ pattern: String, _ options: FetchComparison.Options
  ) throws(FetchError) -> NSRegularExpression {
    let key = Expression(pattern: pattern, options: options)
    if let known = expressions.withLock({ $0[key] }) { return known }
    let folded = fold(pattern, options.intersection(.diacriticInsensitive))
    let whole = "\\A(?:\(folded))\\z"
    // By itself as well: "a)(b" is an expression only inside of the parentheses.
    guard (try? NSRegularExpression(pattern: folded)) != nil,
      let expression = try? NSRegularExpression(
        pattern: whole, options: options.contains(.caseInsensitive) ? .caseInsensitive : [])
    else {
      throw FetchError(
        .regularExpression, "\"\(pattern)\" is no regular expression",
        suggestion:
          "Check its brackets and escapes; a literal backslash in a format string is \\\\."
      )
    }
    expressions.withLock {
      if $0.count >= maximumExpressions { $0.removeAll() }
      $0[key] = expression
    }
    return expression
  }

  /// nil when the pattern cannot be read.
  static func matches(
    _ text: String, _ pattern: String, _ options: FetchComparison.Options
  ) -> Bool? {
    guard let expression = try? regularExpression(pattern, options) else { return nil }
    let text = fold(text, options.intersection(.diacriticInsensitive))
    let range = NSRange(text.startIndex..., in: text)
    return expression.firstMatch(in: text, options: [], range: range) != nil
  }
}
