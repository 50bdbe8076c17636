import CoreData

/// Files from the net in one store: what was downloaded is not downloaded again.
///
/// All work happens on the queue of one context, over a coordinator without a container.
final class DownloadCache {
  /// Bytes of all files together. Those that were not looked at for the longest time make room.
  var diskCapacity: Int64 = 20 << 20

  private let context: NSManagedObjectContext

  init(storeURL: URL) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CachedFile.makeModel())
    do {
      try Self.addStore(at: storeURL, to: coordinator)
    } catch {
      // It is damaged, or of another model. What a cache held can be downloaded again.
      try FileManager.default.removeItem(at: storeURL)
      try Self.addStore(at: storeURL, to: coordinator)
    }
    context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    context.undoManager = nil
    context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
  }

  private static func addStore(
    at url: URL, to coordinator: NSPersistentStoreCoordinator
  ) throws {
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url,
      options: [NSSQLitePragmasOption: ["synchronous": "NORMAL"]])
  }

  // MARK: Files

  /// The bytes of a file that is here and not past its date. The file counts as just used.
  func data(for url: URL) throws -> Data? {
    try work { context in
      guard let file = try self.file(url, in: context) else { return nil }
      if let date = file.expirationDate, date <= Date() { return nil }
      file.lastAccessDate = Date()
      return file.fileData
    }
  }

  /// What the server called the version of a file that is here, fresh or not.
  func entityTag(for url: URL) throws -> String? {
    try work { context in try self.file(url, in: context)?.entityTag }
  }

  func store(
    _ data: Data, for url: URL, contentType: String? = nil, entityTag: String? = nil,
    expirationDate: Date? = nil
  ) throws {
    try work { context in
      let file =
        try self.file(url, in: context)
        ?? NSEntityDescription.insertNewObject(forEntityName: "CachedFile", into: context)
        as! CachedFile  // as the model says
      file.remoteURL = url.absoluteString
      file.fileData = data
      file.fileSize = Int64(data.count)
      file.contentType = contentType
      file.entityTag = entityTag
      file.lastAccessDate = Date()
      file.expirationDate = expirationDate
    }
  }

  func removeData(for url: URL) throws {
    try work { context in
      if let file = try self.file(url, in: context) { context.delete(file) }
    }
  }

  // MARK: Room

  /// The sum of all sizes, which the store adds up.
  func currentDiskUsage() throws -> Int64 {
    try work { context in
      let sum = NSExpressionDescription()
      sum.name = "sum"
      sum.expression = NSExpression(
        forFunction: "sum:", arguments: [NSExpression(forKeyPath: #keyPath(CachedFile.fileSize))])
      sum.expressionResultType = .integer64AttributeType
      let request = NSFetchRequest<NSDictionary>(entityName: "CachedFile")
      request.resultType = .dictionaryResultType
      request.propertiesToFetch = [sum]
      return (try context.fetch(request).first?["sum"] as? NSNumber)?.int64Value ?? 0
    }
  }

  /// Removes what is past its date, and then what was not used for the longest time, until the rest fits.
  func maintain() throws {
    try work { context in
      let expired = NSFetchRequest<CachedFile>(entityName: "CachedFile")
      expired.predicate = NSPredicate(
        format: "%K <= %@", #keyPath(CachedFile.expirationDate), Date() as NSDate)
      for file in try context.fetch(expired) { context.delete(file) }
    }
    var excess = try currentDiskUsage() - diskCapacity
    guard excess > 0 else { return }
    try work { context in
      let request = NSFetchRequest<CachedFile>(entityName: "CachedFile")
      request.sortDescriptors = [
        NSSortDescriptor(key: #keyPath(CachedFile.lastAccessDate), ascending: true)
      ]
      request.fetchBatchSize = 20
      for file in try context.fetch(request) where excess > 0 {
        excess -= file.fileSize
        context.delete(file)
      }
    }
  }

  // MARK: Steps

  private func file(_ url: URL, in context: NSManagedObjectContext) throws -> CachedFile? {
    let request = NSFetchRequest<CachedFile>(entityName: "CachedFile")
    request.predicate = NSPredicate(
      format: "%K == %@", #keyPath(CachedFile.remoteURL), url.absoluteString)
    request.fetchLimit = 1
    return try context.fetch(request).first
  }

  /// Does the work on the context's queue, and saves what it changed: all of it, or nothing.
  private func work<Value>(_ body: (NSManagedObjectContext) throws -> Value) throws -> Value {
    try context.performAndWait {
      do {
        let value = try body(context)
        if context.hasChanges { try context.save() }
        return value
      } catch {
        context.rollback()
        throw error
      }
    }
  }
}
