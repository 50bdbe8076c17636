import Foundation
import TestSupport
import Testing

@testable import Driftless

/// Each member of `NSManagedObjectModel`.
struct ManagedObjectModelMembers {
  private func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      xml: Data(
        """
        <model userDefinedModelVersionIdentifier="1">
        <entity name="Author"><attribute name="name" attributeType="String"/>
          <relationship name="books" optional="YES" toMany="YES" destinationEntity="Book"
            inverseName="author"/></entity>
        <entity name="Book"><attribute name="title" optional="YES" attributeType="String"/>
          <relationship name="author" optional="YES" maxCount="1" destinationEntity="Author"
            inverseName="books"/></entity>
        <fetchRequest name="owned" entity="Book" predicateString="title == $T AND author == $A"
          fetchLimit="7"/>
        <configuration name="Cloud" usedWithCloudKit="YES"><memberEntity name="Book"/>
        </configuration>
        </model>
        """.utf8))
  }

  @Test("A new model is empty and can be changed")
  func empty() throws {
    let model = ManagedObjectModel()
    #expect(model.entities.isEmpty && model.entitiesByName.isEmpty)
    #expect(model.configurations.isEmpty && model.fetchRequestTemplatesByName.isEmpty)
    #expect(model.versionIdentifiers.isEmpty && model.localizationDictionary.isEmpty)
    #expect(model.entities(forConfigurationName: nil)?.isEmpty == true)
    try model.checkEditable()
  }

  @Test("Entities are there in their order, by name, and one after another")
  func entities() throws {
    let model = try model()
    #expect(model.entities.map(\.name) == ["Author", "Book"])
    #expect(model.entitiesByName["Book"] === model.entities[1])
    #expect(model.entitiesByName["Boot"] == nil)
    #expect(model.map(\.name) == ["Author", "Book"])
    model.entities.removeLast()
    #expect(model.entitiesByName["Book"] == nil)
    let added = EntityDescription("Tag")
    model.entities.append(added)
    #expect(added.managedObjectModel === model)
  }

  @Test("Configurations hold entities, which may be in several; the default one has no name")
  func configurations() throws {
    let model = try model()
    #expect(model.configurations == ["Cloud"])
    #expect(model.entities(forConfigurationName: "Cloud")?.map(\.name) == ["Book"])
    #expect(model.entities(forConfigurationName: nil)?.count == 2)
    #expect(model.entities(forConfigurationName: "Local") == nil)
    model.setEntities(model.entities, forConfigurationName: "Local")
    #expect(model.configurations == ["Cloud", "Local"])
    #expect(model.entities(forConfigurationName: "Local")?.map(\.name) == ["Author", "Book"])
    model.setEntities([], forConfigurationName: "Cloud")
    #expect(model.entities(forConfigurationName: "Cloud")?.isEmpty == true)
  }

  @Test("Templates are kept by name, replaced and removed, as a text or as a request")
  func templates() throws {
    let model = try model()
    #expect(Array(model.fetchRequestTemplatesByName.keys) == ["owned"])
    #expect(model.fetchRequestTemplate(forName: "none") == nil)
    let owned = try #require(model.fetchRequestTemplate(forName: "owned")).fetchRequest()
    #expect(owned.entityName == "Book" && owned.limit == 7)
    let request = FetchRequest<ManagedObject>(
      entityName: "Author", predicate: try FetchPredicate(format: "name BEGINSWITH $P"),
      sort: [FetchSort("name", ascending: false)], limit: 3)
    model.setFetchRequestTemplate(request, forName: "by")
    let copy = try model.copy()
    let kept = try #require(copy.fetchRequestTemplate(forName: "by")).fetchRequest()
    #expect(kept.predicate == request.predicate && kept.sort == request.sort && kept.limit == 3)
    model.setFetchRequestTemplate(nil, forName: "by")
    #expect(model.fetchRequestTemplate(forName: "by") == nil)
    model.fetchRequestTemplatesByName = [:]
    #expect(model.fetchRequestTemplate(forName: "owned") == nil)
  }

  @Test("A template keeps the limits, the result type and the switches of a request, in a file too")
  func templateOptions() throws {
    let model = try model()
    var request = FetchRequest<ManagedObject>(entityName: "Book", limit: 3, offset: 2)
    request.fetchBatchSize = 9
    request.resultType = .dictionary
    request.returnsDistinctResults = true
    request.includesSubentities = false
    request.returnsObjectsAsFaults = false
    model.setFetchRequestTemplate(request, forName: "rows")
    let read = try ManagedObjectModel(xml: ModelDocument.xml(of: model))
    let kept = try #require(read.fetchRequestTemplate(forName: "rows")).fetchRequest()
    #expect(kept.limit == 3 && kept.offset == 2 && kept.fetchBatchSize == 9)
    #expect(kept.resultType == .dictionary && kept.returnsDistinctResults)
    #expect(!kept.includesSubentities && !kept.returnsObjectsAsFaults)
    #expect(kept.includesPropertyValues && kept.includesPendingChanges)
    let plain = try #require(read.fetchRequestTemplate(forName: "owned")).fetchRequest()
    #expect(plain.includesSubentities && plain.resultType == .managedObject)
  }

  @Test("Every variable of a template is replaced, by nil too; a missing one is an error")
  func substitution() throws {
    let model = try model()
    let request = try #require(
      try model.fetchRequestFromTemplate(
        withName: "owned", substitutionVariables: ["T": "x", "A": nil, "unused": 1]))
    #expect(request.predicate == (try FetchPredicate(format: #"title == "x" AND author == nil"#)))
    let null = try #require(
      try model.fetchRequestFromTemplate(
        withName: "owned", substitutionVariables: ["T": "x", "A": NSNull()]))
    #expect(null.predicate == request.predicate)
    let error = #expect(throws: FetchError.self) {
      try model.fetchRequestFromTemplate(
        withName: "owned", substitutionVariables: ["T": "x"])
    }
    #expect(error?.code == .unboundVariable && error?.message.contains("$A") == true)
    #expect(try model.fetchRequestFromTemplate(withName: "none") == nil)
    // The template is as it was.
    #expect(
      model.fetchRequestTemplate(forName: "owned")?.predicate == "title == $T AND author == $A")
  }

  @Test("A request of a template finds what a request made by hand finds")
  func templateFetches() throws {
    let model = try model()
    model.setFetchRequestTemplate(
      FetchRequestTemplate(name: "titled", entityName: "Book", predicate: "title == $T"),
      forName: "titled")
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(at: nil)
    let context = ManagedObjectContext(coordinator)
    for title in ["a", "b", nil] {
      let book = try context.insert(entityNamed: "Book")
      try book.setValue(title, forKey: "title")
    }
    func count(_ title: Any?) throws -> Int {
      let request = try #require(
        try model.fetchRequestFromTemplate(
          withName: "titled", substitutionVariables: ["T": title]))
      return try context.count(for: request)
    }
    #expect(try count("a") == 1)
    #expect(try count(nil) == 1)
    #expect(try count("c") == 0)
  }

  @Test("Version identifiers are a set, united by a merge, and in no hash")
  func versionIdentifiers() throws {
    let (model, other) = (try model(), try model())
    #expect(model.versionIdentifiers == ["1"])
    other.versionIdentifiers = ["2", "3"]
    #expect(
      try ManagedObjectModel(byMerging: [model, other]).versionIdentifiers == ["1", "2", "3"])
    #expect(model.versionChecksum == other.versionChecksum)
  }

  @Test("Hashes are there before a model is used, and follow its changes")
  func versionHashes() throws {
    let model = try model()
    let before = model.entityVersionHashesByName
    #expect(before.count == 2 && before.values.allSatisfy { $0.count == 32 })
    #expect(model.entities[0].versionHash == before["Author"])
    model.entities[0].isAbstract = true
    let after = model.entityVersionHashesByName
    #expect(after["Author"] != before["Author"] && after["Book"] == before["Book"])
    try model.freeze()
    #expect(model.entityVersionHashesByName == after)
    #expect(EntityDescription("Alone").versionHash.isEmpty)
  }

  @Test("The checksum is Base64 of SHA-256 over the hashes in the order of the entities' names")
  func versionChecksum() throws {
    let model = try model()
    let hashes = model.entityVersionHashesByName
    let joined = Array(try #require(hashes["Author"])) + Array(try #require(hashes["Book"]))
    #expect(model.versionChecksum == Data(SHA256Digest.hash(joined)).base64EncodedString())
    #expect(ManagedObjectModel().versionChecksum.isEmpty == false)
  }

  @Test(
    "The checksum that Core Data wrote into a store is that over its own hashes",
    .enabled(if: RealModels.compiledAreHere, "no ../shared"))
  func writtenChecksum() throws {
    let url = SharedData.url("core-data-stores/SampleModel2/SampleModel2_V1.sqlite")
    let folder = try TemporaryDirectory()
    let copy = folder.file("books.sqlite")
    try Data(contentsOf: url).write(to: copy)
    // A part of its model is enough to open it.
    let part = ManagedObjectModel(entities: [EntityDescription("Feedback")])
    try part.freeze()
    let store = try PersistentStore.open(
      url: copy, model: part, options: StoreOptions(isReadOnly: true))
    defer { store.close() }
    let metadata = store.metadata
    let written = metadata.versionHashes.sorted { $0.key < $1.key }.flatMap { Array($0.value) }
    #expect(
      Data(SHA256Digest.hash(written)).base64EncodedString()
        == metadata.values[StoreMetadata.versionChecksumKey] as? String)
  }

  @Test("Compatibility is by the hashes of a configuration's entities, no more and no fewer")
  func compatibility() throws {
    let model = try model()
    let hashes = model.entityVersionHashesByName
    func fits(_ configuration: String?, _ stored: [String: Data]) -> Bool {
      model.isConfiguration(
        withName: configuration,
        compatibleWithStoreMetadata: [StoreMetadata.versionHashesKey: stored])
    }
    #expect(fits(nil, hashes))
    #expect(!fits("Cloud", hashes) && fits("Cloud", hashes.filter { $0.key == "Book" }))
    #expect(!fits(nil, hashes.filter { $0.key == "Book" }))
    #expect(!fits(nil, hashes.merging(["Tag": Data(count: 32)]) { $1 }))
    #expect(!fits(nil, hashes.merging(["Book": Data(count: 32)]) { $1 }))
    #expect(!fits("None", hashes))
    #expect(!model.isConfiguration(withName: nil, compatibleWithStoreMetadata: [:]))
  }

  @Test("Two models are equal when they say the same, whatever the order and the file")
  func equality() throws {
    let (model, other) = (try model(), try model())
    #expect(model == other)
    other.entities.reverse()
    other.entities[0].fileAttributes["syncable"] = "YES"
    #expect(model == other)
    other.entities[0].ownProperties[0].isOptional.toggle()
    #expect(model != other)
  }

  @Test("A configuration may be marked for a cloud store, and is checked for one")
  func cloudKit() throws {
    let model = try model()
    #expect(model.isUsedWithCloudKit(configuration: "Cloud"))
    #expect(!model.isUsedWithCloudKit() && !model.isUsedWithCloudKit(configuration: "Local"))
    #expect(model.cloudKitProblems().map(\.element) == ["Author.name"])
    #expect(model.cloudKitProblems(forConfigurationName: "Cloud").map(\.element) == ["Book.author"])
    #expect(model.cloudKitProblems(forConfigurationName: "None").first?.code == .unknownEntity)
    let books = try #require(model.entitiesByName["Author"]?.relationshipsByName["books"])
    let changes: [(RelationshipDescription) -> Void] = [
      { $0.isOptional = false }, { $0.isOrdered = true }, { $0.deleteRule = .deny },
      { $0.inverseRelationshipName = nil },
    ]
    for change in changes {
      let changed = try model.copy()
      changed.entitiesByName["Author"]?.attributesByName["name"]?.defaultValue = .string("")
      #expect(changed.cloudKitProblems().isEmpty)
      change(try #require(changed.entitiesByName["Author"]?.relationshipsByName["books"]))
      #expect(changed.cloudKitProblems().map(\.element) == [books.label])
      #expect(changed.cloudKitProblems().first?.code == .unsupportedByCloudKit)
    }
    let unique = try model.copy()
    unique.entitiesByName["Book"]?.uniquenessConstraints = [["title"]]
    #expect(unique.cloudKitProblems().map(\.element).contains("Book"))
    let xml = String(decoding: try ModelDocument.xml(of: model), as: UTF8.self)
    #expect(xml.contains(#"<configuration name="Cloud" usedWithCloudKit="YES">"#))
  }
}
