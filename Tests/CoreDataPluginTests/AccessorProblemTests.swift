import Foundation
import TestSupport
import Testing

/// What the plugin's program says of members that it makes no accessors for.
struct AccessorProblemTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  /// Where programs are built, beside the tests.
  static let folder = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    .deletingLastPathComponent()

  /// The compiler that the search path finds.
  private static let compiler: String = {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    return path.split(separator: ":").map { "\($0)/swiftc" }
      .first { FileManager.default.isExecutableFile(atPath: $0) } ?? "swiftc"
  }()

  /// What it says of one source, without the folder's path, and the accessors.
  private func run(_ text: String) throws -> (lines: [String], accessors: String?) {
    let (source, output, log) = (
      folder.file("Book.swift"), folder.file("Accessors.swift"), folder.file("log")
    )
    try Data(text.utf8).write(to: source)
    try Data().write(to: log)
    let process = Process()
    process.executableURL = Self.folder.appendingPathComponent("managed-accessors")
    process.arguments = [
      "--module", "App", "--compiler", Self.compiler, "--work", folder.file("work").path,
      "--accessors", source.path, output.path, source.path,
    ]
    process.standardError = try FileHandle(forWritingTo: log)
    try process.run()
    process.waitUntilExit()
    let said = try String(contentsOf: log, encoding: .utf8)
      .replacingOccurrences(of: source.path, with: "Book.swift")
    #expect((process.terminationStatus == 0) == said.isEmpty)
    return (
      said.split(separator: "\n").map(String.init), try? String(contentsOf: output, encoding: .utf8)
    )
  }

  private static let title =
    "Write: var title: Title? { get { managedValue(forKey: \"title\") } "
    + "set { setManagedValue(newValue, forKey: \"title\") } }"

  @Test(
    "A member is refused by its file and line, with what to write",
    arguments: [
      ("class Book: NSManagedObject {\n  @NSManaged var title: Title?\n}", 2, "cannot find type"),
      (
        "private enum Title {}\nclass Book: NSManagedObject {\n  @NSManaged private var title: Title?\n}",
        3, "is inaccessible"
      ),
      (
        "class Title<T>: NSManagedObject {\n  @NSManaged var title: Title?\n}", 2,
        "Title is generic"
      ),
      ("struct Book {\n @NSManaged var title: Title?\n}", 2, "Book is no class"),
      ("enum Title {}\n@NSManaged var title: Title?", 2, "it is in no class"),
      (
        "enum Title {}\nextension Foreign {\n@NSManaged var title: Title?\n}", 3,
        "cannot find type 'Foreign'"
      ),
    ])
  func refused(text: String, line: Int, reason: String) throws {
    let (lines, accessors) = try run(text)
    #expect(lines.count == 1 && accessors == nil, "\(lines)")
    #expect(lines.first?.hasPrefix("Book.swift:\(line):1: error: @NSManaged title: ") == true)
    #expect(lines.first?.contains(reason) == true, "\(lines)")
    #expect(lines.first?.hasSuffix(Self.title) == true, "\(lines)")
  }

  @Test(
    "What is no accessor, and what only some builds have, says what to do",
    arguments: [
      ("class A: B {\n#if DEBUG\n  @NSManaged var title: String?\n#endif\n}", 3, "move it out"),
      ("class A: B {\n  @NSManaged func run() -> Int\n}", 2, "none of the accessors"),
      ("class A: B {\n  @NSManaged lazy var title: String?\n}", 2, "lazy"),
      ("class A: B {\n  @NSManaged var title = 1\n}", 2, "has a body or a value"),
      ("class A: B { func f() {\n @NSManaged var title: String?\n} }", 2, "function's code"),
      ("class A: B {}\n/* @NSManaged", 2, "a comment that begins here has no end"),
    ])
  func unclear(text: String, line: Int, reason: String) throws {
    let (lines, accessors) = try run(text)
    #expect(lines.count == 1 && accessors == nil, "\(lines)")
    #expect(lines.first?.hasPrefix("Book.swift:\(line):1: error: ") == true, "\(lines)")
    #expect(lines.first?.contains(reason) == true, "\(lines)")
  }

  @Test("What no member needs may name what is not here")
  func others() throws {
    let (lines, accessors) = try run(
      """
      import Elsewhere
      typealias Strange = Elsewhere.Thing
      extension Elsewhere.Thing { struct Inner {} }
      extension Array where Element == Strange { enum Part { case one } }
      protocol Shelf: Strange { associatedtype Kind }
      struct Pair<One, Other: Strange> where Other.Kind == One {}
      final class Stack<Element>: Elsewhere.Base<Element> { class var shared: Int { 1 } }
      actor Worker { enum State { case done } }
      class Book: Elsewhere.Base, Shelf { // @NSManaged var no: Nowhere
        @objc(Kind) public enum Kind: Int16, CaseIterable { case one = 1 }
        @NSManaged @objc public internal(set) var kinds: Set<Kind>, other: Kind, pair: NSManagedObject!
        @NSManaged @objc(addPagesObject:) public func addToPages(_ value: Book)
        let text = "@NSManaged var text: Nowhere"
      }
      """)
    #expect(lines.isEmpty, "\(lines)")
    let symbols = (accessors ?? "").split(separator: "\n").filter { $0.contains("@_silgen_name") }
    #expect(symbols.count == 7, "\(symbols)")
    #expect(accessors?.contains("import Elsewhere\n") == true)
  }
}
