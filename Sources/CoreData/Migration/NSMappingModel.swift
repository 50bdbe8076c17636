import Driftless
public import Foundation

/// What becomes of the objects of one model in another: an entity mapping for each way, in the order in which they are
/// worked through.
open class NSMappingModel: NSObject {
  /// What becomes of the objects of each entity.
  open var entityMappings: [NSEntityMapping]!

  /// A mapping model without mappings.
  public override init() { entityMappings = [] }

  init(_ known: MappingModel) { entityMappings = known.entityMappings.map(NSEntityMapping.init) }

  /// A mapping model that Core Data's compiler wrote (`.cdm`); nil when it cannot be read.
  public init?(contentsOf url: URL?) {
    guard let url, let known = try? MappingModel(contentsOf: url) else { return nil }
    entityMappings = known.entityMappings.map(NSEntityMapping.init)
  }

  /// The first mapping model in the bundles, the main one for nil, that is for these two models; nil when there is none.
  public init?(
    from bundles: [Bundle]?, forSourceModel sourceModel: NSManagedObjectModel?,
    destinationModel: NSManagedObjectModel?
  ) {
    guard let sourceModel, let destinationModel,
      let known = try? MappingModel(
        from: ManagedObjectModel.resourceFolders(in: bundles), forSourceModel: sourceModel,
        destinationModel: destinationModel)
    else { return nil }
    entityMappings = known.entityMappings.map(NSEntityMapping.init)
  }

  /// The mapping that follows from two models.
  /// - Throws: 134190, which names what needs a mapping of its own.
  open class func inferredMappingModel(
    forSourceModel sourceModel: NSManagedObjectModel, destinationModel: NSManagedObjectModel
  ) throws -> NSMappingModel {
    do {
      let model = NSMappingModel(
        try MappingModel.inferredMappingModel(
          forSourceModel: sourceModel, destinationModel: destinationModel))
      for mapping in model.entityMappings { mapping.tell(of: sourceModel, destinationModel) }
      return model
    } catch { throw cocoaError(error) }
  }

  /// The mappings by name; of two with one name the first.
  open var entityMappingsByName: [String: NSEntityMapping] {
    Dictionary(entityMappings.map { ($0.name ?? "", $0) }) { first, _ in first }
  }

  /// As the library has it.
  func known() throws -> MappingModel {
    MappingModel(entityMappings: try (entityMappings ?? []).map { try $0.known() })
  }
}

/// What becomes of the objects of one entity.
open class NSEntityMapping: NSObject {
  /// Names the mapping in expressions.
  open var name: String!
  /// What it does.
  open var mappingType = NSEntityMappingType.undefinedEntityMappingType
  /// Nil for an entity that is added.
  open var sourceEntityName: String?
  /// Nil for an entity that is removed.
  open var destinationEntityName: String?
  /// The entity's hash in the model that the mapping is for; nil for any.
  open var sourceEntityVersionHash: Data?
  /// The same of the destination.
  open var destinationEntityVersionHash: Data?
  /// Where the values of attributes come from.
  open var attributeMappings: [NSPropertyMapping]?
  /// Where the objects of relationships come from.
  open var relationshipMappings: [NSPropertyMapping]?
  /// Which objects of the source; all when nil.
  open var sourceExpression: NSExpression?
  /// An `NSEntityMigrationPolicy`, with its module: `Shop.ItemPolicy`; nil for that class itself.
  open var entityMigrationPolicyClassName: String?
  /// What an application keeps with the mapping; of it the migration sees texts.
  open var userInfo: [AnyHashable: Any]?

  /// A mapping of nothing.
  public override init() {}

  static let policyKey = "CoreData.policy"

  init(_ known: EntityMapping) {
    name = known.name
    mappingType =
      NSEntityMappingType(rawValue: UInt(known.mappingType.rawValue)) ?? .undefinedEntityMappingType
    sourceEntityName = known.sourceEntityName
    destinationEntityName = known.destinationEntityName
    sourceEntityVersionHash = known.sourceEntityVersionHash
    destinationEntityVersionHash = known.destinationEntityVersionHash
    attributeMappings = known.attributeMappings.map(NSPropertyMapping.init)
    relationshipMappings = known.relationshipMappings.map(NSPropertyMapping.init)
    sourceExpression = known.sourceExpression.map(NSExpression.init(known:))
    var info = known.userInfo
    entityMigrationPolicyClassName =
      info.removeValue(forKey: Self.policyKey) ?? known.entityMigrationPolicyClassName
    userInfo = info.isEmpty ? nil : info
  }

  /// An inferred mapping says in its `userInfo` which properties stay, come and go.
  fileprivate func tell(of source: NSManagedObjectModel, _ destination: NSManagedObjectModel) {
    guard let old = sourceEntityName.flatMap({ source.entitiesByName[$0] }),
      let new = destinationEntityName.flatMap({ destination.entitiesByName[$0] })
    else { return }
    func names(of entity: EntityDescription) -> Set<String> {
      Set(entity.attributesByName.keys).union(entity.relationshipsByName.keys)
    }
    let former = names(of: old)
    let sources = names(of: new).map { name in
      (name, from: new.propertiesByName[name]?.renamingIdentifier ?? name)
    }
    let mapped = sources.filter { former.contains($0.from) }
    userInfo = [
      "mappedProperties": Set(mapped.map(\.0)),
      "addedProperties": names(of: new).subtracting(mapped.map(\.0)),
      "removedProperties": former.subtracting(mapped.map(\.from)),
    ]
  }

  func known() throws -> EntityMapping {
    var known = EntityMapping(
      name: name, type: EntityMappingType(rawValue: Int(mappingType.rawValue)) ?? .undefined,
      from: sourceEntityName, to: destinationEntityName,
      attributes: try (attributeMappings ?? []).map { try $0.known() },
      relationships: try (relationshipMappings ?? []).map { try $0.known() },
      sourceExpression: try sourceExpression?.outcome.get(), userInfo: texts(of: userInfo))
    known.sourceEntityVersionHash = sourceEntityVersionHash
    known.destinationEntityVersionHash = destinationEntityVersionHash
    guard let policy = entityMigrationPolicyClassName else { return known }
    EntityMigrationPolicy.register(MigrationPolicyBridge.self)
    known.entityMigrationPolicyClassName = String(reflecting: MigrationPolicyBridge.self)
    known.userInfo[Self.policyKey] = policy
    return known
  }
}

/// Where the value of one property of the destination comes from.
open class NSPropertyMapping: NSObject {
  /// The property of the destination entity.
  open var name: String?
  /// What gives the value; nil to leave it to the policy, or to the property's default.
  open var valueExpression: NSExpression?
  /// What an application keeps with the mapping; of it the migration sees texts.
  open var userInfo: [AnyHashable: Any]?

  /// A mapping of nothing.
  public override init() {}

  init(_ known: PropertyMapping) {
    name = known.name
    valueExpression = known.valueExpression.map(NSExpression.init(known:))
    userInfo = known.userInfo.isEmpty ? nil : known.userInfo
  }

  func known() throws -> PropertyMapping {
    PropertyMapping(
      name: name ?? "", valueExpression: try valueExpression?.outcome.get(),
      userInfo: texts(of: userInfo))
  }
}
