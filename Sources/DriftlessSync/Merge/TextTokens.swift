/// Texts as lists of words, with one number for each word that occurs.
///
/// A word is a run of letters and digits; each other character is a word by itself. No word ends
/// inside an extended grapheme cluster. Words are the same when their bytes are: two spellings of
/// one letter differ.
struct TextTokens {
  private var numbers: [Key: UInt32] = [:]

  struct List {
    var words: [Substring] = []
    var numbers: [UInt32] = []

    func text(_ range: Range<Int>) -> Substring {
      guard let first = words[range].first, let last = words[range].last else { return "" }
      return first.base[first.startIndex..<last.endIndex]
    }
  }

  private struct Key: Hashable {
    let text: Substring

    static func == (a: Key, b: Key) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

    func hash(into hasher: inout Hasher) { hasher.combine(text) }
  }

  mutating func list(_ text: String) -> List {
    var list = List()
    var start = text.startIndex
    var index = start
    while index < text.endIndex {
      let next = text.index(after: index)
      if !Self.isPartOfWord(text[index]) {
        if start < index { append(text[start..<index], to: &list) }
        append(text[index..<next], to: &list)
        start = next
      }
      index = next
    }
    if start < text.endIndex { append(text[start...], to: &list) }
    return list
  }

  private mutating func append(_ word: Substring, to list: inout List) {
    let next = UInt32(truncatingIfNeeded: numbers.count)
    let key = Key(text: word)
    let number = numbers[key] ?? next
    if number == next { numbers[key] = next }
    list.words.append(word)
    list.numbers.append(number)
  }

  private static func isPartOfWord(_ character: Character) -> Bool {
    if let ascii = character.asciiValue {
      return (0x30...0x39).contains(ascii) || (0x41...0x5A).contains(ascii)
        || (0x61...0x7A).contains(ascii)
    }
    return character.isLetter || character.isNumber
  }

  /// Whether a word is a space within a line.
  static func isSpace(_ word: Substring) -> Bool {
    guard let character = word.first else { return false }
    return character.isWhitespace && !character.isNewline
  }
}
