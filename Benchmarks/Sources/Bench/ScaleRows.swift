import CLimits
import Driftless
import Foundation

/// What must not grow with the store or with the work: memory of a batch insert, opening; and long histories.
struct ScaleRows {
  let items: Items
  let folder: URL

  func run() throws -> [Row] {
    ManagedObject.register(Item.self)
    let times = max(1, 1_000_000 / items.items.count)
    var rows = [try batch(times)]
    rows.append(try memory(times))
    rows.append(try history())
    rows.append(try opening(times))
    return rows
  }

  private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

  private func container(_ name: String) throws -> PersistentContainer {
    let container = PersistentContainer(
      name: name, model: try Item.model(), storeURL: folder.appendingPathComponent(name))
    try container.loadPersistentStores()
    return container
  }

  private func delete(_ name: String) {
    for ending in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: path(name) + ending)
    }
  }

  // MARK: Batch insert

  private func insert(_ name: String, _ end: Int) throws {
    let container = try container(name)
    try container.performAndWait { context in
      var place = 0
      let request = BatchInsertRequest(
        entityName: "Item",
        managedObjectHandler: { object in
          guard place < end, let object = object as? Item else { return true }
          object.fill(items.items[place % items.items.count])
          place += 1
          return false
        })
      try context.execute(request)
      guard place == end else { throw BenchError(description: "inserted \(place)") }
    }
  }

  private func batch(_ times: Int) throws -> Row {
    return try Comparison(
      name: "batch insert \(items.items.count * times), with history", aim: 1.5, rounds: 1,
      ours: {
        delete("batch")
        try insert("batch", items.items.count * times)
      },
      limit: {
        delete("batch-c")
        try check(
          limit_insert_many(
            path("batch-c"), items.limits.baseAddress, items.items.count,
            Int32(times)), "insert")
      }
    ).run()
  }

  /// How far the process' memory grows, most of it by SQLite's page cache.
  private func memory(_ times: Int) throws -> Row {
    func growth(_ work: () throws -> Void) throws -> UInt64 {
      limit_trim()
      try Self.resetPeak()
      let before = try Self.kilobytes("VmRSS")
      try work()
      return (max(before, try Self.kilobytes("VmHWM")) - before) * 1024
    }
    // What a process takes once and keeps counts for neither.
    try insert("memory-first", items.items.count)
    let limit = try growth {
      try check(
        limit_insert_many(
          path("memory-c"), items.limits.baseAddress, items.items.count, Int32(times)), "insert")
    }
    let ours = try growth { try insert("memory", items.items.count * times) }
    return Row(
      name: "bytes of memory of that batch insert", ours: ours, limit: limit,
      ratio: Double(ours) / Double(max(1, limit)), peer: nil, peerRatio: nil, aim: 1.5)
  }

  private static func resetPeak() throws {
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: "/proc/self/clear_refs"))
    try file.write(contentsOf: Data("5".utf8))
    try file.close()
  }

  private static func kilobytes(_ name: String) throws -> UInt64 {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    for line in status.split(separator: "\n") where line.hasPrefix(name) {
      if let value = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first {
        return UInt64(value) ?? 0
      }
    }
    throw BenchError(description: "there is no \(name)")
  }

  // MARK: History

  private func history() throws -> Row {
    let container = try container("history")
    try container.performAndWait { context in
      for item in items.items { try context.insert(Item.self).fill(item) }
      try context.save()
      for object in try context.fetch(Item.self) { object[Item.size] += 1 }
      try context.save()
    }
    let store = container.persistentStoreCoordinator.persistentStores[0]
    let first = try store.execute(.fetchHistory(after: nil)).transactions?.first
    let count = items.items.count
    return try Comparison(
      name: "history of \(count) changes", aim: 2,
      ours: {
        let found = try store.execute(.fetchHistory(after: first?.token)).transactions ?? []
        let changes = found.reduce(0) { $0 + ($1.changes?.count ?? 0) }
        guard changes == count else { throw BenchError(description: "\(changes) changes") }
      },
      limit: {
        var found = 0
        try check(
          limit_query(
            path("history"), "SELECT * FROM ACHANGE WHERE ZTRANSACTIONID = 2 ORDER BY Z_PK",
            &found), "query")
        guard found == count else { throw BenchError(description: "\(found) changes") }
      }
    ).run()
  }

  // MARK: Opening

  /// A large store against one of a thousand objects.
  private func opening(_ times: Int) throws -> Row {
    try insert("open-large", items.items.count * times)
    try insert("open-small", 1000)
    let rounds = 20
    func open(_ name: String) throws {
      for _ in 0..<rounds {
        let container = try container(name)
        try container.performAndWait { context in
          guard try context.fetch(Item.self, limit: 1).count == 1 else {
            throw BenchError(description: "\(name) is empty")
          }
        }
      }
    }
    return try Comparison(
      name: "open \(items.items.count * times) objects, 20 times (limit: 1,000)", aim: 1.2,
      ours: { try open("open-large") }, limit: { try open("open-small") }
    ).run()
  }
}
