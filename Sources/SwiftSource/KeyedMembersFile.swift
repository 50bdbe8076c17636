extension ManagedModule {
  /// The source of the type `ManagedKeys`, which tells of each member of the module's managed objects that key-value coding
  /// reaches.
  package var keyedMembers: File {
    var lines: [String] = []
    let classes = managedClasses
    for source in sources { Self.add(source.items, in: "", classes, to: &lines) }
    let head = "// Which members answer to keys. It is made at each build: change the classes."
    let text =
      lines.isEmpty
      ? head + "\n"
      : """
      \(head)
      import CoreData

      enum ManagedKeys: KeyedMembers {
        static func connect() {
      \(lines.map { "    \($0)" }.joined(separator: "\n"))
        }
      }

      """
    return File(name: "ManagedKeys.swift", text: text)
  }

  /// The names of the classes whose superclasses lead to `NSManagedObject` within the module.
  private var managedClasses: Set<String> {
    var parents: [String: String] = [:]
    func note(_ items: [ManagedSource.Item]) {
      for case .scope(let scope) in items {
        if scope.kind == "class" { parents[Self.last(scope.name)] = Self.last(scope.parent ?? "") }
        note(scope.items)
      }
    }
    for source in sources { note(source.items) }
    var managed: Set<String> = ["NSManagedObject", "ManagedObject"]
    while true {
      let more = parents.filter { managed.contains($0.value) && !managed.contains($0.key) }
      if more.isEmpty { return managed }
      managed.formUnion(more.keys)
    }
  }

  private static func last(_ name: String) -> String {
    name.split(separator: ".").last.map(String.init) ?? ""
  }

  private static func add(
    _ items: [ManagedSource.Item], in type: String, _ classes: Set<String>,
    to lines: inout [String]
  ) {
    let isManaged = classes.contains(last(type))
    for item in items {
      switch item {
      case .scope(let scope) where scope.isOpen && scope.generics.isEmpty:
        let path = type.isEmpty ? scope.name : "\(type).\(scope.name)"
        if ["class", "extension", "struct", "enum"].contains(scope.kind) {
          add(scope.items, in: path, classes, to: &lines)
        }
      case .keyed(let member) where isManaged:
        switch member.kind {
        case .property: lines.append("accessor(\\\(type).\(member.name), \"\(member.key)\")")
        case .validator:
          lines.append(
            "validator(\"\(member.key)\") { (object: \(type), value) in "
              + "try object.\(member.name)(value) }")
        }
      default: break
      }
    }
  }
}
