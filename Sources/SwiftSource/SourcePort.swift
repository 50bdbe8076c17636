/// Changes the text of a Swift file that uses Core Data on Apple's systems into one for the module `CoreData` here, as far as
/// that is mechanical, and says what is left to a person.
///
/// Comments, texts, and branches of `#if` that are not for Linux stay as they are. What was changed once has nothing that is
/// changed again.
package struct SourcePort {
  /// What was done to a line, or is left to do there.
  package struct Note: Hashable, Encodable {
    /// Counted from 1, in the text as it was.
    package var line: Int
    /// Whether a person has to do it.
    package var isLeft: Bool
    package var text: String
  }

  /// A text for Linux.
  package struct Result: Hashable {
    package var text: String
    /// In the order of the lines.
    package var notes: [Note]
  }

  /// A new text for a stretch of bytes.
  struct Edit {
    var range: Range<Int>
    var text: String
  }

  /// A stretch of bytes that is put elsewhere.
  struct Move {
    var range: Range<Int>
    var place: Int
  }

  let bytes: [UInt8]
  let tokens: [SwiftToken]
  let isLive: [Bool]
  let isCertain: [Bool]
  /// Whether `@NSManaged` stays, for a build whose plugin makes the accessors.
  let keepsManaged: Bool
  var edits: [Edit] = []
  /// What goes away together with the white space around it.
  var removals: [Range<Int>] = []
  /// What goes to another place, with the changes that lie within it.
  var moves: [Move] = []
  /// The kinds of declarations that have their changes, whatever further attributes they have.
  var finished: Set<Int> = []
  private var notes: [Note] = []
  private let lineStarts: [Int]

  init(_ bytes: [UInt8], _ tokens: [SwiftToken], keepsManaged: Bool = false) {
    self.keepsManaged = keepsManaged
    self.bytes = bytes
    self.tokens = tokens
    let live = LiveSource(tokens)
    (isLive, isCertain) = (live.isLive, live.isCertain)
    lineStarts = Self.lineStarts(in: bytes)
  }

  private static func lineStarts(in bytes: [UInt8]) -> [Int] {
    [0]
      + bytes.indices.filter { index in
        // A return before a line feed ends the line with it.
        bytes[index] == UInt8(ascii: "\n")
          || (bytes[index] == UInt8(ascii: "\r")
            && (index + 1 == bytes.count || bytes[index + 1] != UInt8(ascii: "\n")))
      }.map { $0 + 1 }
  }

  /// Changes a text.
  ///
  /// - Parameter keepsManaged: Whether `@NSManaged` stays, for a build whose plugin makes the accessors.
  package static func port(_ text: String, keepsManaged: Bool = false) -> Result {
    let bytes = Array(text.utf8)
    do {
      var port = SourcePort(
        bytes, try SwiftLexer.tokens(of: bytes), keepsManaged: keepsManaged)
      port.walk()
      guard let edited = port.edited() else {
        let note = Note(line: 1, isLeft: true, text: "declarations lie in each other: nothing done")
        return Result(text: text, notes: [note])
      }
      return Result(text: edited, notes: port.sortedNotes)
    } catch {
      let line = lineStarts(in: bytes).count { $0 <= error.offset }
      let note = Note(
        line: line, isLeft: true, text: "\(error.what) that begins here has no end: nothing done")
      return Result(text: text, notes: [note])
    }
  }

  // MARK: The walk

  /// What a brace opens.
  private enum Scope: Equatable {
    /// With the token of its word.
    case classExtension(Int)
    /// With the token of its word.
    case initialiser(Int)
    case other
  }

  private mutating func walk() {
    var scopes: [Scope] = []
    var next = Scope.other
    /// Initialisers, by the braces that open their bodies.
    var bodies: [Int: Int] = [:]
    for index in tokens.indices where isLive[index] {
      switch tokens[index].text {
      case "{":
        scopes.append(bodies[index].map { .initialiser($0) } ?? next)
        next = .other
      case "}": _ = scopes.popLast()
      case "extension" where isDeclaration(index): next = .classExtension(index)
      case "init" where isInitialiser(index):
        if let body = body(of: index) { bodies[body] = index }
      case "override" where isDeclaration(index):
        if case .classExtension(let place)? = scopes.last {
          noteOverride(index, inExtension: place)
        } else {
          noteOverride(index, inExtension: nil)
        }
      case "super":
        let inits = scopes.reversed().lazy.compactMap {
          if case .initialiser(let place) = $0 { place } else { nil }
        }
        if let place = inits.first { superCall(index, in: place) }
      case "as": cast(index)
      case "dynamic" where isDynamicModifier(index):
        removals.append(tokens[index].range)
        done(index, "dynamic removed")
      case "import" where isDeclaration(index): noteImport(index)
      case "@": attribute(index)
      case "#keyPath": keyPath(index)
      case "#selector": selector(index)
      default: break
      }
    }
  }

  // MARK: Notes

  mutating func done(_ index: Int, _ text: String) { note(index, isLeft: false, text) }

  mutating func left(_ index: Int, _ text: String) { note(index, isLeft: true, text) }

  private mutating func note(_ index: Int, isLeft: Bool, _ text: String) {
    notes.append(Note(line: line(of: index), isLeft: isLeft, text: text))
  }

  /// The line of a token, counted from 1.
  func line(of index: Int) -> Int {
    let offset = tokens[index].range.lowerBound
    var (low, high) = (0, lineStarts.count)
    while low + 1 < high {
      let middle = (low + high) / 2
      if lineStarts[middle] <= offset { low = middle } else { high = middle }
    }
    return low + 1
  }

  private var sortedNotes: [Note] {
    // Those of one line keep their order.
    notes.enumerated().sorted { ($0.element.line, $0.offset) < ($1.element.line, $1.offset) }
      .map(\.element)
  }

  // MARK: Tokens

  func text(_ index: Int) -> String {
    tokens.indices.contains(index) ? tokens[index].text : ""
  }

  func source(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  /// A name without its backticks.
  func name(_ index: Int) -> String { text(index).filter { $0 != "`" } }

  /// Whether a token follows the one before at once.
  func isAdjacent(_ index: Int) -> Bool {
    tokens.indices.contains(index) && index > 0
      && tokens[index - 1].range.upperBound == tokens[index].range.lowerBound
  }

  /// The token behind a group in parentheses or brackets that begins at one; the end of the tokens where it has no end.
  func end(ofGroup index: Int) -> Int {
    var depth = 0
    for place in index..<tokens.count {
      switch text(place) {
      case "(", "[", "{": depth += 1
      case ")", "]", "}":
        depth -= 1
        if depth == 0 { return place + 1 }
      default: break
      }
    }
    return tokens.count
  }

  /// Whether a word with a meaning stands where a declaration does: not as a member or a label.
  func isDeclaration(_ index: Int) -> Bool {
    text(index - 1) != "." && text(index + 1) != ":" && tokens.indices.contains(index + 1)
      && (tokens[index + 1].kind == .word || text(index + 1) == "@")
  }

  // MARK: The result

  /// The new text; nil where changes overlap, as they do in no source that compiles.
  private func edited() -> String? {
    var all = edits + merged(removals).map { Edit(range: withSpace($0), text: "") }
    for move in moves {
      let inner = all.filter {
        $0.range.lowerBound >= move.range.lowerBound && $0.range.upperBound <= move.range.upperBound
      }
      guard let moved = text(of: move.range, with: inner) else { return nil }
      all.removeAll {
        $0.range.lowerBound >= move.range.lowerBound && $0.range.upperBound <= move.range.upperBound
      }
      all.append(Edit(range: withSpace(move.range), text: ""))
      all.append(Edit(range: move.place..<move.place, text: "\n" + moved + "\n"))
    }
    return text(of: 0..<bytes.count, with: all)
  }

  /// A stretch with its changes.
  private func text(of range: Range<Int>, with edits: [Edit]) -> String? {
    // What is put at one place stays in the order in which it was told.
    let sorted = edits.enumerated().sorted {
      ($0.element.range.lowerBound, $0.element.range.upperBound, $0.offset)
        < ($1.element.range.lowerBound, $1.element.range.upperBound, $1.offset)
    }
    var result: [UInt8] = []
    result.reserveCapacity(range.count + 256)
    var place = range.lowerBound
    for (_, edit) in sorted {
      guard edit.range.lowerBound >= place else { return nil }
      result += bytes[place..<edit.range.lowerBound]
      result += edit.text.utf8
      place = edit.range.upperBound
    }
    guard place <= range.upperBound else { return nil }
    result += bytes[place..<range.upperBound]
    return String(decoding: result, as: UTF8.self)
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
  }

  /// What lies on one line with nothing but spaces between goes as one.
  private func merged(_ ranges: [Range<Int>]) -> [Range<Int>] {
    var result: [Range<Int>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = result.last,
        last.upperBound >= range.lowerBound
          || bytes[last.upperBound..<range.lowerBound].allSatisfy(Self.isSpace)
      {
        result[result.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        result.append(range)
      }
    }
    return result
  }

  /// A whole line where nothing else is on it, and the spaces on one side where something is.
  private func withSpace(_ range: Range<Int>) -> Range<Int> {
    var start = range.lowerBound
    while start > 0, Self.isSpace(bytes[start - 1]) { start -= 1 }
    var end = range.upperBound
    while end < bytes.count, Self.isSpace(bytes[end]) { end += 1 }
    let beginsLine = start == 0 || SwiftLexer.isLineEnd(bytes[start - 1])
    guard end == bytes.count || SwiftLexer.isLineEnd(bytes[end]) else {
      // A word that stands right before keeps its distance from the next one.
      let isAtWord =
        start > SwiftLexer.textStart(of: bytes)
        && SwiftLexer.isOfWord(bytes[range.lowerBound - 1])
      return isAtWord ? range : range.lowerBound..<end
    }
    guard beginsLine else { return start..<range.upperBound }
    if end < bytes.count { end += 1 }
    if end < bytes.count, bytes[end - 1] == UInt8(ascii: "\r"), bytes[end] == UInt8(ascii: "\n") {
      end += 1
    }
    return start..<end
  }
}
