import Foundation
import Testing

/// Memory that the compiler does not look after is the business of few files: the others have handles that know how much there
/// is.
struct UnsafeMemoryTests {
  private static let handles = "it makes the handles that the others use"
  private static let system = "it calls the operating system"
  private static let thread = "a thread has one word of its own"
  private static let callers = "methods of Core Data's names have such arguments"
  private static let lines = "the parser of an import reads lines where they lie"

  /// The files that mention such memory, each with the reason.
  private static let files: [String: String] = [
    "Driftless/Values/ValueMemory.swift": handles,
    "Driftless/Values/PlainBytes.swift": handles,
    "Driftless/Objects/ObjectMemory.swift": handles,
    "Driftless/Values/DecimalText.swift": "it reads digits where they lie",
    "Driftless/Values/JSONText.swift": "it writes texts from where they lie",
    "Driftless/Store/CoreDataFile/ContentDigest.swift": "it reads texts and data where they lie",
    "Driftless/Store/External/ExternalDataFolder.swift": system,
    "Driftless/Store/FileLock.swift": system,
    "Driftless/Store/StoreClaim.swift": system,
    "Driftless/Store/FileWatch.swift": system,
    "Driftless/Store/Care/FileStatus.swift": system,
    "Driftless/Store/ReaderLine.swift": thread,
    "Driftless/Objects/ContextQueue.swift": thread,
    "Driftless/Objects/LettingGo.swift": thread,
    "Driftless/Contexts/ManagedObjectContext+Fetch.swift":
      "objects whose class was looked at are handed out as that class, all at once",
    "CoreData/Fetch/NSManagedObjectContext+Fetch.swift":
      "objects whose class was looked at are handed out as that class, all at once",
    "CoreData/Objects/NSManagedObject+Sets.swift": callers,
    "CoreData/Objects/NSManagedObject+KeyPaths.swift": callers,
    "CoreData/Objects/KeyedArray.swift": callers,
    "CoreData/Names/Types.swift": callers,
    "CoreData/Objects/KeyedAccessors.swift": callers,
    "CoreData/Objects/NSManagedObject+Values.swift": callers,
    "CoreData/OwnStores/BinaryStoreFile.swift": "it reads and writes a file's bytes",
    "CoreData/Names/VariadicArguments.swift": "C's arguments come as pointers",
    "DriftlessTesting/CarriedAnswer.swift": "it looks for a text in the bytes of an answer",
    "ProgramStart/ProgramOutput.swift": system,
    "ProgramStart/ServiceNotice.swift": system,
    "SwiftSource/ManagedSource+Keyed.swift":
      "it knows the name of such a type in the code that it reads",
    // Bytes are these rooms' matter: each reads and writes them where they lie, behind types that know how many there are.
    "DriftlessProtocol/":
      "bytes of the wire, of files and of zlib; any bytes whatever are fed to it (HostileBytesTests)",
    "DriftlessSQLite/": "SQLite's own pointers",
    "DriftlessHTTP/": "libcurl's own pointers",
    "Server/ServerCertificates/CertificateFolder+Create.swift": system,
    "Server/DriftlessServer/Storage/SQLite/SQLiteConnection+Records.swift":
      "it reads and lends the bytes of a UUID",
    "Server/DriftlessServer/Storage/PostgreSQL/PostgresConnection.swift": "libpq's own pointers",
    "Server/DriftlessServer/Storage/PostgreSQL/PostgresValues.swift":
      "the bytes of a number as libpq wants them",
    "Server/DriftlessServer/Storage/PostgreSQL/FoldScratch.swift": system,
    "Server/DriftlessServer/Routes/Response+Check.swift": "it reads a body where it lies",
    "Server/DriftlessServer/Routes/PushReader.swift": "the bytes of a number as they are kept",
    "Server/DriftlessStorageConformance/TestReplica.swift": "it makes bytes of a number",
    "Client/SyncDaemon/Link/UnixSocket.swift": system,
    "Client/SyncDaemon/Access/SideFile.swift": system,
    "Client/SyncDaemon/Access/ShellCommand.swift": system,
    "Client/SyncControl/Shell/TokenPrompt.swift": system,
    "Client/SyncControl/Import/ImportPipe.swift": system,
    "Client/SyncControl/Diff/ExportLines.swift": lines,
    "Client/SyncControl/Import/ImportLine.swift": lines,
    "Client/SyncControl/Import/LineReader.swift": lines,
    "Client/SyncControl/Import/ImportBytes.swift": lines,
    "Client/SyncControl/Import/JSONParser.swift": lines,
    "Client/SyncControl/Import/ISODate.swift": lines,
    "Client/SyncControl/Import/NamedIdentity.swift": "it lends bytes to a digest",
  ]

  private static let marks = [
    "Unsafe", "unsafeAddress", "unsafeMutableAddress", "unsafeBitCast", "unsafeDowncast",
    "unsafelyUnwrapped", "Unmanaged", "withMemoryRebound", "assumingMemoryBound", "bindMemory",
    "withUTF8", "withContiguous", "withCString",
  ]

  private static func mentions(_ text: String) -> Bool {
    text.split(separator: "\n").contains { line in
      let code = line.drop { $0 == " " }
      return !code.hasPrefix("//") && marks.contains { code.contains($0) }
    }
  }

  @Test("Only the files that say why mention memory that the compiler does not look after")
  func filesGiveReasons() throws {
    var found: Set<String> = []
    for folder in ["Sources", "Server", "Client", "Plugins"] {
      let url = Pages.root.appendingPathComponent(folder)
      let names = FileManager.default.enumerator(atPath: url.path)
      while let name = names?.nextObject() as? String {
        guard name.hasSuffix(".swift"),
          Self.mentions(try String(contentsOf: url.appendingPathComponent(name), encoding: .utf8))
        else { continue }
        found.insert(folder == "Sources" ? name : "\(folder)/\(name)")
      }
    }
    let rooms = Self.files.keys.filter { $0.hasSuffix("/") }
    for file in found.subtracting(Self.files.keys).sorted()
    where !rooms.contains(where: file.hasPrefix) {
      Issue.record(
        "\(file) gives no reason: use a handle of ValueMemory.swift, PlainBytes.swift or ObjectMemory.swift"
      )
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
