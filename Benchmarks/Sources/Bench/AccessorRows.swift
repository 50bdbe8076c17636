import CoreData
import Driftless
import Foundation
import ManagedRecords

/// What applications of Core Data's write, beside the same in this library's words, which stand as the limit.
struct AccessorRows {
  let items: Items
  let folder: URL

  private static let flag = Attribute<ManagedRecord, Bool>("flag")
  private static let size = Attribute<ManagedRecord, Int64>("size")
  private static let score = Attribute<ManagedRecord, Double>("score")
  private static let modified = Attribute<ManagedRecord, Date?>("modified")
  private static let name = Attribute<ManagedRecord, String?>("name")
  private static let summary = Attribute<ManagedRecord, String>("summary")

  func run() throws -> [Row] {
    let entity = EntityDescription("ManagedRecord")
    entity.managedObjectClassName = String(reflecting: ManagedRecord.self)
    entity.properties = [
      AttributeDescription("flag", .boolean), AttributeDescription("size", .integer64),
      AttributeDescription("score", .double), AttributeDescription("modified", .date),
      AttributeDescription("name", .string), AttributeDescription("summary", .string),
    ]
    let model = ManagedObjectModel(entities: [entity])
    let container = PersistentContainer(
      name: "accessors", model: model,
      storeURL: folder.appendingPathComponent("accessors"))
    try container.loadPersistentStores()
    let context = container.newContext()
    return try context.performAndWait {
      let records = try items.items.map { item in
        let record = try context.insert(ManagedRecord.self)
        record.flag = item.flag
        record.size = item.size
        record.score = item.score
        record.modified = Date(timeIntervalSinceReferenceDate: item.modified)
        record.name = item.name
        record.summary = item.summary
        return record
      }
      try context.save()
      return [
        try reading(records), try writing(records, context),
        try fetching(container.newContext(), try foreign(model)),
      ]
    }
  }

  private func reading(_ records: [ManagedRecord]) throws -> Row {
    func sum(_ read: (ManagedRecord) -> Double) -> Double { records.reduce(0) { $0 + read($1) } }
    var sums: [Double] = [0, 0]
    let row = try Comparison(
      name: "read all by @NSManaged (limit: typed keys)", aim: 1.2,
      ours: {
        sums[0] = sum {
          ($0.flag ? 1 : 0) + Double($0.size) + $0.score
            + ($0.modified?.timeIntervalSinceReferenceDate ?? 0)
            + Double(($0.name?.utf8.count ?? 0) + $0.summary.utf8.count)
        }
      },
      limit: {
        sums[1] = sum {
          ($0[Self.flag] ? 1 : 0) + Double($0[Self.size]) + $0[Self.score]
            + ($0[Self.modified]?.timeIntervalSinceReferenceDate ?? 0)
            + Double(($0[Self.name]?.utf8.count ?? 0) + $0[Self.summary].utf8.count)
        }
      }
    ).run()
    guard sums[0] == sums[1], sums[0] > 0 else { throw BenchError(description: "\(sums)") }
    return row
  }

  private func writing(
    _ records: [ManagedRecord], _ context: ManagedObjectContext
  ) throws -> Row {
    var number: Int64 = 0
    return try Comparison(
      name: "change all by @NSManaged (limit: typed keys)",
      ours: {
        number += 1
        for record in records {
          record.size = number
          record.score = Double(number)
          record.name = "other"
        }
        context.rollback()
      },
      limit: {
        number += 1
        for record in records {
          record[Self.size] = number
          record[Self.score] = Double(number)
          record[Self.name] = "other"
        }
        context.rollback()
      }
    ).run()
  }

  /// A context of the other module on the same file.
  private func foreign(_ model: NSManagedObjectModel) throws -> NSManagedObjectContext {
    let container = NSPersistentContainer(name: "accessors", managedObjectModel: model)
    container.persistentStoreDescriptions = [
      NSPersistentStoreDescription(url: folder.appendingPathComponent("accessors"))
    ]
    nonisolated(unsafe) var failure: (any Error)?  // the store is loaded when this returns
    container.loadPersistentStores { _, error in failure = error }
    if let failure { throw failure }
    return container.newBackgroundContext()
  }

  /// Both contexts have no objects before a fetch, and none after it: what one of them holds already it need not make. The two
  /// are a few hundredths apart, which takes many rounds to be seen on a machine that has other work.
  private func fetching(
    _ context: ManagedObjectContext, _ foreign: NSManagedObjectContext
  ) throws -> Row {
    let count = items.items.count { $0.size < 25_000 }
    return try Comparison(
      name: "fetch a quarter by a format (limit: typed keys)", aim: 1.05, rounds: 40,
      ours: {
        let request = NSFetchRequest<ManagedRecord>(entityName: "ManagedRecord")
        request.predicate = NSPredicate(format: "size < %lld", Int64(25_000))
        request.sortDescriptors = [NSSortDescriptor(key: "score", ascending: true)]
        try foreign.performAndWait { try expect(try foreign.fetch(request).count, count) }
      },
      limit: {
        try context.performAndWait {
          let found = try context.fetch(
            ManagedRecord.self, where: Self.size < 25_000, order: Self.score.ascending)
          try expect(found.count, count)
        }
      }
    ).run()
  }

  private func expect(_ found: Int, _ count: Int) throws {
    guard found == count else {
      throw BenchError(description: "\(found) objects in place of \(count)")
    }
  }
}
