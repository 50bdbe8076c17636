import Driftless
import Foundation

/// A store of type `NSBinaryStoreType`: all objects in one file of this library's own, which each save replaces. Core Data's
/// binary stores are archives of its own classes, and are refused by name.
final class BinaryStore: NSAtomicStore, @unchecked Sendable {  // as its superclass
  private var nextReference: [String: Int64] = [:]

  override var type: String { NSBinaryStoreType }

  override class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    try BinaryStoreFile(reading: url, metadataOnly: true).metadata
  }

  override class func setMetadata(
    _ metadata: [String: Any]?, forPersistentStoreAt url: URL
  ) throws {
    var file = try BinaryStoreFile(reading: url)
    let own = file.metadata.filter { $0.key.hasPrefix("NSStore") }
    file.metadata = (metadata ?? [:]).filter { !$0.key.hasPrefix("NSStore") }
      .merging(own) { $1 }
    try file.write(to: url)
  }

  override func load() throws {
    guard let url else { return }
    // The file is there as soon as the store is.
    guard PersistentStoreCoordinator.isThere(url) else {
      if !isForReading { try save() }
      return
    }
    let file = try BinaryStoreFile(reading: url)
    nextReference = file.nextKeys
    var nodes: [ObjectKey: NSAtomicStoreCacheNode] = [:]
    var byRoot: [String: [Int64: NSAtomicStoreCacheNode]] = [:]
    for object in file.objects {
      guard let entity = model.entitiesByName[object.entity] else {
        throw BinaryStoreFile.damaged(
          url, "it has objects of \(object.entity), which the model lacks")
      }
      let node = NSAtomicStoreCacheNode(
        objectID: objectID(for: entity, withReferenceObject: NSNumber(value: object.key)))
      let root = entity.rootEntity.knownName
      guard node.objectID.key.key == object.key, byRoot[root]?[object.key] == nil else {
        throw BinaryStoreFile.damaged(url, "it has two objects \(object.entity)/\(object.key)")
      }
      nextReference[root] = max(nextReference[root] ?? 1, object.key + 1)
      byRoot[root, default: [:]][object.key] = node
      nodes[node.objectID.key] = node
      for (name, value) in object.values {
        node.setValue(try BinaryStoreValue.decode(value, url), forKey: name)
      }
    }
    for object in file.objects {
      guard let entity = model.entitiesByName[object.entity],
        let node = byRoot[entity.rootEntity.knownName]?[object.key]
      else { continue }
      for (name, keys) in object.related {
        guard let root = entity.relationshipsByName[name]?.destinationEntity?.rootEntity.knownName
        else {
          throw BinaryStoreFile.damaged(
            url, "\(object.entity).\(name) is no relationship of the model")
        }
        let others = try keys.map { key in
          guard let other = byRoot[root]?[key] else {
            throw BinaryStoreFile.damaged(
              url, "\(object.entity)/\(object.key).\(name) leads to no object")
          }
          return other
        }
        let isToMany = entity.relationshipsByName[name]?.isToMany == true
        node.setValue(isToMany ? NSOrderedSet(array: others) : others.first, forKey: name)
      }
    }
    addCacheNodes(Set(nodes.values))
  }

  /// Numbers, one more than the last that the hierarchy had: no object gets that of a deleted one.
  override func newReferenceObject(for managedObject: NSManagedObject) -> Any {
    let root = managedObject.entity.rootEntity.knownName
    let number = nextReference[root] ?? 1
    nextReference[root] = number + 1
    return NSNumber(value: number)
  }

  override func updateCacheNode(
    _ node: NSAtomicStoreCacheNode, from managedObject: NSManagedObject
  ) {
    super.updateCacheNode(node, from: managedObject)
    for (name, attribute) in managedObject.entity.attributesByName
    where attribute.type == .transformable && !attribute.isTransient {
      // What the transformer made of the value is written, not the value.
      let data = (try? managedObject.knownPrimitiveValue(forKey: name)) as? Data
      node.setValue(data.map { PropertyValue.data($0) }, forKey: name)
    }
  }

  override func save() throws {
    guard let url else { return }
    let objects = try cacheNodes().map { node in
      var object = BinaryStoreFile.Object(
        entity: node.objectID.entity.knownName, key: node.objectID.key.key)
      for name in node.objectID.entity.attributesByName.keys {
        guard let value = node.value(forKey: name) else { continue }
        object.values[name] = try BinaryStoreValue.encode(value, "\(object.entity).\(name)")
      }
      for name in node.objectID.entity.relationshipsByName.keys {
        let others = Self.others(node.value(forKey: name))
        if !others.isEmpty { object.related[name] = others }
      }
      return object
    }
    let ordered = objects.sorted { ($0.entity, $0.key) < ($1.entity, $1.key) }
    try BinaryStoreFile(metadata: metadata, objects: ordered, nextKeys: nextReference)
      .write(to: url)
  }

  private static func others(_ value: Any?) -> [Int64] {
    let nodes: [Any] =
      switch value {
      case let node as NSAtomicStoreCacheNode: [node]
      case let set as NSOrderedSet: set.array
      case let set as NSSet: set.allObjects
      default: []
      }
    let keys = nodes.compactMap { ($0 as? NSAtomicStoreCacheNode)?.objectID.key.key }
    return value is NSOrderedSet ? keys : keys.sorted()
  }
}

/// Values as a property list has them: what it has no form for is a dictionary of one name.
enum BinaryStoreValue {
  static func encode(_ value: Any, _ place: String) throws -> Any {
    switch value {
    case let value as NSDecimalNumber: return ["decimal": value.decimalValue.description]
    case let value as Decimal: return ["decimal": value.description]
    case let value as UUID: return ["uuid": value.uuidString]
    case let value as NSUUID: return ["uuid": value.uuidString]
    case let value as URL: return ["uri": value.absoluteString]
    case PropertyValue.data(let data): return ["transformed": data]
    case is NSNumber, is String, is Date, is Data: return value
    case let values as [String: Any]:
      let elements = values.filter { !($0.value is NSNull) }
      return ["composite": try elements.mapValues { try encode($0, place) }]
    default:
      throw StoreError(
        .invalidArgument,
        "\(place) holds \(Swift.type(of: value)), which a binary store cannot keep.",
        suggestion: "Keep the objects in an SQLite store.")
    }
  }

  static func decode(_ value: Any, _ url: URL) throws -> Any {
    guard let dictionary = value as? [String: Any] else { return value }
    guard dictionary.count == 1, let (name, content) = dictionary.first else {
      throw BinaryStoreFile.damaged(url, "a value has \(dictionary.count) kinds")
    }
    let text = content as? String ?? ""
    let decoded: Any? =
      switch name {
      case "decimal": Decimal(wholeText: text)
      case "uuid": UUID(uuidString: text)
      case "uri": URL(string: text)
      case "transformed": (content as? Data).map { PropertyValue.data($0) }
      case "composite": try (content as? [String: Any])?.mapValues { try decode($0, url) }
      default: nil
      }
    if let decoded { return decoded }
    throw BinaryStoreFile.damaged(url, "a value of kind \(name) cannot be read")
  }
}
