extension SourcePort {
  /// Words between a declaration's attributes and its kind.
  static let modifiers: Set<String> = [
    "public", "open", "package", "internal", "fileprivate", "private", "final", "static",
    "override",
    "dynamic", "optional", "required", "convenience", "lazy", "weak", "unowned", "mutating",
    "nonmutating", "nonisolated", "isolated", "indirect",
  ]

  /// The words that begin a declaration's own part.
  private static let kinds: Set<String> = [
    "var", "let", "func", "class", "init", "subscript", "struct", "enum", "protocol", "extension",
    "actor", "typealias",
  ]

  /// What stands between a declaration's first attribute and its kind.
  struct Head {
    /// The modifiers' tokens.
    var modifiers: [Int] = []
    /// The token of `var`, `func` and so on; the end of the tokens where there is none.
    var kind: Int
  }

  /// What follows an attribute or a modifier, up to the declaration's kind.
  func head(from index: Int) -> Head {
    var head = Head(kind: index)
    while tokens.indices.contains(head.kind) {
      let word = text(head.kind)
      let isModifier =
        Self.modifiers.contains(word)
        || (word == "class" && ["var", "func", "override", "final"].contains(text(head.kind + 1)))
      if word == "@" {
        head.kind = end(ofAttribute: head.kind)
      } else if isModifier {
        head.modifiers.append(head.kind)
        head.kind += 1
        if text(head.kind) == "(", isAdjacent(head.kind) { head.kind = end(ofGroup: head.kind) }
      } else {
        break
      }
    }
    return head
  }

  /// The token behind an attribute and what it has in parentheses.
  func end(ofAttribute index: Int) -> Int {
    text(index + 2) == "(" && isAdjacent(index + 2) ? end(ofGroup: index + 2) : index + 2
  }

  func isDynamicModifier(_ index: Int) -> Bool {
    guard isDeclaration(index), !tokens[index + 1].beginsLine else { return false }
    let next = text(index + 1)
    guard next == "@" || Self.kinds.contains(next) || Self.modifiers.contains(next) else {
      return false
    }
    return !["let", "var", "func", "case", "=", "return"].contains(text(index - 1))
  }

  // MARK: Attributes

  mutating func attribute(_ index: Int) {
    guard isAdjacent(index + 1), text(index - 1) != "@" else { return }
    let name = text(index + 1)
    switch name {
    case "objc": objc(index)
    case "objcMembers":
      remove(index, to: index + 2)
      done(index, "@objcMembers removed")
    case "NSManaged": if !keepsManaged { managed(index) }
    case "IBAction", "IBOutlet", "IBInspectable", "IBDesignable", "IBSegueAction", "GKInspectable":
      left(index, "@\(name) is for Apple's interface files: remove it, or keep it under #if")
    case "NSApplicationMain", "UIApplicationMain":
      left(index, "@\(name) starts an app of Apple's: keep it under #if, and give Linux its @main")
    case "NSCopying":
      left(index, "@NSCopying is not there on Linux: copy the value in the setter")
    default: break
    }
  }

  mutating func remove(_ first: Int, to end: Int) {
    removals.append(tokens[first].range.lowerBound..<tokens[end - 1].range.upperBound)
  }

  private mutating func objc(_ index: Int) {
    let end = end(ofAttribute: index)
    guard isSelector((index + 2)..<end) else { return }
    let head = head(from: end)
    if head.modifiers.contains(where: { text($0) == "optional" }) {
      left(
        index,
        "a protocol has no optional requirements on Linux: remove @objc optional, and give "
          + "the requirement a default in an extension of the protocol")
      return
    }
    let written = source(tokens[index].range.lowerBound..<tokens[end - 1].range.upperBound)
    remove(index, to: end)
    var note = "\(written) removed"
    let given = end == index + 5 ? text(index + 3) : ""
    if text(head.kind) == "class", !given.isEmpty, given != name(head.kind + 1) {
      note += ": where a model names \(given), let it name \(name(head.kind + 1))"
    }
    if text(head.kind) == "protocol", finished.insert(head.kind).inserted,
      bindToObjects(head.kind)
    {
      note += "; AnyObject added, which it implied"
    }
    done(index, note)
  }

  /// Whether tokens are nothing, or a name of Objective-C in parentheses.
  private func isSelector(_ range: Range<Int>) -> Bool {
    if range.isEmpty { return true }
    guard text(range.upperBound - 1) == ")" else { return false }
    let inner = range.dropFirst().dropLast()
    return inner.allSatisfy { place in
      text(place) == ":" || (tokens[place].kind == .word && tokens[place - 1].kind != .word)
    }
  }

  /// A protocol of Objective-C is one for objects alone, which a weak variable of its type needs.
  private mutating func bindToObjects(_ index: Int) -> Bool {
    var place = index + 2
    guard tokens.indices.contains(place) else { return false }
    let hasParents = text(place) == ":"
    let insertion = tokens[hasParents ? place : index + 1].range.upperBound
    while tokens.indices.contains(place), text(place) != "{" {
      if ["AnyObject", "NSObjectProtocol", "class"].contains(text(place)) { return false }
      place += 1
    }
    edits.append(
      Edit(range: insertion..<insertion, text: hasParents ? " AnyObject," : ": AnyObject"))
    return true
  }

  // MARK: Key paths and selectors

  mutating func keyPath(_ index: Int) {
    let end = text(index + 1) == "(" ? end(ofGroup: index + 1) : index + 1
    let advice = "write the key as a text"
    guard end > index + 3, text(end - 1) == ")" else {
      return left(index, "#keyPath is not there on Linux: \(advice)")
    }
    let parts = Array((index + 2)..<(end - 1))
    let isPath = parts.enumerated().allSatisfy { offset, part in
      offset.isMultiple(of: 2) ? tokens[part].kind == .word : text(part) == "."
    }
    let names = parts.filter { tokens[$0].kind == .word }.map { name($0) }
    let keys = names.drop { $0.first?.isUppercase == true }
    let range = tokens[index].range.lowerBound..<tokens[end - 1].range.upperBound
    guard isPath, keys.count < names.count, !keys.isEmpty,
      !source(range).contains("/")
    else { return left(index, "\(source(range)) is not there on Linux: \(advice)") }
    let key = keys.joined(separator: ".")
    edits.append(Edit(range: range, text: "\"\(key)\""))
    done(index, "\(source(range)) is now \"\(key)\"")
  }

  mutating func selector(_ index: Int) {
    if replaceByKey(index) { return }
    let isAccessor = text(index + 1) == "(" && ["getter", "setter"].contains(text(index + 2))
    left(
      index,
      isAccessor
        ? "#selector is not there on Linux: where a key is meant, write it as a text"
        : "#selector is not there on Linux: call the function, or hand over a closure")
  }

  /// A getter's selector that is made a text at once is the property's key.
  private mutating func replaceByKey(_ index: Int) -> Bool {
    guard text(index + 1) == "(", text(index + 2) == "getter", text(index + 3) == ":" else {
      return false
    }
    let end = end(ofGroup: index + 1)
    let parts = Array((index + 4)..<(end - 1))
    guard text(end - 1) == ")", let last = parts.last, tokens[last].kind == .word,
      parts.enumerated().allSatisfy({ offset, part in
        offset.isMultiple(of: 2) ? tokens[part].kind == .word : text(part) == "."
      })
    else { return false }
    let range: Range<Int>
    if text(end) == ".", text(end + 1) == "description", text(end + 2) != "(" {
      range = tokens[index].range.lowerBound..<tokens[end + 1].range.upperBound
    } else if text(index - 1) == "(", text(index - 2) == "NSStringFromSelector", text(end) == ")" {
      range = tokens[index - 2].range.lowerBound..<tokens[end].range.upperBound
    } else {
      return false
    }
    guard !source(range).contains("/") else { return false }
    edits.append(Edit(range: range, text: "\"\(name(last))\""))
    done(index, "\(source(range)) is now \"\(name(last))\"")
    return true
  }

  // MARK: Imports

  mutating func noteImport(_ index: Int) {
    let isOfOne = ["class", "struct", "enum", "protocol", "typealias", "func", "let", "var"]
      .contains(text(index + 1))
    let module = text(isOfOne ? index + 2 : index + 1)
    guard AppleModules.names.contains(module) else { return }
    let condition = "#if canImport(\(module))"
    if let whole = range(ofImport: index) {
      edits.append(Edit(range: whole.lowerBound..<whole.lowerBound, text: "\(condition)\n"))
      edits.append(Edit(range: whole.upperBound..<whole.upperBound, text: "\n#endif"))
      return done(index, "import \(module) is now under \(condition): put what needs it there too")
    }
    left(
      index,
      "\(module) is not there on Linux: put what needs it under \(condition)"
        + (AppleModules.replacements[module].map { ", or use \($0)" } ?? ""))
  }

  /// An import that has its lines to itself, with its attributes.
  private func range(ofImport index: Int) -> Range<Int>? {
    guard let first = (0...index).reversed().first(where: { tokens[$0].beginsLine }) else {
      return nil
    }
    let next = tokens[(index + 1)...].firstIndex { $0.beginsLine } ?? tokens.count
    guard (first..<next).allSatisfy({ ![";", "{", "}"].contains(text($0)) }) else { return nil }
    return tokens[first].range.lowerBound..<tokens[next - 1].range.upperBound
  }
}
