import Driftless
import DriftlessProtocol

extension Simulation {
  /// In a world with encrypted attributes the server has cells of them, and no values.
  func checkSealed() {
    guard generated.isSealed, !hasRogue else { return }
    var encrypted: Set<String> = []
    for model in models {
      for entity in model.entities {
        for case let attribute as AttributeDescription in entity.propertiesByName.values
        where attribute.isEncrypted {
          encrypted.insert("\(entity.name).\(attribute.name)")
        }
      }
    }
    if encrypted.isEmpty { fail("sealed", "no attribute is encrypted") }
    for frame in server.frames {
      guard let changeSet = try? ChangeSetDecoder().decode(frame) else { continue }
      var columns = changeSet.columns[...]
      for group in changeSet.index.groups {
        let names = changeSet.index.entities[group.entity]
        for (property, column) in zip(group.properties, columns) {
          let name = "\(names.name).\(names.properties[property])"
          let isNothing = (0..<column.count).allSatisfy { column.isNull(at: $0) }
          if case .sealed = column.values {
            if !encrypted.contains(name) { fail("sealed", "\(name) is sealed") }
          } else if encrypted.contains(name), !isNothing {
            fail("sealed", "\(name) is in the clear")
          }
        }
        columns = columns.dropFirst(group.properties.count)
      }
    }
  }
}
