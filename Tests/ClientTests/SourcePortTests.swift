import Foundation
import Testing

@testable import SwiftSource

/// What the port makes of a text.
@Suite struct SourcePortTests {
  /// The new text, which a second run leaves alone with what is left to do.
  private func ported(_ text: String) -> String {
    let result = SourcePort.port(text)
    let again = SourcePort.port(result.text)
    #expect(again.text == result.text)
    #expect(again.notes.map(\.text) == result.notes.filter(\.isLeft).map(\.text))
    return result.text
  }

  private func left(_ text: String) -> [Int] {
    #expect(ported(text) == text)
    return SourcePort.port(text).notes.filter(\.isLeft).map(\.line)
  }

  private func accessors(_ key: String, _ kind: String = "") -> String {
    "{ get { managed\(kind)Value(forKey: \"\(key)\") } "
      + "set { setManaged\(kind)Value(newValue, forKey: \"\(key)\") } }"
  }

  @Test("Classes as an application has them become what the tests of Core Data's names work with")
  func classes() throws {
    let url = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent()
      .appendingPathComponent("CoreDataTests/Volume.swift")
    #expect(ported(VolumeSource.text) == (try String(contentsOf: url, encoding: .utf8)))
    #expect(!SourcePort.port(VolumeSource.text).notes.contains { $0.isLeft })
  }

  @Test("For a build with the plugin @NSManaged stays, and all else is changed")
  func kept() {
    let result = SourcePort.port("@objc(A) class A { @NSManaged var a: Int }", keepsManaged: true)
    #expect(result.text == "class A { @NSManaged var a: Int }")
    #expect(result.notes.count == 1)
  }

  @Test(
    "Attributes of Objective-C go, with the white space that goes with them",
    arguments: [
      ("@objc func a() {}", "func a() {}"),
      ("  @objc(A)\n  class A {}", "  class A {}"),
      ("@objc(A)\r\nclass A {}\r\n", "class A {}\r\n"),
      ("@objcMembers public class A {}", "public class A {}"),
      ("public @objc\nclass A {}", "public\nclass A {}"),
      ("@objc public dynamic var x = 1", "public var x = 1"),
      ("@objc dynamic var x = 1", "var x = 1"),
      ("@objc // why\nfunc a() {}", "// why\nfunc a() {}"),
      ("@objc /* why */ func a() {}", "/* why */ func a() {}"),
      ("@objc(setX:) func a() {}; @objc func b() {}", "func a() {}; func b() {}"),
      ("\u{FEFF}@objc func a() {}", "\u{FEFF}func a() {}"),
      ("var x: Int { @objc(isX) get { 1 } }", "var x: Int { get { 1 } }"),
      ("@objc\n@available(iOS 9, *)\nfunc a() {}", "@available(iOS 9, *)\nfunc a() {}"),
      ("@discardableResult@objc func a() {}", "@discardableResult func a() {}"),
      ("@objc protocol P { }", "protocol P: AnyObject { }"),
      ("@objc protocol P: Q { }", "protocol P: AnyObject, Q { }"),
      ("@objc protocol P: NSObjectProtocol { }", "protocol P: NSObjectProtocol { }"),
      ("@objc func a() {}\n@objc", "func a() {}\n"),
    ])
  func attributes(before: String, after: String) {
    #expect(ported(before) == after)
  }

  @Test(
    "What is no modifier and no attribute stays",
    arguments: [
      "let dynamic = 1\nprint(dynamic)", "x.dynamic\nvar y = 1", "f(dynamic: 1)",
      "@dynamicMemberLookup struct A {}", "@nonobjc func a() {}", "let objc = 1",
      "func dynamic() {}", "import CoreData\nimport Foundation", "", "\n", "@", "#", "`objc`",
    ])
  func others(text: String) {
    #expect(left(text).isEmpty)
  }

  @Test(
    "Nothing in a comment, a text or a regular expression is taken for code",
    arguments: [
      "// @objc var x", "/* @objc /* @NSManaged */ @objc */", "/// @objc\nlet x = 1 // @objc",
      "let a = \"@objc \\\" @objc\"", "let a = #\"\"@objc\\(\"\"#", "let a = #\"\"\"#; f()",
      "let a = \"\"\"\n  @objc \"x\" \"\" \\\"\"\" @objc\n  \"\"\"",
      "let a = ##\"\"\"\n  \"\"\"# @objc\n  \"\"\"##", "let a = \"\\(f(\"@objc\", (1)) )@objc\"",
      "let a = /\"@objc/", "let a = #/ \" @objc /#", "f(/[\\/\"]@objc/)",
      "let a = b / c; let d = \"/ @objc\"",
      "let f = (+), g = (/); let s = \"/@objc\"", "let q = a ? /x\"@objc/ : b",
      "let a = \"\"; // @objc",
      "#!/usr/bin/swift @objc \"\nlet x = 1", "let a = b! / \"@objc\".count / 2",
    ])
  func texts(text: String) {
    #expect(left(text).isEmpty)
  }

  @Test("Code in an interpolation is code")
  func interpolation() {
    #expect(
      ported("let a = \"@objc \\(f(#keyPath(A.b)) + \"@objc\") \\\\(#keyPath(A.b))\"")
        == "let a = \"@objc \\(f(\"b\") + \"@objc\") \\\\(#keyPath(A.b))\"")
    #expect(ported("#\"\\(x) \\#(#keyPath(A.b))\"#") == "#\"\\(x) \\#(\"b\")\"#")
  }

  @Test("A branch of #if for other systems stays, another one does not")
  func branches() {
    let text = """
      #if canImport(UIKit) || os(macOS)
      import UIKit
      @objc class A {}
      #elseif DEBUG && !os(iOS)
      @objc class B {}
      #else
      @objc class C {}
      #endif
      #if os(Linux)
      @objc class D {}
      #else
      @objc class E {}
      #if DEBUG
      @objc class F {}
      #endif
      #endif
      @objc class G {}
      """
    var after = text
    for name in ["B", "C", "D", "G"] {
      after = after.replacingOccurrences(of: "@objc class \(name)", with: "class \(name)")
    }
    #expect(ported(text) == after)
  }

  @Test("Properties get accessors, with their modifiers, types and comments as they are")
  func properties() {
    #expect(
      ported("@NSManaged public var x: [String: Any] // @x")
        == "public var x: [String: Any] \(accessors("x")) // @x")
    #expect(ported("public @NSManaged var `in`: A?") == "public var `in`: A? \(accessors("in"))")
    #expect(ported("class A { @NSManaged var x: A }") == "class A { var x: A \(accessors("x")) }")
    #expect(ported("@NSManaged var x: B<A, C>;") == "var x: B<A, C> \(accessors("x"));")
    #expect(
      ported("@NSManaged\n@objc(y) private(set) var x:\n  Int\nlet y = 1")
        == "private(set) var x:\n  Int \(accessors("x"))\nlet y = 1")
    #expect(
      ported("@NSManaged var primitiveName: String?")
        == "var primitiveName: String? \(accessors("name", "Primitive"))")
    #expect(
      ported("  @NSManaged public var a: Int, b: Set<B, C>\n  var c = 1")
        == "  public var a: Int \(accessors("a"))\n  public var b: Set<B, C> \(accessors("b"))\n  var c = 1"
    )
    #expect(
      ported("@NSManaged var a, b: Int")
        == "var a: Int \(accessors("a"))\nvar b: Int \(accessors("b"))")
    #expect(
      ported("@NSManaged var a: Int, // one\n  b: Int")
        == "var a: Int \(accessors("a"))\nvar // one\n  b: Int \(accessors("b"))")
  }

  @Test(
    "Accessors of relationships get bodies, in older forms too",
    arguments: [
      ("addToBooks(_ value: Book)", "addManagedObjects(value, forKey: \"books\")"),
      ("addBooksObject(_ value: Book)", "addManagedObjects(value, forKey: \"books\")"),
      ("addBooks(_ values: Set<Book>)", "addManagedObjects(values, forKey: \"books\")"),
      ("removeFromBooks(_ values: NSSet)", "removeManagedObjects(values, forKey: \"books\")"),
      ("removeBooksObject(value: Book)", "removeManagedObjects(value, forKey: \"books\")"),
      (
        "removeFromBooks(at idx: Int)",
        "removeManagedObjects(at: IndexSet(integer: idx), forKey: \"books\")"
      ),
      (
        "replaceBooks(at i: NSIndexSet, with values: [Book])",
        "replaceManagedObjects(at: IndexSet(i), with: values, forKey: \"books\")"
      ),
    ])
  func relationships(function: String, call: String) {
    #expect(
      ported("@objc(x:)\n@NSManaged public func \(function)\n")
        == "public func \(function) { \(call) }\n")
  }

  @Test(
    "Key paths that begin with a type become texts",
    arguments: [
      ("#keyPath(A.b)", "\"b\""), ("#keyPath( A.b.c )", "\"b.c\""), ("#keyPath(A.B.c)", "\"c\""),
      ("#keyPath(A.`default`)", "\"default\""), ("f(#keyPath(A.b), 1)", "f(\"b\", 1)"),
    ])
  func keyPaths(before: String, after: String) {
    #expect(ported(before) == after)
  }

  @Test(
    "A getter's selector that is made a text at once becomes the key",
    arguments: [
      ("NSStringFromSelector(#selector(getter: A.b))", "\"b\""),
      ("f(#selector(getter: A.B.c).description, 1)", "f(\"c\", 1)"),
      ("#selector(getter: b).description", "\"b\""),
    ])
  func gettersKeys(before: String, after: String) {
    #expect(ported(before) == after)
  }

  @Test(
    "The import of a module that Linux has not goes under a condition, and is done with then",
    arguments: ["import UIKit", "@preconcurrency import Combine", "public import SwiftUI.View"])
  func imports(line: String) {
    let module = line.split(separator: " ").last?.split(separator: ".").first ?? ""
    let once = ported("import Foundation\n\(line)  // why\nclass A {}\n")
    #expect(
      once == "import Foundation\n#if canImport(\(module))\n\(line)\n#endif  // why\nclass A {}\n")
    #expect(ported(once) == once)
  }

  @Test("A type of file protection is an object by its text")
  func fileProtection() {
    #expect(
      ported("d.setOption(FileProtectionType.complete as NSObject, forKey: k)")
        == "d.setOption(FileProtectionType.complete.rawValue as NSString, forKey: k)")
  }

  @Test(
    "What is left to a person is told with its line, and left as it is",
    arguments: [
      "#keyPath(b.c)", "#keyPath(A)", "#keyPath(A<B>.c)", "#keyPath(/* why */ A.b)", "#selector(a)",
      "#selector(getter: A.b)", "@NSManaged func a() -> Int", "@NSManaged func a(_ b: C) async",
      "@NSManaged func addToA(_ b: C) { }", "@NSManaged func insertIntoA(_ b: C, at i: UInt)",
      "@NSManaged weak var a: B?", "@NSManaged var a", "@NSManaged var a: Int { 1 }",
      "@NSManaged var a: Int = 1", "@NSManaged let a: Int", "@NSManaged init()",
      "@objc optional func a()", "@objc(b) optional var a: Int { get }", "@IBAction func a() {}",
      "@IBOutlet var a: B!", "@UIApplicationMain class A {}", "import UIKit; import os",
      "override class func fetchRequest() -> A { b }", "public override init(entity: A, b: B) {}",
      "extension A { public override func b() {} }",
    ])
  func leftToDo(text: String) {
    #expect(Set(left("\n\r\n\(text)\n")) == [3], "\(text)")
  }

  @Test("A cast between kinds of fetch request is a request of the other kind")
  func casts() {
    #expect(
      ported("a(try b.c() as! NSFetchRequest<NSFetchRequestResult>, d)")
        == "a(try b.c().cast(to: NSFetchRequest<NSFetchRequestResult>.self), d)")
    #expect(
      ported("return request\n  as! NSFetchRequest<Set<A>>\n")
        == "return request.cast(to: NSFetchRequest<Set<A>>.self)\n")
    #expect(left("let a = b as? NSFetchRequest<A>") == [1])
    for other in ["a as! Set<B>", "a as! NSFetchRequest", "a as NSFetchRequest<B>"] {
      #expect(left(other).isEmpty)
    }
  }

  @Test("An initialiser that calls that of NSManagedObject is one for convenience")
  func initialisers() {
    #expect(
      ported(
        """
        class A: NSManagedObject {
          public init(b: B, _ c: C = { C() }()) {
            super.init(entity: A.entity(in: b), insertInto: b)
            d = c
          }

          @objc
          override private init(entity: NSEntityDescription, insertInto context: B?) {
            super.init(entity: entity, insertInto: context)
          }

          func e() {}
        }
        """)
          == """
          class A: NSManagedObject {
            public convenience init(b: B, _ c: C = { C() }()) {
              self.init(entity: A.entity(in: b), insertInto: b)
              d = c
            }


            func e() {}
          }
          """)
    #expect(
      ported("class A { init(b: B) { super.init(context: b) } }").contains("convenience init"))
    #expect(
      left("class A { init(b: B) { super.init(context: b, c) }; init() { super.init() } }") == [])
    let own =
      "class A { override init(entity a: B, insertInto b: C) { d(); super.init(entity: a, insertInto: b) } }"
    #expect(left(own) == [1])
  }

  @Test("An override in an extension goes to its class, where that is in the same file")
  func movedOverrides() {
    #expect(
      ported(
        """
        class A: B {
          var a = 1
        }

        extension A: C {
          // Why.
          @objc public override func willSave() {
            super.willSave()
            b = #keyPath(A.a)
          }

          override var c: Int { 1 }
          func d() {}
        }
        """)
          == """
          class A: B {
            var a = 1

            // Why.
            public override func willSave() {
              super.willSave()
              b = "a"
            }

            override var c: Int { 1 }
          }

          extension A: C {

            func d() {}
          }
          """)
    for other in [
      "class A { class B: C {} }\nextension A.B { override func d() {} }",
      "class A<B>: C {}\nextension A { override func d() {} }",
      "class A: C {}\nextension A where B == D { override func d() {} }",
    ] { #expect(left(other) == [2]) }
  }

  @Test("An override in a class is none in an extension around it")
  func overrides() {
    #expect(left("extension A { class B: C { override func d() {} } }").isEmpty)
    #expect(
      left("extension A where B == C { func b() { } }\nclass D { override func e() {} }").isEmpty)
  }

  @Test(
    "A text that ends too early is left alone",
    arguments: [
      "@objc let a = \"", "@objc /* ", "@objc let a = \"\\(b", "@objc let `a", "@objc #/a",
    ])
  func unfinished(text: String) {
    #expect(left(text) == [1])
  }

  @Test("A note names what was done, in the order of the lines")
  func notes() {
    let notes = SourcePort.port("@objc(B) class A {\n  @NSManaged dynamic var x: Int\n}").notes
    #expect(notes.map(\.line) == [1, 2, 2])
    #expect(notes[0].text == "@objc(B) removed: where a model names B, let it name A")
    #expect(notes[1].text == "@NSManaged x reads and writes by key")
    #expect(!notes.contains { $0.isLeft })
  }

  @Test("Whatever is cut off or mixed up, a second run changes nothing more")
  func anyText() {
    let text = Array(VolumeSource.text.unicodeScalars)
    for end in stride(from: 0, to: text.count, by: 37) {
      var cut = String.UnicodeScalarView()
      cut.append(contentsOf: text[..<end])
      let result = SourcePort.port(String(cut))
      #expect(SourcePort.port(result.text).text == result.text)
    }
  }
}
