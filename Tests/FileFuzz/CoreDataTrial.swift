import CoreData
import Driftless
import Foundation
import TestSupport

/// What is done with a mutant through the module `CoreData`: format strings of `NSPredicate`, and files of binary stores.
struct CoreDataTrial {
  private let folder: URL
  private var file: URL { folder.appendingPathComponent("mutant.binary") }
  /// The lists of a binary store's file: its metadata, and its objects.
  private let lists: [Data]

  /// - Throws: what kept the sample from being written.
  init(folder: URL) throws {
    self.folder = folder
    let url = folder.appendingPathComponent("sample.binary")
    try? FileManager.default.removeItem(at: url)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try Samples.model())
    try coordinator.addPersistentStore(
      ofType: NSBinaryStoreType, configurationName: nil, at: url, options: nil)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      let writer = Self.made("Writer", context)
      writer.setValue("Ada", forKey: "name")
      for index in 0..<6 {
        let book = Self.made(index > 3 ? "Novel" : "Book", context)
        let values: [String: Any] = [
          "name": "Book \(index)", "pages": Int64(index * 100), "price": Decimal(index),
          "weight": Double(index) / 3, "made": Date(timeIntervalSinceReferenceDate: Double(index)),
          "isOpen": index > 2, "code": UUID(), "photo": Data(repeating: 1, count: 100),
          "link": URL(string: "https://a.b/\(index)") as Any, "writer": writer,
        ]
        for (name, value) in values { book.setValue(value, forKey: name) }
      }
      try context.save()
    }
    lists = Self.lists(of: try Data(contentsOf: url))
  }

  private static func made(_ entity: String, _ context: NSManagedObjectContext) -> NSManagedObject {
    NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
  }

  // MARK: Predicates

  /// Fetches by a format, and evaluates it where that was possible.
  ///
  /// - Throws: what a fetch refuses.
  func ask(_ format: String, _ arguments: [Any], of store: PersistentStore) throws {
    let predicate = NSPredicate(format: format, argumentArray: arguments)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = PersistentStoreCoordinator(store: store)
    try context.performAndWait {
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      let all = try context.fetch(request)
      request.predicate = predicate
      _ = try context.fetch(request)
      _ = (predicate.description, predicate.hash, predicate.isEqual(predicate.copy()))
      request.predicate = NSCompoundPredicate(notPredicateWithSubpredicate: predicate)
      _ = try context.fetch(request)
      _ = all.count
    }
  }

  // MARK: Binary stores

  /// Opens a mutant, reads and sorts what it has, saves it, and reads that again.
  ///
  /// - Throws: what kept it from being opened, read or written.
  func binary(_ numbers: inout SeededNumbers) throws {
    try mutant(&numbers).write(to: file)
    unlink(file.path + ".partial")
    _ = try? NSPersistentStoreCoordinator.metadataForPersistentStore(
      ofType: NSBinaryStoreType, at: file, options: nil)
    for _ in 0..<2 { try use() }
  }

  private func use() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try Samples.model())
    try coordinator.addPersistentStore(
      ofType: NSBinaryStoreType, configurationName: nil, at: file, options: nil)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      for name in ["name", "pages", "price", "weight", "made", "code", "isOpen", "link"] {
        let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
        request.sortDescriptors = [NSSortDescriptor(key: name, ascending: true)]
        for object in try context.fetch(request) {
          for key in object.entity.propertiesByName.keys { _ = object.value(forKey: key) }
          _ = object.description
        }
      }
      for format in ["made > %@", "weight >= 0 AND pages < 300", "price == 2", "name LIKE 'B*'"] {
        let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
        request.predicate = NSPredicate(format: format, Date(timeIntervalSinceReferenceDate: 1))
        _ = try context.fetch(request)
      }
      let made = Self.made("Tag", context)
      made.setValue("mutant", forKey: "name")
      try context.save()
    }
  }

  private func mutant(_ numbers: inout SeededNumbers) -> Data {
    var lists = lists
    for _ in 0...numbers.number(below: 2) {
      let place = numbers.number(below: lists.count)
      switch numbers.number(below: 4) {
      case 0: lists[place] = Mutant.objects(of: lists[place], &numbers)
      case 1, 2: lists[place] = Self.withOddNumbers(lists[place], &numbers)
      default:
        lists[place] = Mutant.bytes(
          of: lists[place], with: lists[0], words: ["decimal", "uuid", "composite"], &numbers)
      }
    }
    let whole = Self.file(of: lists)
    guard numbers.chance(20) else { return whole }
    return Mutant.bytes(of: whole, with: lists[0], words: ["DRIFTBIN"], &numbers)
  }

  /// Lets numbers and dates be what nobody expects: none, -0.0, infinite, and the greatest there are.
  private static func withOddNumbers(_ list: Data, _ numbers: inout SeededNumbers) -> Data {
    var bytes = Array(list)
    let odd: [UInt64] = [
      Double.nan.bitPattern, (-0.0).bitPattern, Double.infinity.bitPattern,
      (-Double.infinity).bitPattern, Double.greatestFiniteMagnitude.bitPattern,
      Double.leastNonzeroMagnitude.bitPattern, (9.3e18).bitPattern, .max, 1 << 63, 0,
    ]
    // In a binary property list 0x13 begins an integer of eight bytes, 0x23 a double, 0x33 a date.
    let places = bytes.indices.dropLast(8).filter { [0x13, 0x23, 0x33].contains(bytes[$0]) }
    guard !places.isEmpty else { return list }
    for _ in 0...numbers.number(below: 3) {
      let place = places[numbers.number(below: places.count)]
      let value = odd[numbers.number(below: odd.count)]
      for index in 0..<8 {
        bytes[place + 1 + index] = UInt8(truncatingIfNeeded: value >> UInt64((7 - index) * 8))
      }
      if numbers.chance(30) { bytes[place] = [0x13, 0x23, 0x33][numbers.number(below: 3)] }
    }
    return Data(bytes)
  }

  private static let headBytes = 20

  private static func lists(of file: Data) -> [Data] {
    var lists: [Data] = []
    var rest = Data(file.dropFirst(headBytes))
    while rest.count >= 8 {
      let length = rest.prefix(8).reduce(0) { $0 << 8 | Int($1) }
      lists.append(Data(rest.dropFirst(8).prefix(length)))
      rest = Data(rest.dropFirst(8 + length))
    }
    return lists
  }

  /// A file whose checksum is right: what is changed gets further.
  private static func file(of lists: [Data]) -> Data {
    func bytes(_ number: UInt64, _ count: Int) -> [UInt8] {
      (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> UInt64(8 * $0)) }
    }
    var body = Data()
    for list in lists { body += bytes(UInt64(list.count), 8) + list }
    let checksum = body.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01b3
    }
    return Data("DRIFTBIN".utf8) + bytes(1, 4) + bytes(checksum, 8) + body
  }
}
