/// Writes the skeleton of one source: its types, empty, and its members with marks. Each is on lines of its own.
struct SkeletonWriter {
  /// What every skeleton has beside its sources.
  static let support = """
    import Driftless
    import Foundation

    public typealias NSManagedObject = ManagedObject
    public typealias NSManagedObjectID = ManagedObjectID

    """

  /// The library's types that members name, as a module of their own.
  static let library = """
    open class ManagedObject: Hashable {
      public init() {}
      public static func == (one: ManagedObject, other: ManagedObject) -> Bool { one === other }
      public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }
    public final class ManagedObjectID: Hashable {
      public static func == (one: ManagedObjectID, other: ManagedObjectID) -> Bool { one === other }
      public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }

    """

  let source: Int
  /// The next member's.
  private(set) var number: Int
  private let classes: Set<String>
  private let types: Set<String>
  private let dropped: Set<ManagedModule.Piece>
  private let refused: Set<Int>
  private(set) var owners: [Int: ManagedModule.Piece] = [:]
  private var lines = ["import Driftless", "import Foundation"]
  private var place = 0

  init(
    source: Int, number: Int, classes: Set<String>, types: Set<String>,
    dropped: Set<ManagedModule.Piece>, refused: Set<Int>
  ) {
    self.source = source
    self.number = number
    self.classes = classes
    self.types = types
    self.dropped = dropped
    self.refused = refused
  }

  var text: String { lines.joined(separator: "\n") + "\n" }

  mutating func write(_ items: [ManagedSource.Item], isLeftOut: Bool = false) {
    for item in items {
      switch item {
      case .scope(let scope): write(scope, isLeftOut)
      case .alias(let text):
        let piece = nextPiece()
        if !isLeftOut, !dropped.contains(piece) { add(text, piece) }
      case .member(let member):
        if !isLeftOut, !refused.contains(number) { write(member) }
        number += 1
      case .keyed: break
      }
    }
  }

  private mutating func nextPiece() -> ManagedModule.Piece {
    place += 1
    return .declaration(source: source, place: place)
  }

  /// Adds a declaration, which may have several lines.
  private mutating func add(_ text: String, _ piece: ManagedModule.Piece?) {
    for line in text.split(whereSeparator: \.isNewline) {
      lines.append(String(line))
      owners[lines.count] = piece
    }
  }

  private mutating func write(_ scope: ManagedSource.Scope, _ isOutside: Bool) {
    let piece = nextPiece()
    let first = String(scope.name.prefix { $0 != "." })
    let isForeign = scope.kind == "extension" && !types.contains(first)
    // What is said of generic parameters may name what is not here.
    let isGeneric = scope.generics.contains(" ") && scope.kind == "extension"
    let isLeftOut = isOutside || isForeign || isGeneric || dropped.contains(piece)
    if !isLeftOut { add(header(scope), piece) }
    write(scope.items, isLeftOut: isLeftOut)
    if !isLeftOut { lines.append("}") }
  }

  private func header(_ scope: ManagedSource.Scope) -> String {
    let start = "\(scope.access) \(scope.kind) \(scope.name)"
    switch scope.kind {
    case "class":
      let parent = scope.parent.flatMap { parent in
        classes.contains(parent.split(separator: ".").last.map(String.init) ?? "") ? parent : nil
      }
      let open = start.replacing("public", with: "open")
      return "\(open)\(scope.generics): \(parent ?? "ManagedObject") {"
    case "enum": return "\(start)\(scope.generics) { case managedSkeleton"
    case "struct": return "\(start)\(scope.generics): Hashable {"
    case "extension", "protocol": return "\(start) {"
    default: return "\(start)\(scope.generics) {"
    }
  }

  private mutating func write(_ member: ManagedSource.Member) {
    let piece = ManagedModule.Piece.member(number)
    // A skeleton is compiled and never run.
    let body = "{ fatalError() }"
    switch member.kind {
    case .property(let type, _, _):
      add(
        """
        \(member.access) var \(member.name): \(type) {
        @_semantics("managed.\(number).get") get \(body)
        @_semantics("managed.\(number).set") set \(body)
        }
        """, piece)
    case .function(let parameters, _):
      add(
        "@_semantics(\"managed.\(number).call\") \(member.access) func \(member.name)"
          + "\(parameters) \(body)", piece)
    }
  }
}
