import Foundation
import Testing

/// A test that has nothing to look at says so (`.enabled(if:)`) or fails: it does not pass.
struct SilentTests {
  private static let root = Pages.root.path

  /// The bodies of a file's tests, each with the number of its first line and its indentation.
  private static func bodies(
    of lines: [Substring]
  ) -> [(first: Int, indentation: String, lines: ArraySlice<Substring>)] {
    var found: [(first: Int, indentation: String, lines: ArraySlice<Substring>)] = []
    for (number, line) in lines.enumerated() {
      let indentation = String(line.prefix { $0 == " " })
      guard line.dropFirst(indentation.count).hasPrefix("@Test") else { continue }
      let rest = lines[number...]
      guard
        let first = rest.firstIndex(where: {
          $0.hasPrefix(indentation) && !$0.hasPrefix(indentation + " ") && $0.contains("func ")
        }), let end = lines[first...].firstIndex(where: { $0 == indentation + "}" })
      else { continue }
      found.append((first + 1, indentation + "  ", lines[first + 1..<end]))
    }
    return found
  }

  /// Whether something is looked at, itself or by `expectSomething`, or is said to be missing.
  private static func looks(_ lines: ArraySlice<Substring>) -> Bool {
    lines.contains { line in
      line.split { !$0.isLetter }.contains {
        ["expect", "require", "confirmation", "Issue"].contains($0)
          || $0.hasPrefix("expect") && $0.dropFirst(6).first?.isUppercase == true
      }
    }
  }

  /// The lines of a body's own `guard` and `if` that leave the test before it has looked at anything.
  private static func silentReturns(of lines: [Substring]) -> [Int] {
    bodies(of: lines).flatMap { body in
      body.lines.indices.filter { number in
        let start = body.lines[number].dropFirst(body.indentation.count)
        guard body.lines[number].hasPrefix(body.indentation),
          start.hasPrefix("guard ") || start == "guard" || start.hasPrefix("if ")
        else { return false }
        let rest = body.lines[(number + 1)...].prefix { line in
          let code = line.dropFirst(body.indentation.count)
          return line.isEmpty || code.hasPrefix(" ") || code.hasPrefix("else")
            || code.hasPrefix("}")
        }
        let statement = body.lines[number..<rest.endIndex]
        // What lies deeper is a closure's.
        let own = statement.filter { line in
          line.prefix { $0 == " " }.count <= body.indentation.count + 2
        }
        return own.contains { line in line.split { !$0.isLetter }.contains("return") }
          && !looks(statement) && !looks(body.lines[..<number])
      }
    }
  }

  @Test("No test leaves before it has looked at anything, and passes")
  func returns() throws {
    var count = 0
    for folder in ["Tests", "Examples"] {
      let names = FileManager.default.enumerator(atPath: "\(Self.root)/\(folder)")
      while let name = names?.nextObject() as? String {
        guard name.hasSuffix(".swift"), !name.contains(".build/") else { continue }
        let text = try String(contentsOfFile: "\(Self.root)/\(folder)/\(name)", encoding: .utf8)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        count += Self.bodies(of: lines).count
        for line in Self.silentReturns(of: lines) {
          Issue.record("\(folder)/\(name):\(line + 1): .enabled(if:) or Issue.record says why")
        }
      }
    }
    #expect(count > 3_000)
  }

  @Test(
    "A return before anything is looked at is found in each form that it has",
    arguments: [
      ("guard let a else { return }", true), ("guard let a\n    else { return }", true),
      ("guard\n      let a\n    else {\n      print(a)\n      return\n    }", true),
      ("if a { return }", true), ("guard let a else { return Issue.record(\"no a\") }", false),
      ("guard let a else {\n      Issue.record(\"no a\")\n      return\n    }", false),
      ("#expect(a)\n    guard let b else { return }", false),
      ("if a {\n      hook = {\n        guard b else { return }\n      }\n    }", false),
      ("list.forEach {\n      guard let a = $0 else { return }\n    }", false),
    ])
  func forms(body: String, isSilent: Bool) {
    let lines = "  @Test(\n    \"a\")\n  func a() {\n    \(body)\n    #expect(b)\n  }"
      .split(separator: "\n", omittingEmptySubsequences: false)
    #expect(Self.silentReturns(of: lines).count == (isSilent ? 1 : 0))
  }
}
