/// The symbols of a member, as the compiler names them.
struct ManagedSymbol {
  /// How far a symbol is seen: `hidden`, `private`, `package`; nothing for a public one.
  var linkage: String
  var name: String

  /// Those of each marked member of a skeleton, by `get`, `set` and `call`.
  static func all(in intermediate: String) -> [Int: [String: ManagedSymbol]] {
    var result: [Int: [String: ManagedSymbol]] = [:]
    let mark = "[_semantics \"managed."
    for line in intermediate.split(separator: "\n") where line.hasPrefix("sil ") {
      guard let range = line.firstRange(of: mark) else { continue }
      let parts = line[range.upperBound...].prefix { $0 != "\"" }.split(separator: ".")
      guard parts.count == 2, let number = Int(parts[0]),
        let sign = line[range.upperBound...].firstIndex(of: "@")
      else { continue }
      let name = line[line.index(after: sign)...].prefix { $0 != " " }
      let linkage = line.dropFirst("sil ".count).prefix { $0 != "[" && $0 != " " }
      result[number, default: [:]][String(parts[1])] = ManagedSymbol(
        linkage: String(linkage), name: name.filter { $0 != "\"" })
    }
    return result
  }
}

/// The accessors of one source's members.
struct AccessorFile {
  private let path: String
  private let imports: [String]
  private var lines: [String] = []
  /// Whether some accessor is seen outside of the module.
  private var isPublic = false

  init(path: String, imports: [String]) {
    self.path = path
    var seen: Set<String> = []
    self.imports = imports.filter { seen.insert($0).inserted }
  }

  var text: String {
    let head =
      "// The accessors of \(path.replacing("\n", with: " ")). They are made at each build: change that file."
    // An import that is public for nothing is a warning.
    let imports = imports.map { isPublic ? $0 : $0.replacing("public import", with: "import") }
    return ([head] + imports + lines).joined(separator: "\n") + "\n"
  }

  mutating func add(
    _ number: Int, _ item: ManagedModule.Numbered, _ symbols: [String: ManagedSymbol]
  ) {
    lines.append("extension \(item.type) {")
    switch item.member.kind {
    case .property(let type, let key, let isPrimitive):
      // A primitive value is asked for by text.
      let kind = isPrimitive ? "Primitive" : ""
      let name = isPrimitive ? "forKey: \"\(key)\"" : "for: \(item.type).managed\(number)Key"
      if !isPrimitive {
        lines.append("private static let managed\(number)Key = ManagedKey(\"\(key)\")")
      }
      function(
        symbols["get"], "managed\(number)Get() -> \(type) { managed\(kind)Value(\(name)) }")
      // The compiler's own setters own what they are given.
      function(
        symbols["set"],
        "managed\(number)Set(_ value: __owned \(type)) { setManaged\(kind)Value(value, \(name)) }")
    case .function(let parameters, let call):
      function(symbols["call"], "managed\(number)\(parameters) { \(call) }")
    }
    lines.append("}")
  }

  private mutating func function(
    _ symbol: ManagedSymbol?, _ text: String
  ) {
    guard let symbol else { return }
    isPublic = isPublic || symbol.linkage.isEmpty
    let access =
      switch symbol.linkage {
      case "": "@usableFromInline "
      case "package": "package "
      default: ""
      }
    lines.append(
      "@_silgen_name(\"\(symbol.name)\") \(access)func \(text)")
  }
}
