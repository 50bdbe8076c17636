/// The sources of a module, and what their `@NSManaged` members need to be linked.
///
/// Swift on Linux calls the accessors of such a member, and makes none. A function with the symbol of one is one. Which symbol
/// that is, the compiler says itself: it is given a skeleton of the module, which has its types, empty, and its
/// members with bodies that are marked by numbers.
package struct ManagedModule {
  /// A text of a file.
  package struct File: Hashable, Sendable {
    package var name: String
    package var text: String
  }

  /// What a person has to mend.
  package struct Problem: Hashable, Sendable {
    package var path: String
    package var line: Int
    package var text: String
  }

  /// A member with where it stands.
  struct Numbered {
    var member: ManagedSource.Member
    /// Its type's path, such as `Book.Part`.
    var type: String
    /// The place of its file.
    var source: Int
  }

  private let paths: [String]
  private(set) var sources: [ManagedSource] = []
  private(set) var members: [Numbered] = []
  package private(set) var problems: [Problem] = []
  private var refused: Set<Int> = []
  /// Scopes and aliases that the compiler did not take.
  private var dropped: Set<Piece> = []
  /// What stands on a line of the skeleton.
  private var owners: [String: [Int: Piece]] = [:]
  /// Names of the module's classes.
  private var classes: Set<String> = []
  private var types: Set<String> = []

  /// A part of the skeleton that can be left out.
  enum Piece: Hashable {
    case member(Int)
    /// A type, an extension or an alias, by its file and its place there.
    case declaration(source: Int, place: Int)
  }

  /// - Parameter sources: Every Swift source of the module, with its path.
  package init(_ sources: [(path: String, text: String)]) {
    paths = sources.map(\.path)
    for (path, text) in sources {
      do {
        let source = try ManagedSource(text)
        self.sources.append(source)
        for refusal in source.refusals { note(path, refusal.line, "@NSManaged: \(refusal.text)") }
      } catch {
        note(path, error.line, error.text)
        self.sources.append(ManagedSource())
      }
    }
    for source in self.sources { noteTypes(source.items) }
    for index in self.sources.indices { number(self.sources[index].items, in: index, "") }
  }

  /// Whether no member needs anything.
  package var isPlain: Bool { members.isEmpty }

  private mutating func note(_ path: String, _ line: Int, _ text: String) {
    problems.append(Problem(path: path, line: line, text: text))
  }

  private mutating func noteTypes(_ items: [ManagedSource.Item]) {
    for case .scope(let scope) in items {
      if scope.kind != "extension" { types.insert(scope.name) }
      if scope.kind == "class" { classes.insert(scope.name) }
      noteTypes(scope.items)
    }
  }

  /// Gives each member its number.
  ///
  /// - Parameter reason: Why no accessors are made there, where that is so.
  private mutating func number(
    _ items: [ManagedSource.Item], in source: Int, _ type: String,
    _ reason: String? = "it is in no class"
  ) {
    for item in items {
      switch item {
      case .scope(let scope):
        let isClass = ["class", "extension"].contains(scope.kind)
        let outer = scope.generics.isEmpty ? nil : "\(scope.name) is generic or has conditions"
        number(
          scope.items, in: source, type.isEmpty ? scope.name : "\(type).\(scope.name)",
          isClass ? outer : "\(scope.name) is no class")
      case .member(let member):
        if let reason {
          refused.insert(members.count)
          refuse(member, source, reason)
        }
        members.append(Numbered(member: member, type: type, source: source))
      case .alias, .keyed: break
      }
    }
  }

  private mutating func refuse(_ member: ManagedSource.Member, _ source: Int, _ reason: String) {
    note(paths[source], member.line, "@NSManaged \(member.name): \(reason). \(Self.advice(member))")
  }

  /// What to write where no accessor can be made.
  private static func advice(_ member: ManagedSource.Member) -> String {
    switch member.kind {
    case .property(let type, let key, let isPrimitive):
      let kind = isPrimitive ? "Primitive" : ""
      return "Write: var \(member.name): \(type) { get { managed\(kind)Value(forKey: \"\(key)\") } "
        + "set { setManaged\(kind)Value(newValue, forKey: \"\(key)\") } }"
    case .function(let parameters, let call):
      return "Write: func \(member.name)\(parameters) { \(call) }"
    }
  }

  // MARK: The skeleton

  /// The name of the file that looks whether the types are seen from other files.
  private static let scopeCheck = "ManagedScopes.swift"

  /// The source of a module `Driftless` with the types of the library that members name.
  package static let library = File(name: "Library.swift", text: SkeletonWriter.library)

  /// The files of the skeleton.
  package mutating func skeleton() -> [File] {
    owners = [:]
    var files: [File] = []
    var next = 0
    for index in sources.indices {
      var writer = SkeletonWriter(
        source: index, number: next, classes: classes, types: types, dropped: dropped,
        refused: refused)
      writer.write(sources[index].items)
      next = writer.number
      let name = Self.fileName(paths[index])
      owners[name] = writer.owners
      files.append(File(name: name, text: writer.text))
    }
    files.append(scopes())
    files.append(File(name: "ManagedSkeleton.swift", text: SkeletonWriter.support))
    return files
  }

  /// Functions of each member's types in another file, where the accessors will be.
  private mutating func scopes() -> File {
    var lines = ["import Driftless", "import Foundation"]
    for (number, item) in members.enumerated() where !refused.contains(number) {
      let text =
        switch item.member.kind {
        // A skeleton is compiled and never run.
        case .property(let type, _, _): "func managed\(number)() -> \(type) { fatalError() }"
        case .function(let parameters, _): "func managed\(number)\(parameters) {}"
        }
      lines.append("extension \(item.type) { \(text) }")
      owners[Self.scopeCheck, default: [:]][lines.count] = .member(number)
    }
    return File(name: Self.scopeCheck, text: lines.joined(separator: "\n") + "\n")
  }

  private static func fileName(_ path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? path
  }

  // MARK: What the compiler says

  /// Takes what the compiler does not have of a skeleton; whether another skeleton can go without.
  package mutating func leaveOut(diagnostics: String) -> Bool {
    var isLess = false
    for line in diagnostics.split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 4, omittingEmptySubsequences: false)
      guard parts.count == 5, parts[3] == " error", let number = Int(parts[1]),
        let piece = owners[Self.fileName(String(parts[0]))]?[number]
      else { continue }
      switch piece {
      case .member(let index):
        guard refused.insert(index).inserted else { continue }
        refuse(
          members[index].member, members[index].source,
          "\(parts[4].drop { $0 == " " }); types of this module, Swift's and Foundation's are known"
        )
      case .declaration: guard dropped.insert(piece).inserted else { continue }
      }
      isLess = true
    }
    return isLess
  }

  /// The accessors, a file for each that is asked for, of the compiler's text for the skeleton.
  ///
  /// - Parameters:
  ///   - intermediate: What `swiftc -emit-silgen` gives.
  ///   - wanted: Paths of sources.
  package mutating func accessors(intermediate: String, for wanted: [String]) -> [File] {
    let symbols = ManagedSymbol.all(in: intermediate)
    for (number, item) in members.enumerated()
    where !refused.contains(number) && symbols[number] == nil {
      refused.insert(number)
      refuse(
        item.member, item.source,
        "its type \(item.type) is declared in no source of this module")
    }
    return wanted.compactMap { path in
      guard let source = paths.firstIndex(of: path) else { return nil }
      var file = AccessorFile(path: path, imports: sources[source].imports)
      for (number, item) in members.enumerated() where item.source == source {
        if let symbols = symbols[number] { file.add(number, item, symbols) }
      }
      return File(name: path, text: file.text)
    }
  }
}
