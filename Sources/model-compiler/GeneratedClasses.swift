import Foundation

/// The source that Xcode generates for entities with *Class Definition* or *Category/Extension*, with bodies in the place of
/// `@NSManaged`.
struct GeneratedClasses {
  private let outline: ModelOutline
  private let file: String

  init(of version: EditedModel.Version) throws {
    outline = try ModelOutline(version)
    file = version.file.path
  }

  var text: String {
    var parts: [String] = []
    for entity in outline.entities {
      guard let name = entity.className else { continue }
      switch entity.words["codeGenerationType"] {
      case "class":
        parts.append("public class \(name): \(parent(of: entity)) {}")
        parts.append(members(of: entity, in: name))
      case "category": parts.append(members(of: entity, in: name))
      default: break
      }
    }
    let head = "// The classes of \(file). They are made at each build: change the model."
    guard !parts.isEmpty else { return head + "\n" }
    return ([head + "\npublic import CoreData"] + parts).joined(separator: "\n\n") + "\n"
  }

  private func className(of entity: String?) -> String {
    outline.entities.first { $0.name == entity }?.className ?? "NSManagedObject"
  }

  private func parent(of entity: ModelOutline.Entity) -> String {
    className(of: entity.words["parentEntity"])
  }

  private func members(of entity: ModelOutline.Entity, in name: String) -> String {
    var lines = [
      "public class func fetchRequest() -> NSFetchRequest<\(name)> {",
      "  NSFetchRequest<\(name)>(entityName: \"\(entity.name)\")", "}",
    ]
    for property in entity.properties {
      let key = "forKey: \"\(property.name)\""
      lines += [
        "", "public var `\(property.name)`: \(type(of: property)) {",
        "  get { managedValue(\(key)) }", "  set { setManagedValue(newValue, \(key)) }", "}",
      ]
      if property.kind == "relationship", property.isSet("toMany") {
        lines += accessors(of: property)
      }
    }
    let body = lines.map { $0.isEmpty ? "" : "  \($0)" }.joined(separator: "\n")
    // A class beneath another has that conformance already.
    let isRoot = parent(of: entity) == "NSManagedObject"
    return "extension \(name)\(isRoot ? ": Identifiable" : "") {\n\(body)\n}"
  }

  private func type(of property: ModelOutline.Property) -> String {
    guard property.kind == "attribute" else {
      if property.isSet("toMany") {
        return property.isSet("ordered") ? "NSOrderedSet?" : "NSSet?"
      }
      return "\(className(of: property.words["destinationEntity"]))?"
    }
    let isScalar = property.isSet("usesScalarValueType")
    switch property.words["attributeType"] {
    case "Integer 16": return isScalar ? "Int16" : "NSNumber?"
    case "Integer 32": return isScalar ? "Int32" : "NSNumber?"
    case "Integer 64": return isScalar ? "Int64" : "NSNumber?"
    case "Double": return isScalar ? "Double" : "NSNumber?"
    case "Float": return isScalar ? "Float" : "NSNumber?"
    case "Boolean": return isScalar ? "Bool" : "NSNumber?"
    case "Date": return isScalar ? "TimeInterval" : "Date?"
    case "Decimal": return "NSDecimalNumber?"
    case "String": return "String?"
    case "Binary": return "Data?"
    case "UUID": return "UUID?"
    case "URI": return "URL?"
    case "Composite": return "[String: Any]?"
    default: return property.words["customClassName"].map { "\($0)?" } ?? "Any?"
    }
  }

  /// The functions that change a to-many relationship.
  private func accessors(of property: ModelOutline.Property) -> [String] {
    let key = "forKey: \"\(property.name)\""
    let name = property.name.prefix(1).uppercased() + property.name.dropFirst()
    let type = className(of: property.words["destinationEntity"])
    let isOrdered = property.isSet("ordered")
    let set = isOrdered ? "NSOrderedSet" : "NSSet"
    var lines = [""]
    for (verb, call) in [("addTo", "addManagedObjects"), ("removeFrom", "removeManagedObjects")] {
      for (label, type) in [("value", type), ("values", set)] {
        lines.append(
          "public func \(verb)\(name)(_ \(label): \(type)) { \(call)(\(label), \(key)) }")
      }
    }
    guard isOrdered else { return lines }
    for (places, objects, indexes) in [
      ("Int", type, "IndexSet(integer: idx)"), ("NSIndexSet", "[\(type)]", "IndexSet(idx)"),
    ] {
      lines += [
        "public func insertInto\(name)(_ value: \(objects), at idx: \(places)) {",
        "  insertManagedObjects(value, at: \(indexes), \(key))", "}",
        "public func removeFrom\(name)(at idx: \(places)) {",
        "  removeManagedObjects(at: \(indexes), \(key))", "}",
        "public func replace\(name)(at idx: \(places), with value: \(objects)) {",
        "  replaceManagedObjects(at: \(indexes), with: value, \(key))", "}",
      ]
    }
    return lines
  }
}
