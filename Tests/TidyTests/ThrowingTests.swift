import Foundation
import Testing

/// Who may throw says what: the doc comment of each public throwing function, initialiser and property names the errors.
struct ThrowingTests {
  private struct Declaration {
    let name: String
    let place: String
    let isRequirement: Bool
    let comment: [Substring]

    var saysWhat: Bool { comment.contains { $0.contains("- Throws:") } }
  }

  private static func trimmed(_ line: Substring) -> Substring { line.drop { $0 == " " } }

  /// What is public and throws in a file, and the requirements of its public protocols.
  private static func declarations(in text: String, _ file: String) -> [Declaration] {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    var found: [Declaration] = []
    var isProtocol = false
    for (number, line) in lines.enumerated() {
      if line.hasPrefix("public protocol "), !line.hasSuffix("}") { isProtocol = true }
      if line.hasPrefix("}") { isProtocol = false }
      let words = trimmed(line).split { !$0.isLetter && $0 != "@" && $0 != "_" }
      guard let kind = words.first(where: { ["func", "init", "subscript", "var"].contains($0) })
      else { continue }
      let before = words.prefix { $0 != kind }
      let isPublic = before.contains("public") || before.contains("open")
      let isRequirement = isProtocol && line.hasPrefix("  ") && !line.hasPrefix("   ")
      guard isPublic || isRequirement, throwsItself(lines[number...], kind) else { continue }
      var first = number
      while first > 0, isAboutTheNext(lines[first - 1]) { first -= 1 }
      let comment = lines[first..<number].filter { trimmed($0).hasPrefix("///") }
      let name = kind == "init" ? "init" : words.drop { $0 != kind }.dropFirst().first ?? ""
      found.append(
        Declaration(
          name: String(name), place: "\(file):\(number + 1)", isRequirement: isRequirement,
          comment: comment))
    }
    return found
  }

  private static func isAboutTheNext(_ line: Substring) -> Bool {
    let code = trimmed(line)
    return code.hasPrefix("//") || code.hasPrefix("@")
  }

  /// Whether the declaration throws, and not a function that it takes: behind its parameters, or in a getter.
  private static func throwsItself(_ lines: ArraySlice<Substring>, _ kind: Substring) -> Bool {
    let text = lines.prefix(24).joined(separator: " ")
    if kind == "var" {
      let getter = text.split(separator: "{", maxSplits: 2).dropFirst().first ?? ""
      return ["get throws", "get async throws"].contains { trimmed(getter).hasPrefix($0) }
    }
    var depth = 0
    var isBehind = false
    var rest = ""
    for character in text {
      if isBehind, character == "{" { break }
      if character == "(" { depth += 1 }
      if character == ")" {
        depth -= 1
        if depth == 0, !isBehind {
          isBehind = true
          continue
        }
      }
      if isBehind { rest.append(character) }
    }
    return ["throws", "async throws"].contains { trimmed(rest[...]).hasPrefix($0) }
  }

  private static func all() throws -> [Declaration] {
    var all: [Declaration] = []
    for module in [
      "Sources/CoreData", "Sources/Driftless", "Sources/DriftlessHTTP", "Sources/DriftlessProtocol",
      "Sources/DriftlessSync", "Sources/DriftlessTesting", "Server/DriftlessServer",
      "Server/DriftlessStorageConformance",
    ] {
      let folder = Pages.root.appendingPathComponent(module)
      let names = FileManager.default.enumerator(atPath: folder.path)
      while let name = names?.nextObject() as? String {
        guard name.hasSuffix(".swift"), !name.hasSuffix(".pb.swift") else { continue }
        all += declarations(
          in: try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8),
          "\(module)/\(name)")
      }
    }
    return all
  }

  @Test("Each public declaration that throws says what")
  func sayWhat() throws {
    let all = try Self.all()
    #expect(all.count > 250)
    // What a type does for a protocol, without words of its own, is told where the protocol is.
    let told = Set(all.filter { $0.isRequirement && $0.saysWhat }.map(\.name))
    for declaration in all where !declaration.saysWhat {
      let isOfProtocol = declaration.comment.isEmpty && told.contains(declaration.name)
      // Those of Codable throw what the coder does, and errors of decoding.
      let isOfCoder = declaration.name == "init" || declaration.name == "encode"
      if isOfProtocol || isOfCoder && Self.isOfCoder(declaration) { continue }
      Issue.record("\(declaration.place): \(declaration.name) throws, and does not say what")
    }
  }

  private static func isOfCoder(_ declaration: Declaration) -> Bool {
    let parts = declaration.place.split(separator: ":")
    guard parts.count == 2, let number = Int(parts[1]),
      let text = try? String(
        contentsOf: Pages.root.appendingPathComponent(String(parts[0])), encoding: .utf8)
    else { return false }
    let line = text.split(separator: "\n", omittingEmptySubsequences: false)[number - 1]
    return line.contains("from decoder: any Decoder") || line.contains("to encoder: any Encoder")
  }

  @Test("What throws is told from what takes a function that does")
  func told() {
    let text = """
      public protocol Empty {}
      extension Way {
        func stay() throws
      }
      public protocol Way {
        /// - Throws: an error.
        func go() throws
        func stay()
      }
      extension Way {
        /// Words.
        @discardableResult
        public func a(
          _ body: () throws -> Void
        ) async throws(E) -> Int { 1 }
        public func b(_ body: () throws -> Void) rethrows { throws(1) }
        public func c(_ body: () throws -> Void) -> Int { 1 }
        /// - Throws: an error.
        public var d: Int {
          get throws { 1 }
        }
        func e() throws {}
        public init() throws {}
      }
      """
    let found = Self.declarations(in: text, "f")
    #expect(found.map(\.name) == ["go", "a", "d", "init"])
    #expect(found.map(\.saysWhat) == [true, false, true, false])
    #expect(found.map(\.comment.count) == [1, 1, 1, 0])
  }
}
