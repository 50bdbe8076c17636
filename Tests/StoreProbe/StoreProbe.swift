import Driftless
import DriftlessSQLite
import Foundation

/// What the tests of the store do in a process of its own: a process can be ended at any write, and two processes
/// share a file as they do in the field.
///
///     storeprobe WORK STORE [FAULT NUMBER]
///     storeprobe create|look STORE [FAULT NUMBER]
///     storeprobe migrate|map|stage|deferred|weigh STORE FAULT NUMBER MODEL
///
/// It prints `done` when the work was acknowledged, or the code of the error. A `full` or `broken` disk is whole again
/// after the error, and what is saved then is acknowledged by a second `done`.
@main
struct StoreProbe {
  static func main() {
    let arguments = CommandLine.arguments
    if arguments.count == 6, let way = Migration(rawValue: arguments[1]) { migrate(way, arguments) }
    if arguments.count >= 3, let first = FirstLook(rawValue: arguments[1]) { first.run(arguments) }
    guard arguments.count >= 3, let work = Work(rawValue: arguments[1]) else {
      print("usage: storeprobe WORK STORE [FAULT NUMBER]")
      exit(64)
    }
    let url = URL(fileURLWithPath: arguments[2])
    do {
      let store = try PersistentStore.open(
        url: url,
        options: StoreOptions(
          durability: work == .photosUnwaited ? .normal : .full, createsFile: false))
      if arguments.count == 5, let fault = WriteFault.Kind(rawValue: arguments[3]),
        let number = Int(arguments[4])
      {
        WriteFault.arm(fault, at: number)
        // Who wants to see it stop asks for its number.
        if fault == .stop {
          print(getpid())
          fflush(nil)
        }
      }
      attempt { try work.run(store) }
      WriteFault.disarm()
      if arguments.count == 5, work != .saveAs, work != .finish {
        attempt { try ([.photos, .photosUnwaited].contains(work) ? work : .save).run(store) }
      }
      // Whoever ends without closing leaves the log to the next.
    } catch {
      report(error)
    }
    quick_exit(0)
  }

  private static func migrate(_ way: Migration, _ arguments: [String]) -> Never {
    attempt {
      let url = URL(fileURLWithPath: arguments[2])
      let model = try ManagedObjectModel(contentsOf: URL(fileURLWithPath: arguments[5]))
      try model.freeze()
      let former = try PersistentStore.open(
        url: url, options: StoreOptions(isReadOnly: true, createsFile: false))
      let options = try way.options(from: former.model, to: model)
      former.close()
      if let fault = WriteFault.Kind(rawValue: arguments[3]), let number = Int(arguments[4]) {
        WriteFault.arm(fault, at: number)
      }
      let store = try PersistentStore.open(url: url, model: model, options: options)
      withExtendedLifetime(store) {}
    }
    if way == .weigh {
      print("KiB at most: \(peakKibibytes)")
      fflush(nil)
    }
    quick_exit(0)
  }

  /// The most memory that the process had.
  private static var peakKibibytes: String {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return line.split { !$0.isNumber }.first.map(String.init) ?? ""
  }

  private static func attempt(_ body: () throws -> Void) {
    do {
      try body()
      print("done")
    } catch {
      report(error)
    }
    fflush(nil)
  }

  private static func report(_ error: any Error) {
    print((error as? StoreError)?.code.description ?? "\(error)")
    fflush(nil)
  }
}

/// The ways to another model.
enum Migration: String {
  case migrate
  case map
  case stage
  case deferred
  case weigh

  func options(
    from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) throws -> StoreOptions {
    switch self {
    case .migrate: return StoreOptions(migratesAutomatically: true)
    case .deferred: return StoreOptions(migratesAutomatically: true, defersMigrationCleanup: true)
    case .map, .weigh:
      var mapping = try MappingModel.inferredMappingModel(
        forSourceModel: source, destinationModel: destination)
      mapping["Human"]?.attributeMappings["nick"]?.valueExpression =
        try FetchExpression(format: "uppercase:($source.nick)")
      return StoreOptions(migratesAutomatically: true, mappingModels: [mapping])
    case .stage:
      let stage = CustomMigrationStage(
        migratingFrom: try ModelReference(model: source),
        to: try ModelReference(model: destination),
        didMigrate: { manager, _ in
          guard let context = manager.container?.newContext() else { return }
          for human in try context.fetch(FetchRequest<ManagedObject>(entityName: "Human")) {
            human["nick"] = (human["nick"] as? String)?.uppercased()
          }
          try context.save()
        })
      return StoreOptions(stagedMigration: StagedMigrationManager([stage]))
    }
  }
}

/// The pieces of work.
enum Work: String {
  case save
  case purge
  case backup
  case vacuum
  case checkpoint
  case photos
  /// The same, where a save does not wait for the disk.
  case photosUnwaited
  case saveAs
  case finish

  func run(_ store: PersistentStore) throws {
    switch self {
    case .save: try Self.save(store)
    case .purge: try store.deleteHistory(before: Date.distantFuture)
    case .backup:
      guard let url = store.url else { return }
      try store.backup(to: url.appendingPathExtension("backup"))
    case .vacuum: try store.vacuum()
    case .checkpoint: store.close()
    case .photos, .photosUnwaited: try Self.photos(store)
    case .finish:
      try PersistentStoreCoordinator(store: store).finishDeferredLightweightMigration()
    case .saveAs:
      guard let url = store.url else { return }
      let coordinator = PersistentStoreCoordinator(store: store)
      try coordinator.migratePersistentStore(store, to: url.appendingPathExtension("backup"))
    }
  }

  /// One transaction that writes two large values into files, lets go of another by an update, and of one by a delete;
  /// then the files that nobody needs go. Each photo's name is the byte that its image is full of.
  private static func photos(_ store: PersistentStore) throws {
    _ = try store.write(TransactionInfo(author: "probe")) { transaction in
      guard let photo = store.model.entitiesByName["Photo"],
        let name = photo.layout.index(named: "name"),
        let image = photo.layout.index(named: "image")
      else { return }
      var values = [PropertyValue](repeating: .null, count: photo.layout.slots.count)
      let number = store.schema.entityNumber(of: photo)
      func fill(_ key: Int64) {
        let byte = UInt8(truncatingIfNeeded: key + 100)
        values[name] = .string("\(byte)")
        values[image] = .data(Data(repeating: byte, count: 200_000))
      }
      let key = try transaction.allocateKeys(photo, count: 1).lowerBound
      fill(key)
      try transaction.insert(photo, key, values: values)
      // The two photos before it, where they still are.
      if try transaction.row(ObjectKey(entity: number, key: key - 1)) != nil {
        fill(key + 50)
        try transaction.update(
          ObjectKey(entity: number, key: key - 1), PropertyMask([name, image]), values: values,
          expectedVersion: nil)
      }
      if try transaction.row(ObjectKey(entity: number, key: key - 2)) != nil {
        try transaction.delete(ObjectKey(entity: number, key: key - 2), expectedVersion: nil)
      }
    }
    try store.vacuum()
  }

  /// One transaction with an insert, an update and a delete: `Item`s named 0, 1, 2 … in the order of their keys.
  private static func save(_ store: PersistentStore) throws {
    _ = try store.write(TransactionInfo(author: "probe")) { transaction in
      guard let item = store.model.entitiesByName["Item"],
        let name = item.layout.index(named: "name"),
        let picture = item.layout.index(named: "picture")
      else { return }
      var values = [PropertyValue](repeating: .null, count: item.layout.slots.count)
      values[picture] = .data(Data(repeating: 7, count: 9_000))
      let number = store.schema.entityNumber(of: item)
      let keys = try transaction.allocateKeys(item, count: 3)
      for key in keys {
        values[name] = .string("\(key)")
        try transaction.insert(item, key, values: values)
      }
      values[name] = .string("changed")
      try transaction.update(
        ObjectKey(entity: number, key: keys.lowerBound), PropertyMask([name]), values: values,
        expectedVersion: nil)
      try transaction.delete(
        ObjectKey(entity: number, key: keys.upperBound), expectedVersion: nil)
    }
  }
}
