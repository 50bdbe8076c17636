import Driftless
import Foundation

/// The object graph by itself. Each row does its work at a size and at a tenth of it, which stands in the table as the
/// limit: a ratio far above 10 means that the work grows faster than what it is done on.
struct GraphRows {
  let folder: URL

  /// The largest ratio of a time to that of a tenth: 10, and what larger memory costs.
  private static let aim = 12.0

  func run() throws -> [Row] {
    ManagedObject.register(Series.self, Volume.self, Topic.self, Box.self)
    let container = PersistentContainer(
      name: "Graph", model: try Series.model(), storeURL: folder.appendingPathComponent("graph"))
    try container.loadPersistentStores()
    return [
      try allocate(container), try properties(container), try stringKeys(container),
      try prefetch(container), try undo(container), try undoLinks(container),
      try validate(container), try link(container), try linkManyToMany(container),
      try order(container),
    ]
  }

  private func row(_ name: String, _ size: Int, _ work: (Int) throws -> Void) throws -> Row {
    try withoutActuallyEscaping(work) { work in
      try Comparison(
        name: "\(name) (limit: a tenth)", aim: Self.aim, rounds: 3,
        ours: { try work(size) }, limit: { try work(size / 10) }
      ).run()
    }
  }

  private func expect(_ condition: Bool, _ what: String) throws {
    guard condition else { throw BenchError(description: what) }
  }

  // MARK: Objects and their values

  private func allocate(_ container: PersistentContainer) throws -> Row {
    try row("allocate and fill 200,000 objects", 200_000) { size in
      try container.performAndWait { context in
        for number in 0..<size { try context.insert(Volume.self).fill(number) }
        try expect(context.insertedObjects.count == size, "objects are missing")
      }
    }
  }

  private func volumes(_ count: Int, in context: ManagedObjectContext) throws -> [Volume] {
    try (0..<count).map { number in
      let volume = try context.insert(Volume.self)
      volume.fill(number)
      return volume
    }
  }

  private func properties(_ container: PersistentContainer) throws -> Row {
    let context = container.newContext()
    let volumes = try volumes(200_000, in: context)
    return try row("read and write 200,000 by typed key", volumes.count) { size in
      for volume in volumes.prefix(size) { volume[Volume.pages] += 1 }
    }
  }

  private func stringKeys(_ container: PersistentContainer) throws -> Row {
    let context = container.newContext()
    let volumes = try volumes(200_000, in: context)
    return try row("read and write 200,000 by string key", volumes.count) { size in
      for volume in volumes.prefix(size) {
        guard let pages = volume["pages"] as? Int64 else { continue }
        volume["pages"] = pages + 1
      }
      try expect(volumes[0][Volume.pages] > 0, "nothing was written")
    }
  }

  private func validate(_ container: PersistentContainer) throws -> Row {
    let context = container.newContext()
    let volumes = try volumes(100_000, in: context)
    return try row("validate 100,000 objects", volumes.count) { size in
      for volume in volumes.prefix(size) { try volume.validateForInsert() }
    }
  }

  // MARK: Fetching

  private func prefetch(_ container: PersistentContainer) throws -> Row {
    for size in [100_000, 10_000] {
      try container.performAndWait { context in
        let series = try context.insert(Series.self)
        series[Series.name] = "\(size)"
        for volume in try volumes(size, in: context) { volume[Volume.series] = series }
        try context.save()
      }
    }
    return try row("prefetch a to-many of 100,000", 100_000) { size in
      try container.performAndWait { context in
        var request = FetchRequest<Series>(
          entityName: "Series", predicate: (Series.name == "\(size)").predicate)
        request.relationshipKeyPathsForPrefetching = ["volumes"]
        let found = try context.fetch(request)
        var pages: Int64 = 0
        for volume in found[0][Series.volumes] { pages += volume[Volume.pages] }
        try expect(pages == Int64(size * (size - 1) / 2), "read \(pages) pages")
      }
    }
  }

  // MARK: Undo

  private func undo(_ container: PersistentContainer) throws -> Row {
    try row("make and undo 10,000 steps", 10_000) { size in
      try container.performAndWait { context in
        let volume = try context.insert(Volume.self)
        volume.fill(0)
        context.processPendingChanges()
        context.undoManager = UndoManager()
        for _ in 0..<size {
          volume[Volume.pages] += 1
          context.processPendingChanges()
        }
        for _ in 0..<size { context.undo() }
        try expect(volume[Volume.pages] == 0, "\(volume[Volume.pages]) steps are left")
      }
    }
  }

  private func undoLinks(_ container: PersistentContainer) throws -> Row {
    try row("make and undo 10,000 links of a to-many", 10_000) { size in
      try container.performAndWait { context in
        let series = try context.insert(Series.self)
        let volumes = try volumes(size, in: context)
        context.processPendingChanges()
        context.undoManager = UndoManager()
        for volume in volumes {
          series[Series.volumes].insert(volume)
          context.processPendingChanges()
        }
        for _ in 0..<size { context.undo() }
        try expect(series[Series.volumes].isEmpty, "links are left")
      }
    }
  }

  // MARK: Relationships

  private func link(_ container: PersistentContainer) throws -> Row {
    let context = container.newContext()
    let volumes = try volumes(100_000, in: context)
    let series = try context.insert(Series.self)
    return try row("link and unlink 100,000, one to many", volumes.count) { size in
      for volume in volumes.prefix(size) { series[Series.volumes].insert(volume) }
      for volume in volumes.prefix(size) { volume[Volume.series] = nil }
      try expect(series[Series.volumes].isEmpty, "links are left")
    }
  }

  private func linkManyToMany(_ container: PersistentContainer) throws -> Row {
    let context = container.newContext()
    let volumes = try volumes(100_000, in: context)
    let topic = try context.insert(Topic.self)
    return try row("link and unlink 100,000, many to many", volumes.count) { size in
      for volume in volumes.prefix(size) { topic[Topic.volumes].insert(volume) }
      for volume in volumes.prefix(size) { topic[Topic.volumes].remove(volume) }
      try expect(topic[Topic.volumes].isEmpty, "links are left")
    }
  }

  private func order(_ container: PersistentContainer) throws -> Row {
    try row("put 20,000 in front, take them off there, undo", 20_000) { size in
      try container.performAndWait { context in
        let box = try context.insert(Box.self)
        let volumes = try volumes(size, in: context)
        for volume in volumes { box[Box.volumes].insert(volume, at: 0) }
        context.processPendingChanges()
        context.undoManager = UndoManager()
        while let volume = box[Box.volumes].first { box[Box.volumes].remove(volume) }
        context.undo()
        try expect(box[Box.volumes].array == volumes.reversed(), "the order is another")
      }
    }
  }
}

/// The graph that the rows work on.
final class Series: ManagedObject {
  static let name = Attribute<Series, String>("name")
  static let volumes = ToMany<Series, Volume>("volumes")

  static func model() throws -> ManagedObjectModel {
    let series = EntityDescription("Series")
    series.managedObjectClassName = "Series"
    series.properties = [
      AttributeDescription("name", .string),
      RelationshipDescription("volumes", to: "Volume", inverse: "series", toMany: true),
    ]
    let pages = AttributeDescription("pages", .integer64, isOptional: false)
    pages.minimum = .integer(0)
    pages.maximum = .integer(1_000_000)
    let title = AttributeDescription("title", .string, isOptional: false)
    title.regularExpression = "Volume [0-9]+"
    let volume = EntityDescription("Volume")
    volume.managedObjectClassName = "Volume"
    volume.properties = [
      title, pages, AttributeDescription("weight", .double),
      AttributeDescription("printed", .date),
      RelationshipDescription("series", to: "Series", inverse: "volumes"),
      RelationshipDescription("topics", to: "Topic", inverse: "volumes", toMany: true),
      RelationshipDescription("box", to: "Box", inverse: "volumes"),
    ]
    let topic = EntityDescription("Topic")
    topic.managedObjectClassName = "Topic"
    topic.properties = [
      RelationshipDescription("volumes", to: "Volume", inverse: "topics", toMany: true)
    ]
    let box = EntityDescription("Box")
    box.managedObjectClassName = "Box"
    box.properties = [
      RelationshipDescription(
        "volumes", to: "Volume", inverse: "box", toMany: true, isOrdered: true)
    ]
    let model = ManagedObjectModel(entities: [series, volume, topic, box])
    try model.freeze()
    return model
  }
}

final class Volume: ManagedObject {
  static let title = Attribute<Volume, String>("title")
  static let pages = Attribute<Volume, Int64>("pages")
  static let weight = Attribute<Volume, Double>("weight")
  static let printed = Attribute<Volume, Date?>("printed")
  static let series = ToOne<Volume, Series>("series")

  func fill(_ number: Int) {
    self[Volume.title] = "Volume \(number)"
    self[Volume.pages] = Int64(number)
    self[Volume.weight] = 0.5
    self[Volume.printed] = Date(timeIntervalSinceReferenceDate: 700_000_000)
  }
}

final class Topic: ManagedObject {
  static let volumes = ToMany<Topic, Volume>("volumes")
}

final class Box: ManagedObject {
  static let volumes = ToMany<Box, Volume>("volumes")
}
