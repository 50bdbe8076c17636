/// What a Swift file declares that the accessors of its `@NSManaged` members depend on: its types with where they lie, its
/// type aliases, and those members.
struct ManagedSource {
  /// A member with `@NSManaged`.
  struct Member {
    enum Kind {
      case property(type: String, key: String, isPrimitive: Bool)
      /// With the list of its parameters, and the call that does its work.
      case function(parameters: String, call: String)
    }

    var name: String
    /// Words of its access, such as `public private(set)`.
    var access: String
    var kind: Kind
    var line: Int
  }

  /// A member of a class that key-value coding reaches.
  struct Keyed {
    enum Kind {
      case property
      /// A method `validate<Key>`.
      case validator
    }

    /// As the source has it.
    var name: String
    var key: String
    var kind: Kind
  }

  /// A type or an extension.
  struct Scope {
    /// `class`, `extension` and so on.
    var kind: String
    var name: String
    var access: String
    /// Its generic parameters, with their brackets.
    var generics: String
    /// What a class names first behind its colon.
    var parent: String?
    var line: Int
    /// Whether other files of the module have it in every build, free of attributes.
    var isOpen: Bool
    var items: [Item] = []
  }

  indirect enum Item {
    case scope(Scope)
    /// The whole declaration.
    case alias(String)
    case member(Member)
    case keyed(Keyed)
  }

  /// A declaration for which no accessor is made.
  struct Refusal: Error, Hashable {
    var line: Int
    var text: String
  }

  private(set) var items: [Item] = []
  private(set) var refusals: [Refusal] = []
  /// The imports as they are written.
  private(set) var imports: [String] = []

  let port: SourcePort
  private var place = 0

  /// - Throws: ``Refusal`` where the text ends inside of a comment or a text.
  init(_ text: String) throws(Refusal) {
    let bytes = Array(text.utf8)
    do {
      port = SourcePort(bytes, try SwiftLexer.tokens(of: bytes))
    } catch {
      throw Refusal(
        line: bytes[..<error.offset].count { $0 == UInt8(ascii: "\n") } + 1,
        text: "\(error.what) that begins here has no end")
    }
    while place < port.tokens.count { items += members(isCode: false) }
  }

  /// That of no source.
  init() { port = SourcePort([], []) }

  /// What stands up to the brace that closes a scope, or the end. In code of functions nothing is declared that others see.
  private mutating func members(isCode: Bool) -> [Item] {
    var items: [Item] = []
    while place < port.tokens.count {
      let index = place
      place += 1
      guard port.isLive[index] else { continue }
      switch port.text(index) {
      case "}": return items
      case "{": _ = members(isCode: true)
      case "import" where !isCode && port.isDeclaration(index): noteImport(index)
      case "@" where port.text(index + 1) == "NSManaged" && port.isAdjacent(index + 1):
        if isCode {
          refuse(index, "it is in a function's code")
        } else {
          items += managed(index).map { .member($0) }
        }
      case "var", "let", "func":
        if !isCode, port.isDeclaration(index) { items += keyed(index).map { .keyed($0) } }
      case "typealias" where !isCode && port.isDeclaration(index): items += alias(index)
      case "class", "struct", "enum", "actor", "protocol", "extension":
        if !isCode, port.isDeclaration(index), let scope = scope(index) {
          items.append(.scope(scope))
        }
      default: break
      }
    }
    return items
  }

  private mutating func refuse(_ index: Int, _ text: String) {
    refusals.append(Refusal(line: port.line(of: index), text: text))
  }

  private mutating func noteImport(_ index: Int) {
    var end = index + 1
    while end < port.tokens.count, !port.tokens[end].beginsLine, port.text(end) != ";" { end += 1 }
    guard end > index + 1 else { return }
    var first = index
    while first > 0, port.isLive[first - 1], !port.tokens[first].beginsLine { first -= 1 }
    imports.append(text(first..<end))
  }

  /// The source of some tokens on one line, without comments between them.
  private func text(_ range: Range<Int>) -> String {
    range.reduce(into: "") { text, index in
      if index > range.lowerBound, !port.isAdjacent(index) { text += " " }
      text += port.source(port.tokens[index].range)
    }
  }

  // MARK: Access

  static let accessWords: Set<String> = [
    "open", "public", "package", "internal", "fileprivate", "private",
  ]

  /// The words of access among the modifiers before a token.
  private func access(before index: Int) -> String {
    var words: [String] = []
    var place = index - 1
    while place >= 0 {
      if port.text(place) == ")", place > 2, port.text(place - 2) == "(",
        Self.accessWords.contains(port.text(place - 3))
      {
        words.append(text((place - 3)..<(place + 1)))
        place -= 4
      } else if port.text(place) == ")", let start = attribute(endingAt: place) {
        place = start - 1
      } else if place > 0, port.text(place - 1) == "@" {
        place -= 2
      } else if SourcePort.modifiers.contains(port.text(place)) {
        if Self.accessWords.contains(port.text(place)) { words.append(port.text(place)) }
        place -= 1
      } else {
        break
      }
    }
    return words.reversed().map { $0 == "open" ? "public" : $0 }.joined(separator: " ")
  }

  /// Where an attribute with parentheses begins that ends at a token.
  func attribute(endingAt index: Int) -> Int? {
    var depth = 0
    var place = index
    while place > 1 {
      if port.text(place) == ")" { depth += 1 }
      if port.text(place) == "(" { depth -= 1 }
      if depth == 0 { return port.text(place - 2) == "@" ? place - 2 : nil }
      place -= 1
    }
    return nil
  }

  // MARK: Types

  private mutating func alias(_ index: Int) -> [Item] {
    let end = port.end(ofType: index + 1)
    var sign = index + 1
    while sign < end, port.text(sign) != "=" { sign += 1 }
    let last = sign + 1 < port.tokens.count ? port.end(ofType: sign + 1) : end
    place = max(place, last)
    return [.alias("\(access(before: index)) \(text(index..<last))")]
  }

  /// Reads a type or an extension to its end; nil for what is none, such as `class var`.
  private mutating func scope(_ index: Int) -> Scope? {
    let kind = port.text(index)
    guard port.tokens[index + 1].kind == .word,
      !SourcePort.modifiers.contains(port.text(index + 1)),
      !["var", "let", "func", "subscript", "init"].contains(port.text(index + 1))
    else { return nil }
    var scope = Scope(
      kind: kind, name: port.text(index + 1), access: access(before: index), generics: "",
      line: port.line(of: index), isOpen: isOpen(index))
    var next = index + 2
    while port.text(next) == ".", port.tokens.indices.contains(next + 1) {
      scope.name += "." + port.text(next + 1)
      next += 2
    }
    if port.text(next) == "<" {
      let start = next
      var depth = 0
      repeat {
        depth += port.text(next) == "<" ? 1 : port.text(next) == ">" ? -1 : 0
        next += 1
      } while next < port.tokens.count && depth > 0
      scope.generics = text(start..<next)
    }
    if port.text(next) == ":" {
      var end = next + 1
      while port.tokens.indices.contains(end), ![",", "{", "where", "<"].contains(port.text(end)) {
        end += 1
      }
      scope.parent = text((next + 1)..<end)
    }
    while next < port.tokens.count, port.text(next) != "{" {
      if port.text(next) == "where" { scope.generics += " " }
      next += 1
    }
    place = next + 1
    scope.items = members(isCode: kind == "protocol")
    return scope
  }

  // MARK: Members

  private mutating func managed(_ index: Int) -> [Member] {
    let head = port.head(from: index + 2)
    guard port.isCertain[index] else {
      refuse(index, "whether it is compiled depends on a condition of #if: move it out of there")
      return []
    }
    let words = [access(before: index), access(before: head.kind)]
    let access = words.filter { !$0.isEmpty }.joined(separator: " ")
    do throws(SourcePort.Refusal) {
      switch port.text(head.kind) {
      case "var":
        for modifier in head.modifiers
        where ["weak", "unowned", "lazy", "static", "class"].contains(port.text(modifier)) {
          throw SourcePort.Refusal(
            text: "no accessor is made for one that is \(port.text(modifier))")
        }
        return properties(try port.declarators(from: head.kind + 1), access)
      case "func": return [try function(head, access)]
      default: throw SourcePort.Refusal(text: "it stands at no property and no function")
      }
    } catch {
      refuse(index, error.text)
      return []
    }
  }

  private func properties(_ declarators: [SourcePort.Declarator], _ access: String) -> [Member] {
    var type = ""
    return declarators.reversed().map { declarator in
      if let range = declarator.type { type = text(range) }
      let name = port.text(declarator.name)
      let primitive = port.primitiveKey(port.name(declarator.name))
      return Member(
        name: name, access: access,
        kind: .property(
          type: type.hasSuffix("!") ? type.dropLast() + "?" : type,
          key: primitive ?? port.name(declarator.name), isPrimitive: primitive != nil),
        line: port.line(of: declarator.name))
    }.reversed()
  }

  private func function(
    _ head: SourcePort.Head, _ access: String
  ) throws(SourcePort.Refusal) -> Member {
    let name = port.name(head.kind + 1)
    let end = port.text(head.kind + 2) == "(" ? port.end(ofGroup: head.kind + 2) : head.kind + 2
    guard port.text(end - 1) == ")", !["{", "->"].contains(port.text(end)),
      let parameters = port.parameters(in: (head.kind + 3)..<(end - 1)),
      let call = SourcePort.call(name, parameters)
    else {
      throw SourcePort.Refusal(text: "\(name) is none of the accessors that Xcode writes")
    }
    return Member(
      name: name, access: access,
      kind: .function(parameters: text((head.kind + 2)..<end), call: call),
      line: port.line(of: head.kind))
  }
}
