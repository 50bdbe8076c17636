import Driftless
import DriftlessSQLite
import Foundation
import TestSupport

/// What is done with a mutant: all that an application does with a file or a format string. It works, or throws one of the
/// library's errors; what traps, hangs or takes all memory is seen from outside.
struct FileTrial {
  let folder: URL
  /// How many mutants were refused.
  private(set) var refused = 0
  private var strange: [String] = []

  /// Nil for kinds that need none.
  private let coreData: CoreDataTrial?

  init(_ kind: Kind, folder: URL) throws {
    self.folder = folder
    coreData = [.predicate, .binary].contains(kind) ? try CoreDataTrial(folder: folder) : nil
  }

  mutating func takeStrange() -> [String] {
    defer { strange = [] }
    return strange
  }

  mutating func run(_ kind: Kind, _ samples: Samples, _ numbers: inout SeededNumbers) {
    do {
      switch kind {
      case .model: try model(samples, &numbers)
      case .archive: try archive(samples, &numbers)
      case .format: try format(samples, &numbers)
      case .grammar: try grammar(samples, &numbers)
      case .predicate: try predicate(samples, &numbers)
      case .binary: try coreData?.binary(&numbers)
      case .store: try store(samples, &numbers)
      case .side: try side(samples, &numbers)
      case .migration: try migration(samples, &numbers)
      }
    } catch {
      refused += 1
      Self.show("\(error)")
      note(error)
    }
  }

  /// `DRIFTLESS_SHOW=1` tells what a seed makes.
  static func show(_ text: @autoclosure () -> String) {
    guard ProcessInfo.processInfo.environment["DRIFTLESS_SHOW"] != nil else { return }
    FileHandle.standardError.write(Data((text() + "\n").utf8))
  }

  private mutating func note(_ error: any Error) {
    switch error {
    case is StoreError, is ObjectError, is AccessorFailure, is FetchError, is ModelError,
      is ValidationError, is ValidationFailure, is SaveConflictError, is SQLiteError,
      is CocoaError:
      break
    default: strange.append("threw \(type(of: error)): \("\(error)".prefix(200))")
    }
  }

  // MARK: Models

  private mutating func model(_ samples: Samples, _ numbers: inout SeededNumbers) throws {
    let sample = samples.file(&numbers)
    let data: Data
    if numbers.chance(50) {
      data = Mutant.bytes(
        of: sample, with: samples.file(&numbers), words: samples.words, &numbers)
    } else {
      // One value in quotes in place of another: what is well formed gets further.
      data = Self.quoted(sample, samples.words, &numbers)
    }
    try use(try ManagedObjectModel(xml: data), &numbers)
  }

  private static func quoted(
    _ sample: Data, _ words: [String], _ numbers: inout SeededNumbers
  ) -> Data {
    var parts = String(decoding: sample, as: UTF8.self).components(separatedBy: "\"")
    guard parts.count > 3 else { return sample }
    for _ in 0...numbers.number(below: 3) {
      let place = numbers.number(below: (parts.count - 1) / 2) * 2 + 1
      switch numbers.number(below: 4) {
      case 0: parts[place] = parts[numbers.number(below: (parts.count - 1) / 2) * 2 + 1]
      case 1:
        parts[place] =
          ["", "0", "-1", "YES", "1e999", "99999999999999999999", "é"][
            numbers.number(below: 7)]
      case 2:
        parts[place] = words[numbers.number(below: words.count)]
          .filter { $0.isLetter || $0 == " " }
      default: parts.swapAt(place, numbers.number(below: (parts.count - 1) / 2) * 2 + 1)
      }
    }
    return Data(parts.joined(separator: "\"").utf8)
  }

  /// What is done with a model that could be read: a store is made of it, and an object of each entity.
  private func use(_ model: ManagedObjectModel, _ numbers: inout SeededNumbers) throws {
    try model.freeze()
    _ = (model.entityVersionHashesByName, try ModelDocument.xml(of: model))
    _ = try ModelArchive.decode(try ModelArchive.encode(model))
    guard numbers.chance(50) else { return }
    let store = try PersistentStore.open(url: nil, model: model)
    defer { store.close() }
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    for entity in model.entities where !entity.isAbstract {
      let object = try context.insert(entityNamed: entity.name)
      for name in object.entity.propertiesByName.keys { _ = try? object.value(forKey: name) }
    }
    do { try context.save() } catch is ValidationError {} catch is ValidationFailure {}
    for name in model.fetchRequestTemplatesByName.keys {
      _ = model.fetchRequestTemplate(forName: name)
    }
  }

  private mutating func archive(_ samples: Samples, _ numbers: inout SeededNumbers) throws {
    let sample = samples.file(&numbers)
    let isList = sample.starts(with: Array("bplist".utf8))
    let data =
      isList && numbers.chance(60)
      ? Mutant.objects(of: sample, &numbers)
      : Mutant.bytes(of: sample, with: samples.file(&numbers), words: samples.words, &numbers)
    guard isList else { return try use(try ModelArchive.decode(data), &numbers) }
    let file = folder.appendingPathComponent("mutant.mom")
    try data.write(to: file)
    do {
      try use(try ManagedObjectModel(contentsOf: file), &numbers)
    } catch {
      let mapping = folder.appendingPathComponent("mutant.cdm")
      try data.write(to: mapping)
      _ = try? MappingModel(contentsOf: mapping)
      throw error
    }
  }

  // MARK: Formats

  private mutating func format(_ samples: Samples, _ numbers: inout SeededNumbers) throws {
    let formats = Samples.formats
    let sample = formats[numbers.number(below: formats.count)]
    let other = formats[numbers.number(below: formats.count)]
    try ask(Mutant.text(of: sample, with: other, words: samples.words, &numbers), samples, &numbers)
  }

  private mutating func grammar(_ samples: Samples, _ numbers: inout SeededNumbers) throws {
    let text = FormatGrammar.format(&numbers)
    guard numbers.chance(25) else { return try ask(text, samples, &numbers) }
    let other = FormatGrammar.format(&numbers)
    try ask(Mutant.text(of: text, with: other, words: samples.words, &numbers), samples, &numbers)
  }

  private func predicate(_ samples: Samples, _ numbers: inout SeededNumbers) throws {
    var text = FormatGrammar.format(&numbers)
    if numbers.chance(60) {
      let formats = Samples.formats
      if numbers.chance(50) { text = formats[numbers.number(below: formats.count)] }
      let other = formats[numbers.number(below: formats.count)]
      text = Mutant.text(of: text, with: other, words: samples.words, &numbers)
    }
    Self.show(text)
    let arguments: [Any] = [
      "name", 3, ["a", "b"], NSNull(), Date(timeIntervalSinceReferenceDate: .nan), Decimal(1),
      Data([1]), UUID(), true, -0.0,
    ]
    let wanted = min(text.split(separator: "%", omittingEmptySubsequences: false).count - 1, 1_000)
    let start = numbers.number(below: 4)
    let given = (0..<wanted).map { arguments[(start + $0) % arguments.count] }
    try coreData?.ask(text, given, of: samples.store)
  }

  private mutating func ask(
    _ text: String, _ samples: Samples, _ numbers: inout SeededNumbers
  ) throws {
    Self.show(text)
    let arguments: [Any?] = [
      "name", 3, ["a", "b"], nil, Date(timeIntervalSinceReferenceDate: 1), Decimal(1),
      Data([1]), UUID(), true, 1.5,
    ]
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: samples.store))
    // As many as are asked for: others are refused before anything is read.
    let wanted = min(text.split(separator: "%", omittingEmptySubsequences: false).count - 1, 1_000)
    let start = numbers.number(below: 4)
    let given = (0..<wanted).map { arguments[(start + $0) % arguments.count] }
    let predicate = try FetchPredicate(format: text, argumentArray: given)
    if let again = try? FetchPredicate(format: predicate.description), again != predicate {
      // A number that is none is no other one either.
      if !"\(predicate)".lowercased().contains("nan") {
        strange.append("reads back as another: \(predicate)".prefix(300).description)
      }
    }
    var request = FetchRequest<ManagedObject>(entityName: "Book")
    let all = try context.fetch(request)
    for object in all.prefix(2) { _ = try? predicate.evaluate(with: object) }
    request.predicate = predicate
    _ = try context.fetch(request)
  }

  // MARK: Stores

  private mutating func store(_ samples: Samples, _ numbers: inout SeededNumbers) throws {
    let file = folder.appendingPathComponent("mutant.sqlite")
    for suffix in ["", "-wal", "-shm", "-driftless-lock", "-driftless-file"] {
      unlink(file.path + suffix)
    }
    let sample = samples.file(&numbers)
    if numbers.chance(40) {
      try Mutant.bytes(of: sample, with: samples.file(&numbers), words: samples.words, &numbers)
        .write(to: file)
    } else {
      try sample.write(to: file)
      try StoreMutation.apply(to: file, &numbers)
    }
    let hasModel = numbers.chance(30)
    let store = try PersistentStore.open(
      url: file, model: hasModel ? samples.store.model : nil,
      options: StoreOptions(
        isReadOnly: numbers.chance(20), durability: .normal))
    defer { store.close() }
    do { _ = try store.check() } catch { note(error) }
    do { try Self.readHistory(store) } catch { note(error) }
    do { try Self.work(store) } catch { note(error) }
  }

  /// Changes files beside a store; one that cannot be read is named by the check, and all else can be read.
  private mutating func side(_ samples: Samples, _ numbers: inout SeededNumbers) throws {
    guard let pages = samples.pages else { return }
    let file = folder.appendingPathComponent("mutant.sqlite")
    let isLost = try SideFileTrial.mutate(pages, to: file, &numbers)
    let store = try PersistentStore.open(url: file, options: StoreOptions(durability: .normal))
    defer { store.close() }
    let check = try store.check()
    if isLost, check.findings.isEmpty {
      strange.append("the check says nothing of a large value whose file cannot be read")
    }
    do { try Self.work(store) } catch { note(error) }
    let copy = folder.appendingPathComponent("mutant.copy.sqlite")
    try? FileManager.default.removeItem(at: copy)
    do { try store.backup(to: copy) } catch { note(error) }
    do { _ = try store.check() } catch { note(error) }
  }

  private mutating func migration(_ samples: Samples, _ numbers: inout SeededNumbers) throws {
    let file = folder.appendingPathComponent("mutant.sqlite")
    for suffix in ["", "-wal", "-shm", "-driftless-lock", "-driftless-file"] {
      unlink(file.path + suffix)
    }
    let sample = samples.file(&numbers)
    if numbers.chance(25) {
      try Mutant.bytes(of: sample, with: sample, words: samples.words, &numbers).write(to: file)
    } else {
      try sample.write(to: file)
      try StoreMutation.apply(to: file, &numbers)
    }
    let model = samples.newer[numbers.number(below: samples.newer.count)]
    if let wrong = try MigrationTrial.run(file, to: model) { strange.append(wrong) }
  }

  private static func readHistory(_ store: PersistentStore) throws {
    let all = PersistentHistoryChangeRequest.fetchHistory(after: nil as PersistentHistoryToken?)
    for change in try store.fetchHistory(all).flatMap({ $0.changes ?? [] }) {
      _ = (change.changedObjectID, change.updatedProperties, change.tombstone)
    }
    _ = try store.currentHistoryToken()
  }

  /// Reads all, changes an object of each entity, makes one, deletes one, and saves.
  private static func work(_ store: PersistentStore) throws {
    let context = ManagedObjectContext(PersistentStoreCoordinator(store: store))
    for entity in store.model.entities where entity.superentity == nil {
      let request = FetchRequest<ManagedObject>(entityName: entity.name)
      guard let objects = try? context.fetch(request) else { continue }
      for object in objects {
        for name in object.entity.propertiesByName.keys.sorted() {
          _ = try? object.value(forKey: name)
        }
      }
      if let first = objects.first {
        for attribute in first.entity.attributesByName.values where attribute.type == .string {
          try? first.setValue("changed", forKey: attribute.name)
        }
      }
      if let last = objects.last, objects.count > 1 { context.delete(last) }
      if !entity.isAbstract { _ = try? context.insert(entityNamed: entity.name) }
    }
    try context.save()
  }
}
