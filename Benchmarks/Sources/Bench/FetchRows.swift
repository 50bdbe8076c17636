import CLimits
import Driftless
import Foundation
import GRDB

/// Fetches with conditions, orders and groups: ours, the same SQL on the same file in C, and GRDB.
struct FetchRows {
  let items: Items
  let folder: URL

  private let shelfCount = 10_000
  private let codeCount = 10_000

  func run() throws -> [Row] {
    ManagedObject.register(Item.self)
    ManagedObject.register(Shelf.self)
    ManagedObject.register(Entry.self)
    var rows = [try filtered()]
    let container = try shelves()
    let peer = try peerShelves()
    rows.append(try toMany(container, peer))
    rows.append(try groups(container, peer))
    rows.append(try dictionaries(container, peer))
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

  private func query(_ name: String, _ sql: String, expecting count: Int) throws {
    var found = 0
    try check(limit_query(path(name), sql, &found), "query")
    try expect(found, count)
  }

  private func expect(_ found: Int, _ count: Int) throws {
    guard found == count else {
      throw BenchError(description: "\(found) rows in place of \(count)")
    }
  }

  // MARK: A condition and an order

  private func filtered() throws -> Row {
    let container = try container(Item.model(), "filtered")
    try container.performAndWait { context in
      for item in items.items { try context.insert(Item.self).fill(item) }
      try context.save()
    }
    let peer = try PeerItem.open(path("filtered-grdb"))
    try PeerItem.create(peer)
    try peer.write { database in
      for item in items.items { try PeerItem(item).insert(database) }
    }
    let count = items.items.count { $0.size < 25_000 }
    return try Comparison(
      name: "fetch a sorted quarter", aim: 2,
      ours: {
        try container.performAndWait { context in
          let found = try context.fetch(
            Item.self, where: Item.size < 25_000, order: Item.score.ascending)
          try expect(found.count, count)
        }
      },
      limit: {
        try query(
          "filtered",
          "SELECT Z_PK, Z_ENT, Z_OPT, ZFLAG, ZSIZE, ZSCORE, ZMODIFIED, ZNAME, ZSUMMARY FROM ZITEM"
            + " WHERE ZSIZE < 25000 ORDER BY ZSCORE, Z_PK", expecting: count)
      },
      peer: (
        "GRDB records",
        {
          try peer.read { database in
            let found = try PeerItem.filter(Column("size") < 25_000).order(Column("score"))
              .fetchAll(database)
            try expect(found.count, count)
          }
        }
      )
    ).run()
  }

  // MARK: Related objects

  private func entry(_ index: Int) -> (code: Int64, size: Int64, name: String) {
    let item = items.items[index]
    return (Int64(index &* 7919 % codeCount), item.size, item.name)
  }

  private func shelves() throws -> PersistentContainer {
    let container = try container(Shelf.model(), "shelves")
    try container.performAndWait { context in
      var shelves: [Shelf] = []
      for index in 0..<shelfCount {
        let shelf = try context.insert(Shelf.self)
        shelf[Shelf.name] = "shelf \(index)"
        shelves.append(shelf)
      }
      for index in items.items.indices {
        let (code, size, name) = entry(index)
        let entry = try context.insert(Entry.self)
        entry[Entry.code] = code
        entry[Entry.size] = size
        entry[Entry.name] = name
        entry[Entry.shelf] = shelves[index % shelfCount]
      }
      try context.save()
    }
    return container
  }

  private func peerShelves() throws -> DatabasePool {
    let peer = try PeerItem.open(path("shelves-grdb"))
    try peer.write { database in
      try database.execute(
        sql: """
          CREATE TABLE shelf (id INTEGER PRIMARY KEY, name TEXT);
          CREATE TABLE entry (id INTEGER PRIMARY KEY, code INTEGER, size INTEGER, name TEXT,
          shelf INTEGER);
          CREATE INDEX entry_shelf ON entry (shelf);
          """)
      for index in 0..<shelfCount {
        try PeerShelf(id: Int64(index + 1), name: "shelf \(index)").insert(database)
      }
      for index in items.items.indices {
        let (code, size, name) = entry(index)
        try PeerEntry(
          id: Int64(index + 1), code: code, size: size, name: name,
          shelf: Int64(index % shelfCount + 1)
        ).insert(database)
      }
    }
    return peer
  }

  private func toMany(_ container: PersistentContainer, _ peer: DatabasePool) throws -> Row {
    let count = Set(
      items.items.indices.filter { items.items[$0].size > 95_000 }.map { $0 % shelfCount }
    ).count
    let predicate = try FetchPredicate(format: "ANY entries.size > 95000")
    return try Comparison(
      name: "fetch 10,000 by a to-many predicate", aim: 2,
      ours: {
        try container.performAndWait { context in
          let found = try context.fetch(
            FetchRequest<Shelf>(entityName: "Shelf", predicate: predicate))
          try expect(found.count, count)
        }
      },
      limit: {
        try query(
          "shelves",
          "SELECT Z_PK, Z_ENT, Z_OPT, ZNAME FROM ZSHELF t0 WHERE EXISTS"
            + " (SELECT 1 FROM ZENTRY t1 WHERE t1.ZSHELF = t0.Z_PK AND t1.ZSIZE > 95000)",
          expecting: count)
      },
      peer: (
        "GRDB records",
        {
          try peer.read { database in
            let large = PeerShelf.entries.filter(Column("size") > 95_000)
            let found = try PeerShelf.joining(required: large).distinct().fetchAll(database)
            try expect(found.count, count)
          }
        }
      )
    ).run()
  }

  // MARK: Dictionaries

  private func groups(_ container: PersistentContainer, _ peer: DatabasePool) throws -> Row {
    var request = FetchRequest<FetchedRow>(entityName: "Entry", sort: [FetchSort("code")])
    request.propertiesToGroupBy = ["code"]
    request.propertiesToFetch = [
      "code", .expression("count", try FetchExpression(format: "count:(size)")),
      .expression("total", try FetchExpression(format: "sum:(size)")),
      .expression("longest", try FetchExpression(format: "max:(name)")),
    ]
    let asked = request
    return try Comparison(
      name: "dictionaries of 10,000 groups", aim: 2,
      ours: {
        try container.performAndWait { context in
          try expect(try context.fetchRows(asked).count, codeCount)
        }
      },
      limit: {
        try query(
          "shelves",
          "SELECT ZCODE, count(ZSIZE), COALESCE(sum(ZSIZE), 0), max(ZNAME) FROM ZENTRY"
            + " GROUP BY ZCODE ORDER BY ZCODE", expecting: codeCount)
      },
      peer: (
        "GRDB rows",
        {
          try peer.read { database in
            let found = try PeerEntry.select(
              Column("code"), GRDB.count(Column("size")).forKey("count"),
              sum(Column("size")).forKey("total"), max(Column("name")).forKey("longest")
            ).group(Column("code")).order(Column("code")).asRequest(of: GRDB.Row.self)
              .fetchAll(database)
            try expect(found.count, codeCount)
          }
        }
      )
    ).run()
  }

  private func dictionaries(_ container: PersistentContainer, _ peer: DatabasePool) throws -> Row {
    var request = FetchRequest<FetchedRow>(entityName: "Entry")
    request.propertiesToFetch = ["code", "size", "name"]
    let asked = request
    let count = items.items.count
    return try Comparison(
      name: "dictionaries of all, 3 values each", aim: nil,
      ours: {
        try container.performAndWait { context in
          try expect(try context.fetchRows(asked).count, count)
        }
      },
      limit: { try query("shelves", "SELECT ZCODE, ZSIZE, ZNAME FROM ZENTRY", expecting: count) },
      peer: (
        "GRDB rows",
        {
          try peer.read { database in
            let found = try PeerEntry.select(Column("code"), Column("size"), Column("name"))
              .asRequest(of: GRDB.Row.self).fetchAll(database)
            try expect(found.count, count)
          }
        }
      )
    ).run()
  }
}
