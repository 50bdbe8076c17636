public import Driftless
public import Foundation

extension ManagedObjectModel {
  /// A model from a file or a bundle of versions, compiled or as it is edited; nil when it cannot be read.
  public convenience init?(contentsOf url: URL) {
    do { try self.init(reading: url) } catch { return nil }
  }

  /// One model of several; nil when two describe an entity differently.
  public convenience init?(byMerging models: [NSManagedObjectModel]) {
    do { try self.init(merging: models) } catch { return nil }
  }

  /// One model of several, or of those of the main bundle for nil; nil when two describe an entity differently.
  public convenience init?(byMerging models: [NSManagedObjectModel]?) {
    do {
      var merged = models ?? []
      if models == nil, let main = try ManagedObjectModel.merged(from: nil) {
        merged = [main]
      }
      try self.init(merging: merged)
    } catch { return nil }
  }

  /// Those of several models, as one, that a store with this metadata was written with; nil when they do not account for it.
  public convenience init?(
    byMerging models: [NSManagedObjectModel], forStoreMetadata metadata: [String: Any]
  ) {
    do { try self.init(merging: models, forStoreMetadata: metadata) } catch { return nil }
  }

  /// One model of all that the bundles hold, the main one for nil; nil when they hold none, or one cannot be read.
  public class func mergedModel(from bundles: [Bundle]?) -> NSManagedObjectModel? {
    try? ManagedObjectModel.merged(from: bundles)
  }

  /// The model that a store with this metadata was written with, out of every version that the bundles hold.
  public class func mergedModel(
    from bundles: [Bundle]?, forStoreMetadata metadata: [String: Any]
  ) -> NSManagedObjectModel? {
    try? ManagedObjectModel.merged(from: bundles, forStoreMetadata: metadata)
  }

  /// Names of the version; other values than texts are left out.
  public var versionIdentifiers: Set<AnyHashable> {
    get {
      Set(knownVersionIdentifiers.map { AnyHashable($0) })
    }
    set {
      knownVersionIdentifiers = Set(newValue.compactMap { $0.base as? String })
    }
  }

  /// Names and texts for people, by keys such as `Entity/Book`; nil for none.
  public var localizationDictionary: [String: String]? {
    get {
      knownLocalization.isEmpty ? nil : knownLocalization
    }
    set {
      knownLocalization = newValue ?? [:]
    }
  }

  // MARK: Fetch requests

  /// The fetch requests that the model keeps, by name; without those whose predicates do not parse.
  public var fetchRequestTemplatesByName: [String: NSFetchRequest<any NSFetchRequestResult>] {
    knownTemplates.compactMapValues { template in
      (try? template.fetchRequest()).map { NSFetchRequest($0) }
    }
  }

  /// The fetch request that the model keeps under a name.
  public func fetchRequestTemplate(
    forName name: String
  ) -> NSFetchRequest<any NSFetchRequestResult>? {
    fetchRequestTemplatesByName[name]
  }

  /// Keeps what a fetch request asks under a name, its `$VARIABLES` in place; nil removes what is there. One that the model
  /// cannot keep, since its predicate does not parse or it is sorted by a Swift key path, leaves what is there.
  public func setFetchRequestTemplate(
    _ fetchRequestTemplate: NSFetchRequest<any NSFetchRequestResult>?, forName name: String
  ) {
    var request: FetchRequest<ManagedObject>?
    if let fetchRequestTemplate {
      guard let known = try? fetchRequestTemplate.known(in: nil) else { return }
      request = known
    }
    setFetchRequestTemplate(request, forName: name)
  }

  /// A fetch request made from a template, with each `$NAME` in its predicates replaced; nil when there is no such template.
  public func fetchRequestFromTemplate(
    withName name: String, substitutionVariables variables: [String: Any]
  ) -> NSFetchRequest<any NSFetchRequestResult>? {
    let request = fetchRequestTemplate(forName: name)
    request?.predicate = request?.predicate?.withSubstitutionVariables(variables)
    request?.havingPredicate = request?.havingPredicate?.withSubstitutionVariables(variables)
    return request
  }

  /// Whether a store that says this of itself was written with the entities of a configuration as they are here. A name that is none
  /// of the model's stands for all of them, as nil does.
  public func isConfiguration(
    withName configuration: String?, compatibleWithStoreMetadata metadata: [String: Any]
  ) -> Bool {
    let known = configuration.flatMap { configurations.contains($0) ? $0 : nil }
    return isConfiguration(known, compatibleWith: metadata)
  }
}
