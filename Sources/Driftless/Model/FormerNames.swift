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

extension ManagedObjectModel {
  /// Two entities, or two properties of one entity, that both say that they were called by one name before. Nobody can tell of
  /// which of them a log speaks that has the name.
  package struct SharedFormerName: Hashable {
    /// As `Entity` or `Entity.property`.
    package let first: String
    package let second: String
    /// What both were called.
    package let name: String
  }

  /// What the model gives to two as a former name, by the names of now.
  package var sharedFormerNames: [SharedFormerName] {
    var found: [SharedFormerName] = []
    func look(_ things: [(label: String, former: [String])]) {
      var owners: [String: String] = [:]
      for thing in things.sorted(by: { $0.label < $1.label }) {
        for name in thing.former {
          guard let owner = owners[name] else {
            owners[name] = thing.label
            continue
          }
          let shared = SharedFormerName(first: owner, second: thing.label, name: name)
          // An heir has what its parent has.
          if !found.contains(shared) { found.append(shared) }
        }
      }
    }
    look(entities.map { ($0.name, $0.formerNames) })
    for entity in entities.sorted(by: { $0.name < $1.name }) {
      look(
        entity.propertiesByName.values.map {
          ("\($0.entity?.name ?? entity.name).\($0.name)", $0.formerNames)
        })
    }
    return found
  }
}
