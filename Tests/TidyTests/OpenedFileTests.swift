import Foundation
import Testing

/// SQLite's locks on a database are the process's: they go when it closes any descriptor of a file of the database, by whatever
/// means that was opened. Then two write at once, and what was committed is lost. So who opens files says here why none of them is
/// a database, its log or its index that is open in this process.
struct OpenedFileTests {
  private static let system = "files of the system, in /proc and /dev"
  private static let given = "a file that a person names, of another kind"
  private static let lock = "a file of its own that is there to be locked, and is no database"
  private static let temporary = "a file of its own, under a name that nobody else has"
  private static let certificate = "a certificate, a key or a text beside it"
  private static let folder = "a folder, to have its names on the disk"
  private static let fold = "the files of a fold or a snapshot"

  /// The files that open others, each with the reason.
  private static let files: [String: String] = [
    "Sources/managed-accessors/ManagedAccessors.swift": given,
    "Sources/managed-accessors/Skeleton.swift": temporary,
    "Sources/model-compiler/EditedModel.swift": given,
    "Sources/ProgramStart/OpenFiles.swift": system,
    "Sources/ProgramStart/Settings/SettingsNode.swift": given,
    "Sources/DriftlessSQLite/SystemFile.swift": system,
    "Sources/Driftless/Store/Care/StoreBackup.swift":
      "a copy that is being made, which has no name yet by which others open it; and its folder",
    "Sources/Driftless/Store/Care/StrayLogs.swift":
      "a rollback journal, on which SQLite has no locks",
    "Sources/Driftless/Store/Care/FileIdentity.swift": system,
    "Sources/Driftless/Store/LockHolder.swift": system,
    "Sources/Driftless/Store/StoreClock.swift": system,
    "Sources/Driftless/Store/SideFileRights.swift": lock,
    "Sources/Driftless/Store/FileWatch.swift": "the lock file beside a store, which holds a mark",
    "Sources/Driftless/Store/External/ExternalDataFolder.swift":
      "files of large values, and their folder",
    "Sources/Driftless/Model/ModelFile.swift":
      "a model's file, once SQLite has told that it is no database",
    "Sources/DriftlessProtocol/Fold/FoldFile.swift": fold,
    "Sources/DriftlessHTTP/CurlTransfer.swift": system,
    "Sources/DriftlessSync/Values/ValueCutting.swift": temporary,
    "Sources/DriftlessSync/Export/ReplicaExport.swift": "an export that is being made; its folder",
    "Sources/CoreData/OwnStores/BinaryStoreFile.swift":
      "a binary store, once SQLite has told that it is no database",
    "Sources/CoreData/Stores/NSPersistentStoreCoordinator.swift":
      "a store of an application's own kind, once SQLite has told that it is no database",
    "Server/ServerCertificates/CertificateSummary.swift": certificate,
    "Server/ServerCertificates/CertificateFolder+Create.swift": certificate,
    "Server/DriftlessServer/Observe/ProcessFigures.swift": system,
    "Server/DriftlessServer/Storage/DataFolder.swift":
      "files that are there to be locked, or to be there",
    "Server/DriftlessServer/Storage/DiskReserve.swift": "the file that takes up the reserve",
    "Server/DriftlessServer/Storage/FileLock.swift": lock,
    "Server/DriftlessServer/Storage/ZoneSnapshots.swift": fold,
    "Server/DriftlessServer/Storage/SQLite/Backup.swift": folder,
    "Server/DriftlessServer/Storage/SQLite/BackupPart.swift":
      "a copy that a backup makes, in a process that opens it as a database before it has its name, and never after",
    "Server/DriftlessServer/Storage/PostgreSQL/PostgresBackup.swift": temporary,
    "Client/SyncDaemon/Link/DaemonListener.swift": system,
    "Client/SyncDaemon/Link/DaemonMark.swift": "the daemon's mark beside a store",
    "Client/SyncDaemon/Access/EnrolmentFile.swift": "the note of an enrolment; its folder",
    "Client/SyncDaemon/Access/KeySource.swift": "a key",
    "Client/SyncDaemon/Access/SideFile.swift": "a certificate, a key or a token",
    "Client/SyncControl/Reports/DoctorCheck+Files.swift":
      "files of the system, and the lock file beside a store",
    "Client/SyncControl/Commands/ImportCommand.swift":
      "lines to be imported, once SQLite has told that it is no database",
    "Client/SyncControl/Import/ImportPresence.swift": "the lock file beside a store",
    "Client/SyncControl/Diff/ExportLines.swift": temporary,
    "Client/SyncControl/Import/ImportPipe.swift": temporary,
    "Client/SyncControl/Generate/GeneratedFile.swift": "source text",
    "Client/SyncControl/Port/SourceTree.swift": "source text",
  ]

  /// A call of the system's own `open` has its flags, be it on another line.
  private static let marks =
    #"(?<![.\w])open\([^;{}]{0,160}?\bO_[A-Z]|Glibc\.open\(|openat\(|fopen\(|creat\(|mkstemp\("#
    + #"|FileHandle\(\s*(forReading|forWriting|forUpdating)"#
    + #"|(Data|String|InputStream|XMLParser|NSDictionary|NSArray)\(\s*(contentsOf|url|fileAtPath)"#
    + #"|\.contents\(\s*atPath|createFile\(|copyItem\(|contentsEqual\("#

  private static func opens(_ text: String) -> Bool {
    let code = text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }
      .joined(separator: "\n")
    return code.range(of: marks, options: .regularExpression) != nil
  }

  @Test("Only the files that say why open others by means other than SQLite's")
  func filesGiveReasons() throws {
    var found: Set<String> = []
    for folder in ["Sources", "Server", "Client"] {
      let url = Pages.root.appendingPathComponent(folder)
      let names = FileManager.default.enumerator(atPath: url.path)
      while let name = names?.nextObject() as? String {
        guard name.hasSuffix(".swift"),
          Self.opens(try String(contentsOf: url.appendingPathComponent(name), encoding: .utf8))
        else { continue }
        found.insert("\(folder)/\(name)")
      }
    }
    for file in found.subtracting(Self.files.keys).sorted() {
      Issue.record(
        "\(file) opens a file: say why it is no database, or read it by SQLiteConnection.head(ofFileAt:)"
      )
    }
    for file in Set(Self.files.keys).subtracting(found).sorted() {
      Issue.record("\(file) needs its reason no more")
    }
  }

  @Test("Lists of the system are read to their end, which Foundation does not do")
  func lists() throws {
    for folder in ["Sources", "Server", "Client", "Tests", "Benchmarks"] {
      let url = Pages.root.appendingPathComponent(folder)
      let names = FileManager.default.enumerator(atPath: url.path)
      while let name = names?.nextObject() as? String {
        guard name.hasSuffix(".swift"), !name.hasSuffix("TidyTests/OpenedFileTests.swift") else {
          continue
        }
        let text = try String(contentsOf: url.appendingPathComponent(name), encoding: .utf8)
        let list =
          #"(contentsOf|contentsOfFile|atPath|Path): "/proc/(self/|[^"]*\)/)?"#
          + #"(maps|smaps|mount\w*|locks|net)\b"#
        #expect(
          text.range(of: list, options: .regularExpression) == nil,
          "\(folder)/\(name): see SystemFile.text")
      }
    }
  }

  @Test("What opens a file is told from what has the name")
  func told() {
    for line in [
      "let a = open(path, O_RDONLY)", "let a = open(\n  file.path(), O_RDWR)",
      "let b = Glibc.open(name)", "try Data(contentsOf: url)",
      "FileHandle(forReadingAtPath: path)", "String(contentsOfFile: \"/proc/locks\")",
    ] {
      #expect(Self.opens(line), "\(line)")
    }
    for line in [
      "// open(path, O_RDONLY)", "try PersistentStore.open(url: url)", "store.open()",
      "data.append(contentsOf: more)", "FileHandle.standardError",
    ] {
      #expect(!Self.opens(line), "\(line)")
    }
  }
}
