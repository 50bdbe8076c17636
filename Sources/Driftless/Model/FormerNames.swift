extension PropertyDescription {
  /// The key in the `userInfo` of a property or an entity that lists what it was called before, beside its renaming identifier:
  /// names between commas, the newest first.
  ///
  /// A zone's log has what was said under each name, and who joins reads all of it. A renaming identifier names one of them; a
  /// thing that was renamed more than once has the others here, and keeps them.
  public static let formerNamesKey = "driftless.formerNames"

  /// What the property was called before, the newest first: its renaming identifier, and what its `userInfo` lists.
  package var formerNames: [String] {
    Self.formerNames(before: name, renamingIdentifier, userInfo)
  }

  static func formerNames(
    before name: String, _ identifier: String?, _ userInfo: [String: String]
  ) -> [String] {
    let listed = (userInfo[formerNamesKey] ?? "").split(separator: ",").map { name in
      String(name.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
    var names: [String] = []
    for former in [identifier].compactMap(\.self) + listed
    where former != name && !former.isEmpty && !names.contains(former) {
      names.append(former)
    }
    return names
  }
}

extension EntityDescription {
  /// What the entity was called before, the newest first: its renaming identifier, and what its `userInfo` lists under
  /// ``PropertyDescription/formerNamesKey``.
  package var formerNames: [String] {
    PropertyDescription.formerNames(before: name, renamingIdentifier, userInfo)
  }
}
