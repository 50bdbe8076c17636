import CLimits
import Driftless
import Foundation
import GRDB

/// The embedded library: save, fetch, update.
struct StoreRows {
  let items: Items
  let folder: URL

  func run() throws -> [Row] {
    let model = try Item.model()
    ManagedObject.register(Item.self)
    var rows = [try save(model)]
    let container = try filled(model)
    let limitPath = path("filled-c")
    try check(limit_insert(limitPath, items.limits.baseAddress, items.items.count), "insert")
    let peer = try PeerItem.open(path("filled-grdb"))
    try PeerItem.create(peer)
    try peer.write { database in
      for item in items.items { try PeerItem(item).insert(database) }
    }
    rows.append(try fetchAll(container, limitPath, peer))
    rows.append(try fetchByID(container, limitPath, peer))
    rows.append(try update(container, limitPath, peer))
    return rows
  }

  private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

  private func container(_ model: ManagedObjectModel, _ name: String) throws -> PersistentContainer
  {
    let container = PersistentContainer(
      name: name, model: model, storeURL: folder.appendingPathComponent(name))
    try container.loadPersistentStores()
    return container
  }

  private func insertAll(_ container: PersistentContainer) throws {
    try container.performAndWait { context in
      for item in items.items { try context.insert(Item.self).fill(item) }
      try context.save()
    }
  }

  private func filled(_ model: ManagedObjectModel) throws -> PersistentContainer {
    let container = try container(model, "filled")
    try insertAll(container)
    return container
  }

  private func save(_ model: ManagedObjectModel) throws -> Row {
    var number = 0
    return try Comparison(
      name: "insert and save, with history", aim: 1.5,
      ours: {
        number += 1
        try insertAll(container(model, "save-\(number)"))
      },
      limit: {
        number += 1
        try check(
          limit_insert(path("save-c-\(number)"), items.limits.baseAddress, items.items.count),
          "insert")
      },
      peer: (
        "GRDB records",
        {
          number += 1
          let pool = try PeerItem.open(path("save-grdb-\(number)"))
          try PeerItem.create(pool)
          try pool.write { database in
            for item in items.items { try PeerItem(item).insert(database) }
          }
        }
      )
    ).run()
  }

  private func fetchAll(
    _ container: PersistentContainer, _ limitPath: String, _ peer: DatabasePool
  ) throws -> Row {
    try Comparison(
      name: "fetch all", aim: 2,
      ours: {
        try container.performAndWait { context in
          let found = try context.fetch(Item.self)
          guard found.count == items.items.count, found[0][Item.name].isEmpty == false else {
            throw BenchError(description: "fetched \(found.count)")
          }
        }
      },
      limit: {
        var found = 0
        try check(limit_fetch_all(limitPath, &found), "fetch")
        guard found == items.items.count else { throw BenchError(description: "\(found) rows") }
      },
      peer: ("GRDB records", { _ = try peer.read { try PeerItem.fetchAll($0) } })
    ).run()
  }

  private func fetchByID(
    _ container: PersistentContainer, _ limitPath: String, _ peer: DatabasePool
  ) throws -> Row {
    let keys = items.keys(10_000)
    let ids = try container.performAndWait { context in
      try context.fetch(Item.self, order: Item.modified.ascending).map(\.objectID)
    }
    return try Comparison(
      name: "fetch 10,000 by ID, one at a time", aim: nil,
      ours: {
        try container.performAndWait { context in
          for key in keys { _ = try context.existingObject(with: ids[Int(key) - 1]) }
        }
      },
      limit: { try check(limit_fetch_keys(limitPath, keys, keys.count), "fetch") },
      peer: (
        "GRDB records",
        {
          try peer.read { database in
            for key in keys { _ = try PeerItem.fetchOne(database, key: key) }
          }
        }
      )
    ).run()
  }

  private func update(
    _ container: PersistentContainer, _ limitPath: String, _ peer: DatabasePool
  ) throws -> Row {
    let keys = (1...10_000).map { Int64($0) }
    var round: Int64 = 0
    return try Comparison(
      name: "update one attribute of 10,000, with history", aim: nil,
      ours: {
        round += 1
        try container.performAndWait { context in
          for object in try context.fetch(Item.self, limit: 10_000) {
            object[Item.size] = object[Item.size] + round
          }
          try context.save()
        }
      },
      limit: { try check(limit_update(limitPath, keys, keys.count), "update") },
      peer: (
        "GRDB records",
        {
          round += 1
          try peer.write { database in
            for var item in try PeerItem.limit(10_000).fetchAll(database) {
              item.size += round
              try item.update(database)
            }
          }
        }
      )
    ).run()
  }
}
