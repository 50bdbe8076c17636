import Driftless

extension ImportTransaction {
  /// Adds to numbers of an object.
  ///
  /// - Parameter set: What the same line sets: no property is in both.
  func add(
    _ members: [JSONValue.Member], to object: ManagedObject, besides set: [JSONValue.Member],
    _ line: Int
  ) throws {
    guard !members.isEmpty else { return }
    let shape = shapes.shape(of: object.entity)
    func leaves(_ members: [JSONValue.Member]) -> [JSONValue.Member] {
      members.flatMap { member in
        guard shape.properties[member.name] == nil, let elements = shape.elements(of: member) else {
          return [member]
        }
        return leaves(elements)
      }
    }
    let setNames = Set(leaves(set).map(\.name))
    var addedNames: Set<String> = []
    for member in leaves(members) {
      let name = "\(shape.entity.name).\(member.name)"
      guard let property = shape.properties[member.name] else {
        throw shape.unknown(member.name, line)
      }
      guard !setNames.contains(member.name) else {
        throw ImportError(line: line, "\(name) is in \"set\" and in \"add\" of one line")
      }
      guard addedNames.insert(member.name).inserted else {
        throw ImportError(line: line, "\(name) is in \"add\" twice")
      }
      guard case .attribute(let type, let key) = property else {
        throw ImportError(line: line, "\(name) is a relationship: nothing can be added to it")
      }
      // What is shown in its place is nobody's number: the sum would be taken for the whole of it.
      if ImportedSum.expectation(of: type) != nil,
        let broken = try context.unreadableValue(member.name, of: object)
      {
        throw ImportError(
          line: line,
          "\(name) \(broken.breach), its column holds \(broken.text), and nothing can be added to it",
          suggestion: "take what the zone has (syncctl verify --repair)"
            + (object[key].propertyValue.isNull ? "" : ", or set it to null, save, and set it anew")
        )
      }
      do throws(ImportedSum.Refusal) {
        let sum = try ImportedSum.sum(object[key].propertyValue, member.value, type: type)
        object[key] = ImportedAttribute(propertyValue: sum)
      } catch {
        throw ImportError(line: line, "\(name) \(error.reason)")
      }
    }
  }
}
