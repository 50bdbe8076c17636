import Driftless
import DriftlessHTTP
import DriftlessProtocol
import DriftlessSync
import Foundation

// The code that the pages show, compiled. `GuideExampleTests` runs it, and sees to it that each block of a page stands here.

// MARK: SyncGuide.md

func startSyncing(
  _ model: ManagedObjectModel, _ storeURL: URL, _ serverURL: URL, _ token: String,
  show: @Sendable (SyncState) -> Void
) async throws {
  let library = try await LocalStore.open(model: model, at: storeURL)
  for await state in try await library.sync(with: serverURL, zone: "shop", token: token) {
    show(state)
  }
}

func enrolAndSync(_ store: PersistentStore, server: URL, zone: String, token: String) async throws {
  let transport = try CurlTransport(server: server, zone: zone, token: token)
  defer { transport.close() }
  let report = try await SyncEngine(store: store, enrollingThrough: transport).sync()
  print("received \(report.pull.changeSets), sent \(report.push.objects)")
}

func keepInStep(_ engine: SyncEngine, show: @Sendable (String) -> Void) async {
  for await state in engine.run() {
    switch state {
    case .syncing: show("looking")
    case .receiving(let progress): show("received \(progress.done) of \(progress.total)")
    case .sending(let progress): show("sent \(progress.done) of \(progress.total)")
    case .inStep: show("in step")
    case .offline(let pause): show("offline since \(pause.since)")
    case .waitingForPerson(let pause): show("please decide: \(pause.failure.message)")
    case .refused(let pause): show("refused: \(pause.failure.message)")
    }
  }
}

func decideAll(_ store: PersistentStore, by choose: (JournalEntry) -> JournalEntry.Side) throws {
  for entry in try SyncEngine.conflicts(of: store) where entry.isWaiting {
    // The value of that side is set as an edit of now; the next sync sends it.
    try SyncEngine.decide(conflict: entry.number, for: choose(entry), of: store)
  }
}

func engineWithRules(_ store: PersistentStore, _ transport: any ZoneTransport) -> SyncEngine {
  var options = SyncOptions()
  options.customPolicies["longest"] = { conflict in
    guard case .string(let here) = conflict.local, case .string(let there) = conflict.remote else {
      return conflict.remote
    }
    return here.count > there.count ? conflict.local : conflict.remote
  }
  return SyncEngine(store: store, enrollingThrough: transport, options: options)
}

func keepAllInStep(
  _ engines: [SyncEngine], show: @escaping @Sendable (URL?, SyncState) -> Void
) async {
  await withTaskGroup { group in
    for engine in engines {
      group.addTask {
        for await state in engine.run() { show(engine.store.url, state) }
      }
    }
  }
}

final class Photo: ManagedObject {
  static let image = Attribute<Photo, Data?>("image")
  var image: Data? {
    get { self[Photo.image] }
    set { self[Photo.image] = newValue }
  }
}

func showPhotos(
  _ photo: Photo, of album: String, _ engine: SyncEngine, show: (Data?) -> Void,
  showPlaceholder: (Int64) -> Void, showMissing: (Date) -> Void,
  showProgress: @Sendable (Int64, Int64) -> Void
) async throws {
  switch photo.valueState(of: Photo.image) {
  case .none, .here: show(photo.image)
  case .inZone(let bytes): showPlaceholder(bytes)
  case .missing(let since): showMissing(since)
  }
  try await engine.download(photo.objectID, Photo.image)
  let inAlbum = try FetchPredicate(format: "album == %@", album)
  try await engine.downloadAll(of: "Photo", where: inAlbum) { told in
    showProgress(told.bytes, told.bytesTotal)
  }
}

func followPhoto(
  _ photo: Photo, _ engine: SyncEngine, showPlaceholder: (Int64) -> Void,
  showProgress: (Int64, Int64) -> Void
) async {
  for await update in engine.valueUpdates(of: photo.objectID, Photo.image) {
    guard case .inZone(let bytes) = update.state else { continue }
    if update.isWanted { showProgress(update.bytesFetched, bytes) } else { showPlaceholder(bytes) }
  }
}

// MARK: Concurrency.md

final class Order: ManagedObject {
  static let number = Attribute<Order, Int64>("number")
  static let text = Attribute<Order, String?>("text")
}

func countOrders(in container: PersistentContainer) async throws -> Int {
  try await container.perform { context in
    try context.insert(Order.self)[Order.number] = 1
    try context.save()
    // A number may leave; an Order may not: the compiler says so.
    return try context.fetch(Order.self).count
  }
}

func addOrder(_ number: Int64, to store: LocalStore) async throws -> ManagedObjectID {
  try await store.write { context in
    let order = try context.insert(Order.self)
    order[Order.number] = number
    return order.objectID
  }
}

func latestOrders(of store: LocalStore) async throws -> [Int64] {
  try await store.read { context in
    let request = FetchRequest(Order.self, sort: Order.number.descending, limit: 10)
    return try context.fetch(request).map { $0[Order.number] }
  }
}

@MainActor final class OrderList {
  private let container: PersistentContainer
  private(set) var numbers: [Int64] = []

  init(_ container: PersistentContainer) {
    self.container = container
    container.viewContext.automaticallyMergesChangesFromParent = true
  }

  func reload() throws {
    numbers = try container.viewContext.fetch(Order.self, order: Order.number.ascending)
      .map { $0[Order.number] }
  }
}

/// An actor with a context of its own: objects stay inside, values go out.
actor OrderBook {
  private let context: ManagedObjectContext

  init(_ container: PersistentContainer) { context = container.newContext() }

  func add(_ number: Int64) throws -> ManagedObjectID {
    let order = try context.insert(Order.self)
    order[Order.number] = number
    try context.save()
    return order.objectID
  }
}

func rename(_ id: ManagedObjectID, to text: String, in container: PersistentContainer) async throws
{
  try await container.perform { context in
    // The same ID finds the object in every context.
    guard let order = context.object(with: id) as? Order else { return }
    order[Order.text] = text
    try context.save()
  }
}

func importOrders(_ numbers: [Int64], into background: BackgroundContext) async throws {
  try await background.perform { context in
    for number in numbers { try context.insert(Order.self)[Order.number] = number }
    try context.save()
  }
}

func followSaves(of store: PersistentStore, _ body: @Sendable () async -> Void) async {
  // Of every process; ends with the task.
  for await _ in store.changes() { await body() }
}

// MARK: Errors.md

func describe(_ error: any Error) -> String {
  switch error {
  case let error as SyncError where error.code == .massDelete: "ask the person: \(error.message)"
  case let error as SyncError: "\(error.message) \(error.suggestion)"
  case let error as ProtocolError: "the server refuses: \(error.message) \(error.suggestion)"
  case let error as TransportError where error.isTransient: "later: \(error.message)"
  case let error as TransportError: "\(error.message) \(error.suggestion)"
  case let error as StoreError where error.code == .busy: "try again: \(error.message)"
  case let error as StoreError: "\(error.message) \(error.suggestion)"
  default: "\(error)"
  }
}

// MARK: Models.md

func shopModel() -> ManagedObjectModel {
  let item = EntityDescription("Item")
  let stock = AttributeDescription("stock", .integer64, isOptional: false)
  stock.defaultValue = .integer(0)
  stock.conflictPolicy = .counter
  item.properties = [
    AttributeDescription("name", .string, isOptional: false), stock,
    RelationshipDescription("shelf", to: "Shelf", inverse: "items"),
  ]
  let shelf = EntityDescription("Shelf")
  shelf.properties = [
    AttributeDescription("label", .string),
    RelationshipDescription(
      "items", to: "Item", inverse: "shelf", toMany: true, deleteRule: .cascade),
  ]
  return ManagedObjectModel(entities: [item, shelf])
}
