/// Casts, initialisers and overrides that Core Data's code has, and that Swift without Objective-C has otherwise.
extension SourcePort {
  // MARK: Casts

  /// One kind of fetch request is no other one on Linux: a cast ends the program, or gives nil.
  mutating func cast(_ index: Int) {
    if text(index + 1) == "NSObject", text(index - 2) == ".",
      text(index - 3) == "FileProtectionType"
    {
      let range = tokens[index - 1].range.upperBound..<tokens[index + 1].range.upperBound
      edits.append(Edit(range: range, text: ".rawValue as NSString"))
      return done(index, "as NSObject is now .rawValue as NSString")
    }
    guard ["!", "?"].contains(text(index + 1)), isAdjacent(index + 1), index > 0,
      text(index + 2) == "NSFetchRequest", text(index + 3) == "<",
      let end = end(ofGeneric: index + 3)
    else { return }
    let type = source(tokens[index + 2].range.lowerBound..<tokens[end - 1].range.upperBound)
    let before = tokens[index - 1]
    guard text(index + 1) == "!", before.kind == .word || [")", "]"].contains(before.text) else {
      return left(
        index, "a cast to \(type) gives nil on Linux: use cast(to: \(type).self), which cannot fail"
      )
    }
    edits.append(
      Edit(
        range: before.range.upperBound..<tokens[end - 1].range.upperBound,
        text: ".cast(to: \(type).self)"))
    done(index, "as! \(type) is now cast(to:), a request of that kind with the same content")
  }

  /// The token behind what stands between angle brackets; nil where it has no end.
  private func end(ofGeneric index: Int) -> Int? {
    var depth = 0
    for place in index..<tokens.count {
      switch text(place) {
      case "<": depth += 1
      case ">":
        depth -= 1
        if depth == 0 { return place + 1 }
      case "{", "}", ";": return nil
      default: break
      }
    }
    return nil
  }

  // MARK: Initialisers

  /// Whether `init` declares one: it is not called.
  func isInitialiser(_ index: Int) -> Bool {
    text(index - 1) != "." && ["(", "<", "?", "!"].contains(text(index + 1))
      && isAdjacent(index + 1)
  }

  /// The brace that opens an initialiser's body: those of its parameters' values do not.
  func body(of index: Int) -> Int? {
    guard let open = (index..<tokens.count).first(where: { text($0) == "(" }) else { return nil }
    let brace = (end(ofGroup: open)..<tokens.count).first { ["{", "}"].contains(text($0)) }
    return brace.flatMap { text($0) == "{" ? $0 : nil }
  }

  /// An initialiser of an object that calls the one of `NSManagedObject` has to be one for convenience: that one is no member of
  /// the class itself.
  mutating func superCall(_ index: Int, in initialiser: Int) {
    guard text(index + 1) == ".", text(index + 2) == "init", text(index + 3) == "(",
      text(index + 5) == ":", isCreation(index + 4)
    else { return }
    let modifiers = modifiers(before: initialiser).map { text($0) }
    guard !modifiers.contains("override"), !modifiers.contains("required") else { return }
    edits.append(Edit(range: tokens[index].range, text: "self"))
    done(index, "super.init is now self.init, of an initialiser for convenience")
    guard !modifiers.contains("convenience"), finished.insert(initialiser).inserted else { return }
    let start = tokens[initialiser].range.lowerBound
    edits.append(Edit(range: start..<start, text: "convenience "))
  }

  /// Whether the arguments of a call are those of an initialiser of `NSManagedObject`.
  private func isCreation(_ label: Int) -> Bool {
    let end = end(ofGroup: label - 1)
    var (depth, commas) = (0, 0)
    var labels: [String] = []
    for place in label - 1..<end {
      switch text(place) {
      case "(", "[", "{": depth += 1
      case ")", "]", "}": depth -= 1
      case ":" where depth == 1: labels.append(name(place - 1))
      case "," where depth == 1: commas += 1
      default: break
      }
    }
    return labels.count == commas + 1 && [["entity", "insertInto"], ["context"]].contains(labels)
  }

  /// The words before a declaration's kind.
  private func modifiers(before index: Int) -> [Int] {
    var found: [Int] = []
    var place = index - 1
    while Self.modifiers.contains(text(place)) {
      found.append(place)
      place -= 1
    }
    return found
  }

  /// Whether an initialiser does nothing but call its superclass's with what it was given.
  private func isForwarding(_ index: Int) -> Bool {
    let body = end(ofGroup: index + 1)
    let words = ["{", "super", ".", "init", "(", "entity", ":", "entity", ",", "insertInto", ":"]
    guard words.enumerated().allSatisfy({ text(body + $0) == $1 }) else { return false }
    return text(body + 12) == ")" && text(body + 13) == "}"
  }

  // MARK: Overrides

  /// - Parameter extended: The token of the extension that the member is in; nil for another place.
  mutating func noteOverride(_ index: Int, inExtension extended: Int?) {
    let head = head(from: index)
    let member = name(head.kind + 1)
    if text(head.kind) == "func", member == "fetchRequest" {
      left(
        index,
        "fetchRequest() is no member to override on Linux: remove override, and let it "
          + "give NSFetchRequest of the class")
    } else if text(head.kind) == "init", text(head.kind + 2) == "entity" {
      if isForwarding(head.kind) {
        let first = modifiers(before: index).last ?? index
        remove(first, to: end(ofGroup: end(ofGroup: head.kind + 1)))
        return done(index, "init(entity:insertInto:) removed, which did nothing of its own")
      }
      left(
        index,
        "init(entity:insertInto:) cannot be overridden on Linux: move its work to "
          + "awakeFromInsert() or awakeFromFetch()")
    } else if let extended {
      guard let move = move(index, head, of: extended) else {
        return left(
          index, "a member cannot be overridden in an extension on Linux: move it into the class")
      }
      moves.append(move)
      done(index, "\(member) moved into the class: an extension cannot override it on Linux")
    }
  }

  /// Where a member of an extension goes: to the end of its class, where that is in the same file.
  private func move(_ index: Int, _ head: Head, of extended: Int) -> Move? {
    guard ["func", "var"].contains(text(head.kind)), [":", "{"].contains(text(extended + 2)),
      let end = classEnd(name(extended + 1)),
      let body = (head.kind..<tokens.count).first(where: { text($0) == "{" })
    else { return nil }
    var first = modifiers(before: index).last ?? index
    while first >= 2, text(first - 2) == "@", isAdjacent(first - 1) { first -= 2 }
    let last = self.end(ofGroup: body) - 1
    guard text(last) == "}" else { return nil }
    let start = startOfLine(above: tokens[first].range.lowerBound)
    return Move(
      range: start..<tokens[last].range.upperBound, place: startOfLine(tokens[end].range.lowerBound)
    )
  }

  /// The closing brace of a class in this file.
  private func classEnd(_ wanted: String) -> Int? {
    for index in tokens.indices
    where isLive[index] && text(index) == "class" && name(index + 1) == wanted
      && [":", "{"].contains(text(index + 2))
    {
      guard let brace = (index..<tokens.count).first(where: { text($0) == "{" }) else { return nil }
      let end = end(ofGroup: brace) - 1
      return text(end) == "}" ? end : nil
    }
    return nil
  }

  /// The start of a place's line, where nothing but spaces stand before it there; else the place.
  private func startOfLine(_ place: Int) -> Int {
    var start = place
    while start > 0, bytes[start - 1] == UInt8(ascii: " ") || bytes[start - 1] == UInt8(ascii: "\t")
    {
      start -= 1
    }
    return start == 0 || SwiftLexer.isLineEnd(bytes[start - 1]) ? start : place
  }

  /// The start of the comment that ends on the line above a place, or of the place's own line.
  private func startOfLine(above place: Int) -> Int {
    var start = startOfLine(place)
    while start > 0, SwiftLexer.isLineEnd(bytes[start - 1]) {
      var line = start - 1
      while line > 0, !SwiftLexer.isLineEnd(bytes[line - 1]) { line -= 1 }
      let text = bytes[line..<start].drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
      guard text.starts(with: "//".utf8) else { break }
      start = line
    }
    return start
  }
}
