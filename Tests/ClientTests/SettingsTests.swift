import Foundation
import ProgramStart
import TestSupport
import Testing

/// Files of settings, of `syncd` and of the server: what is wrong is told with its line.
struct SettingsTests {
  private static let inner = [SettingDeclaration("flag", .flag, "")]
  private static let settings = [
    SettingDeclaration("port", .whole(1...100), ""), SettingDeclaration("name", .text, ""),
    SettingDeclaration("inner", .object(inner), ""),
  ]

  private static func complaints(_ text: String) -> [String] {
    let reader = SettingsReader()
    do throws(SettingsComplaint) {
      let node = try SettingsNode(Data(text.utf8))
      let root = reader.object(node, "the file", settings, isFile: true)
      _ = root.whole("port")
      _ = root.text("name")
      if let inner = root.node("inner") {
        _ = reader.object(inner, "\"inner\"", Self.inner).flag("flag")
      }
      return reader.complaints.map { $0.text(in: "f") }
    } catch {
      return [error.text(in: "f")]
    }
  }

  @Test(
    "What is wrong is told with its line, and what was perhaps meant",
    arguments: [
      ("{\n\"prot\": 1}", "f:2: \"prot\" is no setting (did you mean \"port\"?); known are"),
      ("{\"inn\": 1}", "(did you mean \"inner\"?)"),
      ("{\n\"zzzzzzzz\": 1}", "f:2: \"zzzzzzzz\" is no setting; known are"),
      (
        "{\"port\": 1,\n\n\"port\": 2}",
        "f:3: \"port\" stands twice in one object (line 1 has it too)"
      ),
      ("{\"port\": 1,\n\"p\\u006frt\": 2}", "f:2: \"port\" stands twice"),
      ("{\"inner\": {\n\"flag\": true,\n\"flag\": true}}", "f:3: \"flag\" stands twice"),
      ("{\"port\":\n101}", "f:1: \"port\" is a whole number from 1 to 100"),
      ("{\"port\": 1.5}", "is a whole number"), ("{\"port\": 1e400}", "number"),
      ("{\"port\": \"1\"}", "is a whole number"), ("{\"port\": true}", "is a whole number"),
      ("{\"name\": \"\"}", "is a text that is not empty"),
      ("{\"name\": \"a\\u0000b\"}", "\"name\" has the character 0 in it"),
      ("{\"name\": \"a\u{0}b\"}", "f:1: this is no JSON object: a text has a control character"),
      ("{\u{0}\"name\": \"a\"}", "f:1: this is no JSON object: the name of a setting"),
      ("{\"port\": \u{0}}", "the byte 00 stands where a value is due"),
      ("{\"name\": \"a\n\"}", "has no second quote on its line"),
      ("{\n\"port\": 1\n\"name\": \"x\"}", "f:3: this is no JSON object: a comma or } is due"),
      ("{\"port\": 1,,}", "the name of a setting"), ("{,}", "the name of a setting"),
      ("{\"port\" 1}", "a colon is due"),
      ("{\"port\": 1} x", "something follows"), ("", "the file is empty"), (" \n ", "is empty"),
      ("[1]", "the file is not a JSON object"), ("null", "the file is not a JSON object"),
      ("{\"port\": 1", "a comma or }"), ("{\"name\": \"\\", "the file ends within a text"),
      ("{\"name\": \"\\q\"}", "an escape that is none"), ("{\"inner\": [", "the file ends where"),
      ("{\"inner\": []}", "\"inner\" is not a JSON object"), ("{'port': 1}", "in double quotes"),
      ("/ x\n{}", "\"/\" stands where a value is due"),
      (
        "{\n/* x\n\"port\": 1}",
        "f:2: this is no JSON object: a comment begins here that has no end"
      ),
      ("{\"port\": /* 1\n\n*/ 101}", "is a whole number from 1"),
      ("// one\n/* two\nthree */ {\n\"prot\": 1}", "f:4: \"prot\" is no setting"),
      ("{\"$schema\": 1}", "\"$schema\" is a text"),
      ("{\"inner\": {\"$schema\": \"x\"}}", "is no setting"),
      ("{\"port\": 1-2}", "1-2 is no number"),
    ])
  func wrong(text: String, words: String) {
    let complaints = Self.complaints(text)
    #expect(complaints.contains { $0.contains(words) }, "\(complaints)")
  }

  @Test("All that is wrong is told, and what is right is taken")
  func all() {
    let complaints = Self.complaints("{\n\"port\": 0,\n\"nam\": 1,\n\"inner\": {\"flag\": 1}\n}")
    #expect(complaints.count == 3, "\(complaints)")
    #expect(Self.complaints("{\"port\": 7, \"name\": \"ä\\u00e4\", \"inner\": {}}").isEmpty)
  }

  @Test("What is nested without end, or is no UTF-8, is refused and ends nothing")
  func hostile() {
    let deep = Self.complaints("{\"inner\": " + String(repeating: "[", count: 1_000_000))
    #expect(deep.first?.contains("nested more than 32 deep") == true, "\(deep)")
    #expect(throws: SettingsComplaint.self) {
      try SettingsNode(Data([0x7B, 0x22, 0xFF, 0xFE, 0x22, 0x3A, 0x31, 0x7D]))
    }
  }

  @Test("What is no file of a person's size is not read")
  func files() throws {
    let directory = try TemporaryDirectory()
    let pipe = directory.file("pipe")
    try #require(mkfifo(pipe.path, 0o600) == 0)
    let large = directory.file("large")
    try Data().write(to: large)
    try #require(truncate(large.path, 1 << 40) == 0)
    for path in ["/dev/zero", pipe.path, large.path, directory.url.path, "/nowhere/x"] {
      let complaint = #expect(throws: SettingsComplaint.self) { try SettingsNode.read(path) }
      #expect(complaint?.line == nil, "\(path)")
    }
  }
}
