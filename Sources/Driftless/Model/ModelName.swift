/// What an entity or a property may be called: names become those of tables and columns, and a dot
/// parts the steps of a key path.
enum ModelName {
  static func check(entity name: String) throws(ModelError) {
    guard !name.isEmpty else {
      throw ModelError(.missingName, element: "an entity", "it has no name", suggestion: "Name it.")
    }
    guard isPlain(name), name.first != "_" else {
      throw ModelError(
        .invalidName, element: name, "an entity's name is a letter, then letters, digits and _",
        suggestion: "Rename the entity.")
    }
    // Its table would be named Z and the entity's name, and ours begin with ZDL_.
    guard !name.uppercased().hasPrefix("DL_") else {
      throw ModelError(
        .invalidName, element: name,
        "names that begin with DL_ are kept for the store's own tables",
        suggestion: "Rename the entity.")
    }
  }

  static func check(property name: String, of owner: String) throws(ModelError) {
    guard !name.isEmpty else {
      throw ModelError(
        .missingName, element: owner, "a property has no name", suggestion: "Name it.")
    }
    guard isPlain(name) else {
      throw ModelError(
        .invalidName, element: "\(owner).\(name)",
        "a property's name is a letter or _, then letters, digits and _",
        suggestion: "Rename the property.")
    }
  }

  private static func isPlain(_ name: String) -> Bool {
    name.utf8.count <= 255 && name.first?.isNumber == false
      && name.unicodeScalars.allSatisfy {
        $0 == "_" || $0.properties.isAlphabetic || $0.properties.numericType != nil
          || $0.properties.generalCategory == .nonspacingMark
      }
  }
}
