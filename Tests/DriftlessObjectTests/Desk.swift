import Driftless
import Foundation
import TestSupport
import Testing

/// Folders that hold papers, which know nothing of it, in a store of either layout.
///
/// Binders are folders, letters are papers; a folder has parts, which are folders, a pile in order, and drafts that go with it.
struct Desk {
  static let papers = ToMany<ManagedObject, ManagedObject>("papers")
  static let pile = ToMany<ManagedObject, ManagedObject>("pile")
  static let parts = ToMany<ManagedObject, ManagedObject>("parts")
  static let drafts = ToMany<ManagedObject, ManagedObject>("drafts")

  let layout: ToManyLayout
  let coordinator: PersistentStoreCoordinator
  let store: PersistentStore
  let url: URL
  private let directory: TemporaryDirectory
  private let contexts = Contexts()

  private final class Contexts {
    var all: [ManagedObjectContext] = []
  }

  static func model() -> ManagedObjectModel {
    let folder = EntityDescription("Folder")
    let count = DerivedAttributeDescription()
    count.name = "paperCount"
    count.attributeType = .integer64
    count.isOptional = true
    count.derivationExpressionFormat = "papers.@count"
    folder.properties = [
      AttributeDescription("name", .string), count,
      RelationshipDescription("papers", to: "Paper", inverse: nil, toMany: true),
      RelationshipDescription("pile", to: "Paper", inverse: nil, toMany: true, isOrdered: true),
      RelationshipDescription("parts", to: "Folder", inverse: nil, toMany: true),
      RelationshipDescription(
        "drafts", to: "Letter", inverse: nil, toMany: true, deleteRule: .cascade),
    ]
    let binder = EntityDescription("Binder")
    binder.superentityName = "Folder"
    let paper = EntityDescription("Paper")
    paper.properties = [
      AttributeDescription("text", .string), AttributeDescription("pages", .integer32),
    ]
    let letter = EntityDescription("Letter")
    letter.superentityName = "Paper"
    return ManagedObjectModel(entities: [folder, binder, paper, letter])
  }

  init(_ layout: ToManyLayout) throws {
    self.layout = layout
    directory = try TemporaryDirectory()
    url = directory.file("desk.sqlite")
    var options = StoreOptions()
    options.holdsToManyInColumns = layout == .columns
    store = try PersistentStore.open(url: url, model: Self.model(), options: options)
    coordinator = PersistentStoreCoordinator(store: store)
  }

  /// A context that is there as long as the desk: what it is asked for once is not let go of with it.
  func context() -> ManagedObjectContext {
    let context = ManagedObjectContext(coordinator)
    contexts.all.append(context)
    return context
  }
}

extension ManagedObjectContext {
  func insert(_ entity: String, _ name: String) throws -> ManagedObject {
    let object = try insert(entityNamed: entity)
    object[object.labelKey] = name
    return object
  }

  /// The object of another context, here.
  func here(_ other: ManagedObject) throws -> ManagedObject {
    try #require(object(with: other.objectID))
  }

  /// The names of what a fetch of an entity with a predicate finds, sorted.
  func names(_ entity: String, _ format: String, _ arguments: Any?...) throws -> [String] {
    let request = FetchRequest<ManagedObject>(
      entityName: entity, predicate: try FetchPredicate(format: format, argumentArray: arguments))
    return try fetch(request).compactMap(\.caption).sorted()
  }
}

extension ManagedObject {
  fileprivate var labelKey: String { entity.propertiesByName["name"] == nil ? "text" : "name" }

  /// Its name or its text.
  var caption: String? { self[labelKey] as? String }

  /// The names of what a relationship holds, sorted unless it has an order.
  func labels(_ relationship: String) -> [String] {
    let key = ToMany<ManagedObject, ManagedObject>(relationship)
    let labels = self[key].array.compactMap(\.caption)
    return entity.relationshipsByName[relationship]?.isOrdered == true ? labels : labels.sorted()
  }
}
