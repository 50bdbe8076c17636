import Driftless
import DriftlessProtocol
import DriftlessSQLite
import DriftlessSync
import DriftlessTesting
import Foundation

/// The store that mutants are made of: it has rows in every table, and its zone.
final class FuzzWorld {
  let folder: URL
  let file: URL
  let zone: MemoryZone
  let log: ZoneLog

  private init(_ folder: URL, _ file: URL, _ zone: MemoryZone) {
    self.folder = folder
    self.file = file
    self.zone = zone
    log = zone.log
  }

  static func make(in folder: URL) async throws -> FuzzWorld {
    let zone = MemoryZone()
    let first = try open(folder.appendingPathComponent("fuzz.sqlite"))
    let other = try open(folder.appendingPathComponent("other.sqlite"), isNewer: true)
    for store in [first, other] {
      try SyncEngine.enroll(
        store: store, server: MemoryZone.url, zone: zone.name, info: try await zone.zoneInfo())
    }
    let engines = [first, other].map { SyncEngine(store: $0, transport: zone) }
    try stock(first)
    for engine in engines { _ = try await engine.sync() }
    try edit(other, by: "other", isNewer: true)
    _ = try await engines[1].sync()
    try edit(first, by: "first", isNewer: false)
    _ = try await engines[0].pull()
    try leave(first)
    let lost = LostAnswers(zone)
    await engines[0].close()
    let parts = Self.parts()
    let last = SyncEngine(store: first, transport: lost, options: parts)
    _ = try? await last.push()
    await last.close()
    // A push in parts of the other one, of which a few have come.
    try label(other)
    let sender = SyncEngine(store: other, transport: zone, options: parts)
    _ = try await sender.push()
    await sender.close()
    let cut = SyncEngine(store: first, transport: LostAnswers(zone, pages: 2), options: parts)
    _ = try? await cut.pull()
    await cut.close()
    try leave(first)
    try fill(first)
    await engines[1].close()
    first.close()
    other.close()
    return FuzzWorld(folder, folder.appendingPathComponent("fuzz.sqlite"), zone)
  }

  /// Few objects in a part, and one entry in a page.
  private static func parts() -> SyncOptions {
    var options = SyncOptions()
    options.partObjectsMax = 2
    options.pullBytesMax = 1
    return options
  }

  /// Frozen once: a store is opened for each mutant that is a file.
  private static let model = Result { try FuzzModel.make() }

  static func open(_ url: URL, isNewer: Bool = false) throws -> PersistentStore {
    try PersistentStore.open(
      url: url, model: try isNewer ? FuzzModel.make(isNewer: true) : model.get(),
      options: StoreOptions(durability: .normal))
  }

  // MARK: Content

  /// Objects of every entity, with values of every type.
  private static func stock(_ store: PersistentStore) throws {
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    context.transactionAuthor = "stock"
    let shelves = try (0..<2).map { try make("Shelf", ["name": "shelf \($0)"], context) }
    let labels = try (0..<3).map { try make("Label", ["name": "label \($0)"], context) }
    var items: [ManagedObject] = []
    for (index, entity) in ["Item", "Tool", "Toy", "Item", "Tool", "Toy", "Item"].enumerated() {
      let item = try make(
        entity,
        [
          "title": "title \(index)", "code": "code \(index)", "small": Int64(index),
          "middle": Int64(index * 1000), "stock": Int64(10), "weight": Double(index) + 0.5,
          "height": Double(index), "price": Decimal(string: "12.\(index)") ?? 0,
          "made": Date(timeIntervalSinceReferenceDate: Double(index) * 1000), "isOpen": index > 2,
          "blob": Data([1, 2, 3]), "mark": UUID(), "page": URL(string: "https://a.b/\(index)"),
          "text": "one two three", "words": "[\"a\"]", "held": "h",
          "photo": Data(repeating: UInt8(index), count: index < 2 ? 140_000 : 20),
        ], context)
      try item.setValue(shelves[index % 2], forKey: "shelf")
      try item.setValue(Set(labels.prefix(index % 3)), forKey: "labels")
      if let former = items.last { try item.setValue(former, forKey: "above") }
      try item.setValue(Set(items.prefix(2)), forKey: "friends")
      items.append(item)
    }
    for index in 0..<3 {
      let person = try make("Person", ["name": "person \(index)"], context)
      if index < 2 { try person.setValue(items[index * 3 + 1], forKey: "tool") }
      try person.setValue(labels, forKey: "labels")
    }
    try context.save()
    context.transactionAuthor = "more"
    try items[0].setValue(1.0e9, forKey: "weight")
    try items[3].setValue(Double.nan, forKey: "height")
    try context.save()
  }

  @discardableResult
  private static func make(
    _ entity: String, _ values: [String: Any?], _ context: ManagedObjectContext
  ) throws -> ManagedObject {
    let object = try context.insert(entityNamed: entity)
    for (name, value) in values { try object.setValue(value, forKey: name) }
    return object
  }

  /// Edits that two replicas make of the same objects.
  private static func edit(_ store: PersistentStore, by author: String, isNewer: Bool) throws {
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    context.transactionAuthor = author
    var request = FetchRequest<ManagedObject>(entityName: "Item")
    request.predicate = try FetchPredicate(format: "title BEGINSWITH 'title'")
    let items = try context.fetch(request).sorted {
      ($0["title"] as? String ?? "") < ($1["title"] as? String ?? "")
    }
    for item in items.prefix(4) {
      try item.setValue("\(author) \(item["code"] ?? "")", forKey: "title")
      try item.setValue((item["stock"] as? Int64 ?? 0) + 5, forKey: "stock")
      try item.setValue("one \(author) two three", forKey: "text")
      try item.setValue("[\"a\", \"\(author)\"]", forKey: "words")
      try item.setValue(author, forKey: "held")
      if isNewer { try item.setValue(Int64(100_000), forKey: "small") }
    }
    if isNewer {
      try make("Offer", ["percent": Int64(3)], context)
      try items[0].setValue("red", forKey: "colour")
      context.delete(items[6])
    } else {
      try items[1].setValue(items[6], forKey: "above")
    }
    // One unique key, made twice.
    try make("Item", ["code": "both", "title": author, "stock": Int64(1)], context)
    context.delete(items[isNewer ? 4 : 5])
    try context.save()
  }

  /// More new objects than a part holds.
  private static func label(_ store: PersistentStore) throws {
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    for number in 0..<8 { try make("Label", ["name": "more \(number)"], context) }
    try context.save()
  }

  /// What stays pending: edits, deletes, an object made and deleted.
  private static func leave(_ store: PersistentStore) throws {
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    context.transactionAuthor = "late"
    let items = try context.fetch(FetchRequest<ManagedObject>(entityName: "Item"))
    for item in items.prefix(2) {
      try item.setValue((item["stock"] as? Int64 ?? 0) + 3, forKey: "stock")
      try item.setValue("late", forKey: "text")
    }
    let new = try make("Toy", ["title": "late", "code": UUID().uuidString], context)
    let gone = try make("Label", ["name": "gone"], context)
    try context.save()
    try new.setValue("later", forKey: "title")
    context.delete(gone)
    if let person = try context.fetch(FetchRequest<ManagedObject>(entityName: "Person")).first {
      context.delete(person)
    }
    try context.save()
  }

  /// Rows of tables that only rare ways lead to.
  private static func fill(_ store: PersistentStore) throws {
    _ = try store.write(TransactionInfo(author: "fill", kind: .imported)) { transaction in
      let connection = transaction.connection
      func number(_ name: String) -> Int64 {
        Int64(store.model.entitiesByName[name].map { store.schema.entityNumber(of: $0) } ?? 0)
      }
      let item = number("Item")
      let replica = "(SELECT replica FROM ZDL_REPLICA)"
      let value = RowArchive.encode([.string("kept")])
      let data = RowArchive.encode([PropertyValue.data(Data([1]))])
      let whole = RowArchive.encode([PropertyValue.null])
      let keys = try connection.rows("SELECT Z_PK FROM ZITEM WHERE Z_ENT = \(item) LIMIT 2")
      guard case .integer(let key)? = keys.first?[0] else { return }
      for (sql, values) in [
        ("INSERT OR IGNORE INTO ZDL_KEPT VALUES (?, ?, 'extra', ?, 1, \(replica), 1)", data),
        ("INSERT OR IGNORE INTO ZDL_LACKED VALUES (?, ?, 'title', ?, \(replica), 1, 1.0)", value),
        ("INSERT OR IGNORE INTO ZDL_ZONE VALUES (?, ?, 'title', 0, ?, 1, \(replica), 1)", value),
        ("INSERT OR IGNORE INTO ZDL_BASE VALUES (?, ?, 'held', ?)", value),
        (
          "INSERT OR IGNORE INTO ZDL_PARKED_VALUE VALUES (?, ?, 'small', ?, 1, \(replica), 'r', 1.0)",
          RowArchive.encode([PropertyValue.integer(100_000)])
        ),
        ("INSERT OR IGNORE INTO ZDL_ZONE VALUES (?, ?, 'stock', 1, ?, 1, \(replica), 1)", whole),
      ] {
        try connection.run(sql, .integer(item), .integer(key), .blob(values))
      }
      try connection.execute(
        """
        INSERT OR IGNORE INTO ZDL_ZONE VALUES (\(item), \(key), '', 1, x'0000000000000000', 1,
        \(replica), 1);
        INSERT OR IGNORE INTO ZDL_OMITTED VALUES (\(item), \(key), 'title');
        INSERT OR IGNORE INTO ZDL_QUARANTINE VALUES (\(item), \(key), 'too-large', 'r', 's', 9, 1, 1.0);
        INSERT OR IGNORE INTO ZDL_DANGLING VALUES (\(item), 1, \(item), \(key), 'above', 0, NULL);
        INSERT OR IGNORE INTO ZDL_DELETED VALUES (randomblob(16), \(item), \(key), 7, 1, 0);
        INSERT OR IGNORE INTO ZDL_DELETED_SINCE SELECT identity, 1 FROM ZDL_DELETED;
        INSERT OR IGNORE INTO ZDL_ALIAS VALUES (randomblob(16), \(item), \(key), \(key), NULL, NULL);
        INSERT OR IGNORE INTO ZDL_FORMER VALUES (\(item), \(key));
        INSERT OR IGNORE INTO ZDL_STRUCK VALUES (1, 'title', 1);
        INSERT INTO ZDL_PARKED_FORMER(sequence, code, reason, sender, since, tried_level, unknown,
        objects, frame) SELECT sequence, code, reason, sender, since, tried_level, unknown,
        randomblob(32), frame FROM ZDL_PARKED LIMIT 1;
        INSERT OR IGNORE INTO ZDL_IMPORT VALUES (1, 1, 'author', 'context');
        INSERT OR IGNORE INTO ZDL_ORIGIN VALUES (-1, 'author', 'context');
        INSERT OR IGNORE INTO ZDL_SEGMENT VALUES ('0f', 0, x'0102'), ('0f', 2, x'03');
        INSERT OR IGNORE INTO ZDL_VALUE VALUES (randomblob(32), 0, x'0102');
        INSERT OR IGNORE INTO ZDL_MISSED VALUES (randomblob(32), 1.5, 'lost');
        INSERT OR IGNORE INTO ZDL_WANTED(digest) VALUES (randomblob(32));
        INSERT OR IGNORE INTO ZDL_NAMED VALUES (\(item), \(key), 'extra', randomblob(32));
        INSERT OR IGNORE INTO ZDL_HISTORY_READER VALUES ('app', 1)
        """)
    }
  }
}

/// A transport whose pushes arrive nowhere: what is in flight stays so. After some pages no more come.
private final class LostAnswers: ForwardingTransport, @unchecked Sendable {  // one engine has it
  let next: any SyncTransport
  private var pages: Int

  init(_ zone: MemoryZone, pages: Int = .max) {
    next = zone
    self.pages = pages
  }

  func pull(_ request: PullRequest) async throws -> PullPage {
    guard pages > 0 else { throw ProtocolError(.busy, "Nobody is there", suggestion: "") }
    pages -= 1
    return try await next.pull(request)
  }

  func push(_ frame: Data) async throws -> PushReply {
    throw ProtocolError(.busy, "Nobody is there", suggestion: "")
  }
}
