extension SourcePort {
  /// A name of `@NSManaged var a: Int, b: Int`.
  struct Declarator {
    var name: Int
    /// The tokens of its type; none where it is that of the next name.
    var type: Range<Int>?
    /// The comma behind it.
    var comma: Int?
  }

  /// Why a declaration is left as it is.
  struct Refusal: Error {
    var text: String
  }

  /// Turns what Core Data would make at run time into source.
  mutating func managed(_ index: Int) {
    let head = head(from: index + 2)
    guard !finished.contains(head.kind) else { return remove(index, to: index + 2) }
    do throws(Refusal) {
      switch text(head.kind) {
      case "var": try managedVariables(index, head)
      case "func": try managedFunction(index, head)
      default: throw Refusal(text: "what it stands at is no property and no function")
      }
      finished.insert(head.kind)
      remove(index, to: index + 2)
    } catch {
      left(index, "@NSManaged is not there on Linux: \(error.text), so write it by hand")
    }
  }

  // MARK: Properties

  private mutating func managedVariables(_ index: Int, _ head: Head) throws(Refusal) {
    for modifier in head.modifiers where ["weak", "unowned", "lazy"].contains(text(modifier)) {
      throw Refusal(text: "a property that is \(text(modifier)) is stored")
    }
    let declarators = try declarators(from: head.kind + 1)
    let intro = introduction(index, head)
    var type = ""
    for declarator in declarators.reversed() {
      var addition = ""
      var end = tokens[declarator.name].range.upperBound
      if let range = declarator.type {
        let bounds = tokens[range.lowerBound].range.lowerBound
        end = tokens[range.upperBound - 1].range.upperBound
        type = source(bounds..<end)
      } else {
        addition = ": \(type)"
      }
      addition += " " + accessors(of: name(declarator.name))
      edits.append(Edit(range: end..<end, text: addition))
      if let comma = declarator.comma { split(comma, intro) }
    }
    for declarator in declarators {
      let (name, key) = (name(declarator.name), primitiveKey(name(declarator.name)))
      done(
        declarator.name,
        key.map { "@NSManaged \(name) reads and writes the primitive value of \($0)" }
          ?? "@NSManaged \(name) reads and writes by key")
    }
  }

  func declarators(from first: Int) throws(Refusal) -> [Declarator] {
    var result: [Declarator] = []
    var place = first
    while true {
      guard tokens.indices.contains(place), tokens[place].kind == .word else {
        throw Refusal(text: "its names cannot be read")
      }
      var declarator = Declarator(name: place)
      place += 1
      if text(place) == ":" {
        let end = end(ofType: place + 1)
        guard end > place + 1, !((place + 1)..<end).contains(where: { text($0) == "@" }) else {
          throw Refusal(text: "its type cannot be read")
        }
        declarator.type = (place + 1)..<end
        place = end
      }
      let isEnd = !tokens.indices.contains(place) || tokens[place].beginsLine
      if text(place) == "{" || (text(place) == "=" && !isEnd) {
        throw Refusal(text: "\(name(declarator.name)) has a body or a value")
      }
      if text(place) == ",", tokens.indices.contains(place + 1) {
        declarator.comma = place
        result.append(declarator)
        place += 1
        continue
      }
      guard declarator.type != nil else {
        throw Refusal(text: "\(name(declarator.name)) has no type")
      }
      return result + [declarator]
    }
  }

  /// The token behind a type: it ends with its line, unless that cannot be its end.
  func end(ofType first: Int) -> Int {
    var depth = 0
    var place = first
    while tokens.indices.contains(place), tokens[place].kind != .directive {
      let word = text(place)
      if depth == 0, place > first {
        let goesOn = [".", "&", "->"].contains(word) || [".", "&", "->"].contains(text(place - 1))
        if tokens[place].beginsLine, !goesOn { break }
        if [",", ";", "}", ")", "]", "=", "{"].contains(word) { break }
      }
      if ["(", "[", "<"].contains(word) { depth += 1 }
      if [")", "]", ">"].contains(word) { depth -= 1 }
      place += 1
    }
    return place
  }

  /// What a further name needs before it to be a declaration of its own: a line's beginning and the modifiers.
  private func introduction(_ index: Int, _ head: Head) -> String {
    var first = index
    var before: [String] = []
    while first > 0, Self.modifiers.contains(text(first - 1)) {
      first -= 1
      before.insert(text(first), at: 0)
    }
    let start = tokens[first].range.lowerBound
    var line = start
    while line > 0, !SwiftLexer.isLineEnd(bytes[line - 1]) { line -= 1 }
    let indent = bytes[line..<start].prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    let words =
      before + head.modifiers.map { modifierSource($0) }.filter { $0 != "dynamic" } + ["var"]
    let lineEnd = bytes.contains(UInt8(ascii: "\r")) ? "\r\n" : "\n"
    return lineEnd + String(decoding: indent, as: UTF8.self) + words.joined(separator: " ")
  }

  func modifierSource(_ index: Int) -> String {
    guard text(index + 1) == "(", isAdjacent(index + 1) else { return text(index) }
    let end = end(ofGroup: index + 1)
    return source(tokens[index].range.lowerBound..<tokens[end - 1].range.upperBound)
  }

  /// Puts a declaration's beginning in the place of a comma.
  private mutating func split(_ comma: Int, _ introduction: String) {
    let range = tokens[comma].range
    let next = tokens[comma + 1].range.lowerBound
    let isClear = bytes[range.upperBound..<next].allSatisfy {
      $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || SwiftLexer.isLineEnd($0)
    }
    // A comment behind the comma stays where it is.
    edits.append(
      isClear
        ? Edit(range: range.lowerBound..<next, text: introduction + " ")
        : Edit(range: range, text: introduction))
  }

  func primitiveKey(_ name: String) -> String? {
    let prefix = "primitive"
    guard name.hasPrefix(prefix), let first = name.dropFirst(prefix.count).first,
      first.isUppercase
    else { return nil }
    return Self.key(name.dropFirst(prefix.count))
  }

  /// The name of a property, from its form inside of an accessor's name.
  private static func key(_ name: some StringProtocol) -> String {
    name.prefix(1).lowercased() + name.dropFirst()
  }

  private func accessors(of name: String) -> String {
    let key = primitiveKey(name)
    let (kind, literal) = (key == nil ? "" : "Primitive", "\"\(key ?? name)\"")
    return "{ get { managed\(kind)Value(forKey: \(literal)) } "
      + "set { setManaged\(kind)Value(newValue, forKey: \(literal)) } }"
  }

  // MARK: Functions

  struct Parameter {
    var label: String
    var name: String
    var type: String
  }

  private mutating func managedFunction(_ index: Int, _ head: Head) throws(Refusal) {
    let function = name(head.kind + 1)
    guard text(head.kind + 2) == "(" else { throw Refusal(text: "\(function) cannot be read") }
    let end = end(ofGroup: head.kind + 2)
    guard text(end - 1) == ")" else { throw Refusal(text: "\(function) cannot be read") }
    let isPlain =
      !["{", "->"].contains(text(end))
      && (!["async", "throws", "where", "rethrows"].contains(text(end)) || tokens[end].beginsLine)
    let parameters = parameters(in: (head.kind + 3)..<(end - 1))
    guard isPlain, let parameters, let call = Self.call(function, parameters) else {
      throw Refusal(text: "\(function) is none of the accessors that Xcode writes")
    }
    let place = tokens[end - 1].range.upperBound
    edits.append(Edit(range: place..<place, text: " { \(call) }"))
    done(head.kind + 1, "@NSManaged \(function) changes the relationship by key")
  }

  func parameters(in range: Range<Int>) -> [Parameter]? {
    var result: [Parameter] = []
    var place = range.lowerBound
    while place < range.upperBound {
      var words: [String] = []
      while place < range.upperBound, tokens[place].kind == .word {
        words.append(text(place))
        place += 1
      }
      guard let label = words.first, words.count <= 2, text(place) == ":" else { return nil }
      let end = min(end(ofType: place + 1), range.upperBound)
      let type = ((place + 1)..<end).map { text($0) }.joined()
      result.append(Parameter(label: label, name: words.last ?? label, type: type))
      place = end
      if place < range.upperBound {
        guard text(place) == "," else { return nil }
        place += 1
      }
    }
    return result
  }

  /// The call that does what an accessor of a to-many relationship does; nil for another function.
  static func call(_ function: String, _ parameters: [Parameter]) -> String? {
    func key(after prefix: String, before suffix: String = "") -> String? {
      guard function.hasPrefix(prefix), function.hasSuffix(suffix) else { return nil }
      let name = function.dropFirst(prefix.count).dropLast(suffix.count)
      return name.first?.isUppercase == true ? "\"\(Self.key(name))\"" : nil
    }
    func indexes(_ parameter: Parameter) -> String? {
      switch parameter.type {
      case "Int": "IndexSet(integer: \(parameter.name))"
      case "NSIndexSet", "IndexSet": "IndexSet(\(parameter.name))"
      default: nil
      }
    }
    guard let first = parameters.first, let last = parameters.last else { return nil }
    switch parameters.map(\.label) {
    case ["at"]:
      guard let key = key(after: "removeFrom"), let places = indexes(first) else { return nil }
      return "removeManagedObjects(at: \(places), forKey: \(key))"
    case ["_", "at"]:
      guard let key = key(after: "insertInto"), let places = indexes(last) else { return nil }
      return "insertManagedObjects(\(first.name), at: \(places), forKey: \(key))"
    case ["at", "with"]:
      guard let key = key(after: "replace"), let places = indexes(first) else { return nil }
      return "replaceManagedObjects(at: \(places), with: \(last.name), forKey: \(key))"
    case let labels where labels.count == 1:
      if let key = key(after: "addTo") ?? key(after: "add", before: "Object") ?? key(after: "add") {
        return "addManagedObjects(\(first.name), forKey: \(key))"
      }
      let removed =
        key(after: "removeFrom") ?? key(after: "remove", before: "Object") ?? key(after: "remove")
      return removed.map { "removeManagedObjects(\(first.name), forKey: \($0))" }
    default: return nil
    }
  }
}
