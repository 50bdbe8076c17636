/// Writes the XML of small models for tests.
struct ModelText {
  struct Entity {
    var name: String
    /// (name, XML attribute type, conflict policy or nil)
    var attributes: [(name: String, type: String, policy: String?)] = []
    /// (name, destination, inverse, is to-many)
    var relationships: [(name: String, destination: String, inverse: String, toMany: Bool)] = []
    var deletePolicy: String?
  }

  var entities: [Entity]

  var xml: String {
    var text = """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">

      """
    for entity in entities { text += Self.xml(of: entity) }
    return text + "</model>\n"
  }

  private static func xml(of entity: Entity) -> String {
    var text = "  <entity name=\"\(entity.name)\" syncable=\"YES\">\n"
    for attribute in entity.attributes {
      text +=
        "    <attribute name=\"\(attribute.name)\" optional=\"YES\" attributeType=\"\(attribute.type)\">"
      if let policy = attribute.policy {
        text +=
          "<userInfo><entry key=\"driftless.conflictPolicy\" value=\"\(policy)\"/></userInfo>"
      }
      text += "</attribute>\n"
    }
    for relationship in entity.relationships {
      text +=
        "    <relationship name=\"\(relationship.name)\" optional=\"YES\" "
        + (relationship.toMany ? "toMany=\"YES\"" : "maxCount=\"1\"")
        + " deletionRule=\"Nullify\" destinationEntity=\"\(relationship.destination)\""
        + " inverseName=\"\(relationship.inverse)\" inverseEntity=\"\(relationship.destination)\"/>\n"
    }
    if let policy = entity.deletePolicy {
      text +=
        "    <userInfo><entry key=\"driftless.deletePolicy\" value=\"\(policy)\"/></userInfo>\n"
    }
    return text + "  </entity>\n"
  }
}
