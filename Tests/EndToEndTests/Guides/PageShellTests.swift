import Foundation
import TestSupport
import Testing

/// What README and the guides tell to type works, in the order in which they tell it, and prints what they show.
struct PageShellTests {
  /// Pages with commands that run here.
  private static let runPages = PageShell.paths.filter {
    (try? PageShell(path: $0).commands.isEmpty) == false
  }

  /// How many blocks of a page do not run here, each with a reason beside it. A block that is added to a page and does not run
  /// is added here.
  private static let notRun: [String: Int] = [
    "README.md": 3,
    "Examples/PointOfSale/README.md": 2,
    "CodeMeasures.md": 1,
    "DaemonManual.md": 3,
    "Encryption.md": 2,
    "Installing.md": 5,
    "ServerManual.md": 8,
    "Simulation.md": 1,
    "SyncGuide.md": 1,
    "Tutorial.md": 1,
    "Working.md": 1,
  ]

  private static let languages: Set<String> = [
    "sh", "output", "console", "swift", "text", "xml", "json", "nginx", "ini", "yaml",
  ]

  @Test(
    "Every block of commands in a page runs, and prints what the page shows", arguments: runPages)
  func commandsRun(path: String) throws {
    let directory = try TemporaryDirectory()
    let (status, blocks) = try PageShell(path: path).run(in: directory.file("page"))
    for block in blocks {
      guard let text = block.text else {
        Issue.record("\(path): not come to:\n\(block.command)")
        continue
      }
      if let expected = block.expected {
        let isShown = try PageShell.matches(text, shown: expected)
        #expect(
          isShown, "\(path) shows\n\(expected)\nand printed was\n\(text)\nby\n\(block.command)")
      }
    }
    #expect(status == 0, "\(path): \(blocks.last { $0.text != nil }?.text ?? "")")
  }

  @Test("Pages run: README, the guides and the manuals")
  func pagesRun() {
    let names = Set(Self.runPages.map { $0.split(separator: "/").last.map(String.init) ?? $0 })
    #expect(
      names.isSuperset(of: [
        "README.md", "SyncGuide.md", "DaemonManual.md", "ServerManual.md", "Models.md",
      ]))
  }

  @Test(
    "No block is left out in silence: each that does not run says why, and is counted",
    arguments: PageShell.paths)
  func reasonsStand(path: String) throws {
    let name = path.split(separator: "/").last.map(String.init) ?? path
    let blocks = try PageShell(path: path).blocks
    for block in blocks {
      #expect(
        Self.languages.contains(block.language),
        "\(path): a block is marked \"\(block.language)\":\n\(block.text)")
    }
    let consoles = blocks.filter { $0.language == "console" }
    for block in consoles {
      let reason = block.before.components(separatedBy: "<!-- not run: ").last ?? ""
      #expect(
        block.before.hasPrefix("<!-- not run: ") && reason.count > 12,
        "\(path): no reason stands before\n\(block.text)")
    }
    #expect(consoles.count == Self.notRun[path] ?? Self.notRun[name] ?? 0, "\(path)")
  }

  @Test("What a page shows is compared line by line")
  func comparison() throws {
    #expect(try PageShell.matches("a 1 b\nc\n", shown: "a … b\nc\n"))
    #expect(try PageShell.matches("x\ny\nc\n", shown: "…\nc\n"))
    #expect(try PageShell.matches("c\n", shown: "…\nc\n"))
    #expect(try !PageShell.matches("a 1 b\nd\n", shown: "a … b\nc\n"))
    #expect(try !PageShell.matches("a\n\nb\n", shown: "a\nb\n"))
    #expect(try PageShell.matches("a\n\nb\n", shown: "a\n\nb\n"))
    #expect(PageShell(text: "```sh\ntrue\n").blocks.map(\.language) == ["unclosed"])
  }

  @Test("A page whose command fails, or prints something else, is found")
  func failing() throws {
    let directory = try TemporaryDirectory()
    let page = PageShell(
      text:
        "text\n\n```sh\necho one 8080\n```\n\n```output\none 8080\n```\n\n```sh\nfalse\n```\n```sh\ntrue\n```\n"
    )
    let (status, blocks) = try page.run(in: directory.file("page"))
    #expect(status == 1)
    #expect(blocks.map(\.text) == ["one 8080\n", "", nil])
    #expect(try PageShell.matches(blocks[0].text ?? "", shown: blocks[0].expected ?? ""))
  }

  @Test("A free port that has a page's port within it is put in once, and out again")
  func portNames() {
    let ports = PortNames(written: ["8080", "8443"], free: ["58443", "38080"])
    let page = "one 8080\ntwo 8443\n"
    #expect(ports.free(in: page) == "one 58443\ntwo 38080\n")
    #expect(ports.written(in: ports.free(in: page)) == page)
  }
}
