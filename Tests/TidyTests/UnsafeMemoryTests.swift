import Foundation
import Testing

/// Memory that the compiler does not look after is the business of few files: the others have handles that know how much there
/// is.
struct UnsafeMemoryTests {
  private static let handles = "it makes the handles that the others use"
  private static let lends = "it lends the bytes of a value to a call that copies them"
  private static let uuid = "it reads or lends the sixteen bytes of a UUID"
  private static let system = "it calls the operating system"

  /// The files of the library that mention such memory, each with the reason.
  private static let files: [String: String] = [
    "Driftless/Values/ValueMemory.swift": handles,
    "Driftless/Objects/ObjectMemory.swift": handles,
    "Driftless/Values/PropertyValue.swift": uuid,
    "Driftless/Values/DecimalText.swift": "it reads digits where they lie",
    "Driftless/Model/Compiled/CompiledValueReader.swift": uuid,
    "Driftless/Store/Query/SQLFunction.swift": uuid,
    "Driftless/Store/RowArchive.swift": uuid,
    "Driftless/Store/Care/LostCommits.swift": uuid,
    "Driftless/Store/RowBinder.swift": "it lends texts and data to a statement where they lie",
    "Driftless/Store/RowReader.swift": lends,
    "Driftless/Store/CoreDataFile/ContentDigest.swift": "it reads texts and data where they lie",
    "Driftless/Store/NewRows.swift": "SQLite reads new rows where they lie",
    "Driftless/Store/RowProgram.swift": "it reads bits of a column where they lie",
    "Driftless/Store/History/ChangeRecorder.swift": lends,
    "Driftless/Store/History/TransactionName.swift": lends,
    "Driftless/Store/KeyRuns.swift": lends,
    "Driftless/Store/WriteTransaction+Relationships.swift": "SQLite reads new pairs where they lie",
    "Driftless/Migration/MigrationHistory.swift": lends,
    "Driftless/Store/External/ExternalDataFolder.swift":
      "it writes a value to a file where it lies",
    "Driftless/Store/ReaderLine.swift": "a thread has one word of its own",
    "Driftless/Store/FileLock.swift": system,
    "Driftless/Store/StoreClaim.swift": system,
    "Driftless/Store/FileWatch.swift": system,
    "Driftless/Store/Care/FileStatus.swift": system,
    "Driftless/Store/Care/LogLink.swift": system,
    "DriftlessSync/Pull/InsertBatch.swift": "it keeps the rows of a page that are written at once",
    "DriftlessSync/Pull/PropertyReader.swift": "it fills them, a column at a time",
    "DriftlessSync/Pull/ZoneStates.swift": uuid,
    "DriftlessSync/Merge/ValueOrder.swift": uuid,
    "DriftlessSync/Merge/PropertyConflict.swift": uuid,
    "DriftlessSync/Reconcile/UnansweredSaves.swift": lends,
    "Driftless/Values/JSONText.swift": uuid,
    "DriftlessSync/Export/ReplicaExport.swift": lends,
    "DriftlessSync/Keys/WireKeys.swift": lends,
    "Driftless/Objects/ContextQueue.swift": "a thread has one word of its own",
    "Driftless/Objects/LettingGo.swift": "a thread has one word of its own",
    "Driftless/Contexts/ManagedObjectContext+Fetch.swift":
      "objects whose class was looked at are handed out as that class, all at once",
    "CoreData/Fetch/NSManagedObjectContext+Fetch.swift":
      "objects whose class was looked at are handed out as that class, all at once",
    "CoreData/Objects/NSManagedObject+Sets.swift": lends,
    "CoreData/OwnStores/BinaryStoreFile.swift": "it reads and writes a file's bytes",
    "CoreData/Names/VariadicArguments.swift": "C's arguments come as pointers",
    "DriftlessTesting/CarriedAnswer.swift": lends,
    "ProgramStart/ProgramOutput.swift": system,
    "ProgramStart/ServiceNotice.swift": system,
    // Bytes are these rooms' matter: each reads and writes them where they lie, behind types that know how many there are.
    "DriftlessProtocol/":
      "bytes of the wire, of files and of zlib; any bytes whatever are fed to it (HostileBytesTests)",
    "DriftlessSQLite/": "SQLite's own pointers",
    "DriftlessHTTP/": "libcurl's own pointers",
    "CoreData/Names/Types.swift": "the pointer that methods `validate<Key>` are written with",
    "CoreData/Objects/KeyedAccessors.swift": "a variable of its own, lent to such a method",
    "CoreData/Objects/NSManagedObject+Values.swift": "`validateValue(_:forKey:)` has that pointer",
  ]

  private static let marks = [
    "Unsafe", "unsafeAddress", "unsafeMutableAddress", "unsafeBitCast", "unsafeDowncast",
    "Unmanaged",
    "withMemoryRebound", "assumingMemoryBound",
  ]
  private static let modules = [
    "CoreData", "Driftless", "DriftlessHTTP", "DriftlessProtocol", "DriftlessSQLite",
    "DriftlessSync",
    "DriftlessTesting", "ProgramStart",
  ]

  private static func mentions(_ text: String) -> Bool {
    text.split(separator: "\n").contains { line in
      let code = line.drop { $0 == " " }
      return !code.hasPrefix("//") && marks.contains { code.contains($0) }
    }
  }

  @Test("Only the files that say why mention memory that the compiler does not look after")
  func filesGiveReasons() throws {
    let root = Pages.root.appendingPathComponent("Sources")
    var found: Set<String> = []
    for module in Self.modules {
      let folder = root.appendingPathComponent(module)
      let names = FileManager.default.enumerator(atPath: folder.path)
      while let name = names?.nextObject() as? String {
        guard name.hasSuffix(".swift"),
          Self.mentions(
            try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8))
        else { continue }
        found.insert("\(module)/\(name)")
      }
    }
    let rooms = Self.files.keys.filter { $0.hasSuffix("/") }
    for file in found.subtracting(Self.files.keys).sorted()
    where !rooms.contains(where: file.hasPrefix) {
      Issue.record(
        "\(file) gives no reason: use a handle of ValueMemory.swift or ObjectMemory.swift")
    }
    for file in Set(Self.files.keys).subtracting(found).sorted()
    where !file.hasSuffix("/") || !found.contains(where: { $0.hasPrefix(file) }) {
      Issue.record("\(file) needs its reason no more")
    }
  }

  @Test("Comments are no mention")
  func comments() {
    #expect(!Self.mentions("  /// As UnsafeRawPointer\n  // Unsafe\nlet a = 1"))
    #expect(Self.mentions("let a: UnsafeRawPointer"))
  }
}
