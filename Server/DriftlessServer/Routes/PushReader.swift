package import DriftlessProtocol
package import Foundation

/// Reads a frame as far as the server needs: its header and its index section. Its values are only
/// checked: whatever gets into a log, every replica can read.
package struct PushReader: Sendable {
  private let decoder: ChangeSetDecoder
  private let limits: ServerLimits

  package init(limits: ServerLimits) {
    var bounds = ChangeSetLimits()
    bounds.frameBytesMax = limits.bodyBytesMax
    bounds.indexBytesMax = min(bounds.indexBytesMax, limits.inflatedBytesMax)
    bounds.objectsMax = limits.objectsPerPushMax
    decoder = ChangeSetDecoder(limits: bounds)
    self.limits = limits
  }

  /// How many bytes the sections of a frame inflate to.
  ///
  /// - Throws: `ProtocolError` when the bytes do not begin with a header.
  package func sizes(of frame: Data) throws -> (index: Int, values: Int) {
    let header = try decoder.decodeHeader(frame)
    return (header.indexSize.raw, header.valuesSize.raw)
  }

  /// - Throws: `ProtocolError` when the bytes are not a change set.
  package func read(_ frame: Data) throws -> Push {
    let (header, index) = try decoder.checkedIndex(frame)
    guard header.parts > 1 || index.farthestMadeBefore == 0 else {
      throw ProtocolError.malformed(
        "The change set names an object of a part before it, and there is none")
    }
    try checkNames(index)
    return Self.push(header, index, frame)
  }

  /// What could never be taken does not come to the writer.
  private func checkNames(_ index: ChangeSetIndex) throws {
    let most = limits.propertiesPerObjectMax
    guard index.groups.allSatisfy({ $0.kind != .update || $0.properties.count <= most }) else {
      throw ServerError.tooManyProperties(most)
    }
    let names = index.entities.reduce(into: Set<String>()) { $0.formUnion($1.properties) }
    guard names.count <= limits.propertiesPerZoneMax else {
      throw ServerError.tooManyNames(limits.propertiesPerZoneMax)
    }
  }

  /// The header of a frame, or of a part that comes as its header alone.
  package func header(of frame: Data) throws -> ChangeSetHeader { try decoder.decodeHeader(frame) }

  /// Reads a frame of a log again, whose values were checked when it came: with numbers for what parts before it make.
  ///
  /// - Parameters:
  ///   - firstNumber: the number of its first new object.
  ///   - madeBefore: how many objects the parts before it make; nil where another server has looked after that.
  func read(_ frame: Data, firstNumber: UInt64, madeBefore: UInt64?) throws -> Push {
    var (header, index) = try decoder.decodeIndex(frame)
    guard index.farthestMadeBefore <= madeBefore ?? .max else {
      throw ProtocolError.malformed(
        "Part \(header.part) names an object that no part before it makes")
    }
    index.number(from: firstNumber)
    return Self.push(header, index, frame)
  }

  private static func push(
    _ header: ChangeSetHeader, _ index: ChangeSetIndex, _ frame: Data
  ) -> Push {
    Push(
      replica: header.replica, number: header.pushNumber, cursor: header.cursor,
      mark: header.mark, formatLevel: header.formatLevel, frame: frame, digest: header.digest,
      contents: contents(index), part: header.parts > 1 ? header : nil)
  }

  private static func contents(_ index: ChangeSetIndex) -> Push.Contents {
    var contents = Push.Contents()
    contents.identities = identities(index)
    contents.touches = touches(index)
    contents.named = named(index)
    contents.relied = relied(index)
    contents.claims = claims(index)
    contents.values = index.values
    contents.tombstones = index.tombstones.map(\.identity)
    contents.newestMilliseconds = index.transactions.lazy.map { $0.hybridTime >> 16 }.max() ?? 0
    let names = index.transactions.map(\.name).filter { $0 != 0 } + index.covered.map(\.name)
    for name in names {
      withUnsafeBytes(of: name.littleEndian) { contents.names.append(contentsOf: $0) }
    }
    return contents
  }

  /// Numbers of those objects that the zone knows.
  private static func known(_ objects: ObjectIndexes, _ index: ChangeSetIndex) -> [UInt64] {
    let newCount = index.newObjectCount
    return objects.compactMap { $0 < newCount ? nil : index.knownNumbers[$0 - newCount] }
  }

  private static func named(_ index: ChangeSetIndex) -> [UInt64] {
    guard !index.knownNumbers.isEmpty else { return [] }
    let newCount = index.newObjectCount
    var isTouched = [Bool](repeating: false, count: index.knownNumbers.count)
    for group in index.groups {
      for object in group.objects where object >= newCount { isTouched[object - newCount] = true }
    }
    return index.knownNumbers.indices.compactMap { isTouched[$0] ? nil : index.knownNumbers[$0] }
  }

  /// A claim is a reliance on its properties as well.
  private static func relied(_ index: ChangeSetIndex) -> [Push.Reliance] {
    let all =
      index.relied.map { ($0.entity, $0.properties, $0.objects) }
      + index.claims.map { ($0.entity, $0.properties, $0.objects) }
    return all.compactMap { entity, properties, objects in
      let numbers = known(objects, index)
      guard !numbers.isEmpty else { return nil }
      let names = index.entities[entity].properties
      return Push.Reliance(properties: properties.map { names[$0] }, objects: numbers)
    }
  }

  private static func claims(_ index: ChangeSetIndex) -> [Push.Claims] {
    let newCount = index.newObjectCount
    return index.claims.map { claims in
      let entity = index.entities[claims.entity]
      return Push.Claims(
        constraint: ZoneConstraint(
          entity: entity.name, properties: claims.properties.map { entity.properties[$0] }),
        keys: zip(claims.objects, claims.hashes).map { object, hash in
          let holder: Push.Claims.Holder =
            object < newCount
            ? .new(UInt64(object)) : .known(index.knownNumbers[object - newCount])
          return (holder, hash.bytes)
        })
    }
  }

  private static func identities(_ index: ChangeSetIndex) -> [Push.IdentityRun] {
    index.newObjects.flatMap { objects -> [Push.IdentityRun] in
      switch objects.identities {
      case .range(let first, let count):
        count > 0 ? [Push.IdentityRun(first: first, count: UInt64(count))] : []
      case .listed(let identities):
        identities.map { Push.IdentityRun(first: $0, count: 1) }
      }
    }
  }

  /// What is set on a new object in the same push needs no place in the index: its insert covers it.
  private static func touches(_ index: ChangeSetIndex) -> [Push.Touch] {
    index.groups.compactMap { group in
      guard let kind = kind(of: group) else { return nil }
      let names = index.entities[group.entity].properties
      let numbers = known(group.objects, index)
      guard !numbers.isEmpty else { return nil }
      return Push.Touch(
        kind: kind, properties: group.properties.map { names[$0] }, objects: numbers)
    }
  }

  private static func kind(of group: ChangeSetIndex.Group) -> Push.Touch.Kind? {
    switch group.kind {
    case .insert: nil
    case .update: .update
    case .delete: .delete
    case .revive: .revive
    }
  }
}
