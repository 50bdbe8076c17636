// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .treatAllWarnings(as: .error),
]

let log = Target.Dependency.product(name: "Logging", package: "swift-log")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let ciphers = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let protobuf = Target.Dependency.product(name: "SwiftProtobuf", package: "swift-protobuf")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let lifecycle = Target.Dependency.product(
  name: "ServiceLifecycle", package: "swift-service-lifecycle")

/// Whether the documentation is built: `Scripts/docs` builds a copy of the catalogue.
let isForDocumentation = Context.environment["DRIFTLESS_DOCS"] != nil

/// The targets, in the order in which a reader meets them.
var targets: [Target] = [
  // System libraries: a module map and one commented shim each.
  .target(name: "CSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
  .target(name: "CZlib", linkerSettings: [.linkedLibrary("z")]),
  .target(name: "CCurl", linkerSettings: [.linkedLibrary("curl")]),
  .systemLibrary(
    name: "CPostgres", path: "Sources/CPostgres", pkgConfig: "libpq",
    providers: [.apt(["libpq-dev"])]),

  // What the language does not reach of Swift's own runtime.
  .target(name: "CSwiftRuntime"),
  // The XML of models, for the library and for the compiler of models.
  .target(name: "ModelXML", swiftSettings: settings),

  // The embedded library.
  .target(name: "DriftlessSQLite", dependencies: ["CSQLite"], swiftSettings: settings),
  .target(
    name: "Driftless", dependencies: ["CSwiftRuntime", "DriftlessSQLite", "ModelXML", log],
    exclude: isForDocumentation ? ["Driftless.docc"] : [], swiftSettings: settings),

  // The embedded library under Core Data's names, for who wants it.
  .target(name: "CoreData", dependencies: ["Driftless"], swiftSettings: settings),

  // What builds of applications of Core Data need: accessors for `@NSManaged`, and compiled models.
  .target(name: "SwiftSource", swiftSettings: settings),
  .executableTarget(
    name: "managed-accessors", dependencies: ["SwiftSource"], swiftSettings: settings),
  .executableTarget(
    name: "model-compiler", dependencies: ["ModelXML"], swiftSettings: settings),
  .plugin(
    name: "CoreDataPlugin", capability: .buildTool(),
    dependencies: ["managed-accessors", "model-compiler"]),

  // Sync.
  .target(
    name: "DriftlessProtocol", dependencies: ["CZlib", crypto, ciphers, protobuf],
    exclude: ["Codec/ChangeSet.proto"], swiftSettings: settings),
  .target(
    name: "DriftlessSync",
    dependencies: ["Driftless", "DriftlessSQLite", "DriftlessProtocol", crypto, log],
    swiftSettings: settings),
  .target(
    name: "DriftlessHTTP",
    dependencies: ["CCurl", "Driftless", "DriftlessProtocol", "DriftlessSync", log],
    swiftSettings: settings),
  .target(
    name: "DriftlessTesting", dependencies: ["DriftlessProtocol", "DriftlessSync", "Driftless"],
    swiftSettings: settings),

  // What the programs have in common.
  .target(name: "CHeap"),
  .target(name: "ProgramStart", dependencies: ["CHeap", log], swiftSettings: settings),

  // The reference server.
  .target(
    name: "DriftlessServer",
    dependencies: [
      "DriftlessProtocol", "DriftlessSQLite", crypto, log, lifecycle,
      .target(name: "CPostgres", condition: .when(traits: ["PostgreSQL"])),
      .product(name: "Hummingbird", package: "hummingbird"),
      .product(name: "HummingbirdCore", package: "hummingbird"),
      .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      .product(name: "NIOSSL", package: "swift-nio-ssl"),
      .product(name: "NIOCore", package: "swift-nio"),
      .product(name: "HTTPTypes", package: "swift-http-types"),
    ],
    path: "Server/DriftlessServer", swiftSettings: settings),
  .target(
    name: "DriftlessStorageConformance",
    dependencies: ["DriftlessServer", "DriftlessProtocol", log],
    path: "Server/DriftlessStorageConformance", swiftSettings: settings),
  .target(
    name: "ServerCertificates",
    dependencies: [
      "DriftlessServer", crypto,
      .product(name: "X509", package: "swift-certificates"),
      .product(name: "SwiftASN1", package: "swift-asn1"),
    ],
    path: "Server/ServerCertificates", swiftSettings: settings),
  .executableTarget(
    name: "driftless-server",
    dependencies: [
      "DriftlessServer", "ServerCertificates", "DriftlessProtocol", "ProgramStart", arguments, log,
    ],
    path: "Server/driftless-server", swiftSettings: settings),

  // The clients.
  .target(
    name: "SyncControl",
    dependencies: [
      "SyncDaemon", "SwiftSource", "Driftless", "DriftlessSQLite", "DriftlessSync",
      "DriftlessHTTP", "DriftlessProtocol", "ProgramStart", arguments, crypto, log,
    ],
    path: "Client/SyncControl", swiftSettings: settings),
  .executableTarget(
    name: "syncctl", dependencies: ["SyncControl", "ProgramStart"], path: "Client/syncctl",
    swiftSettings: settings),
  .target(
    name: "SyncDaemon",
    dependencies: [
      "Driftless", "DriftlessSync", "DriftlessHTTP", "DriftlessProtocol", "ProgramStart", log,
    ],
    path: "Client/SyncDaemon", swiftSettings: settings),
  .executableTarget(
    name: "syncd", dependencies: ["SyncDaemon", "ProgramStart", arguments, log],
    path: "Client/syncd", swiftSettings: settings),
]

targets += [
  .target(name: "TestSupport", dependencies: [], path: "Tests/Support", swiftSettings: settings),
  test("DriftlessModelTests", ["Driftless"]),
  test("DriftlessFetchTests", ["Driftless", "DriftlessSQLite"]),
  test("DriftlessSQLiteTests", ["DriftlessSQLite", "CSQLite"]),
  .executableTarget(
    name: "storeprobe", dependencies: ["Driftless", "DriftlessSQLite", "CSQLite"],
    path: "Tests/StoreProbe", swiftSettings: settings,
    // Its own file calls stand before the C library's for SQLite as well.
    linkerSettings: [.unsafeFlags(["-Xlinker", "--export-dynamic"])]),
  test("DriftlessStoreTests", ["Driftless", "DriftlessSQLite", "storeprobe"]),
  test("DriftlessObjectTests", ["Driftless", "DriftlessSQLite"]),
  test("CoreDataTests", ["CoreData"]),
  test(
    "CoreDataPluginTests", ["CoreData", "SwiftSource"],
    plugins: ["CoreDataPlugin"]),
  test("DriftlessProtocolTests", ["DriftlessProtocol", "CZlib", crypto], exclude: ["Golden"]),
  test(
    "DriftlessSyncTests",
    ["DriftlessSync", "DriftlessTesting", "DriftlessProtocol", "Driftless", "DriftlessSQLite"]),
  .executableTarget(
    name: "rowfuzz",
    dependencies: [
      "TestSupport", "DriftlessSync", "DriftlessTesting", "DriftlessProtocol", "Driftless",
      "DriftlessSQLite",
    ],
    path: "Tests/RowFuzz", swiftSettings: settings),
  test(
    "RowFuzzTests",
    [
      "DriftlessSync", "DriftlessTesting", "DriftlessProtocol", "Driftless", "DriftlessSQLite",
      "rowfuzz", "filefuzz",
    ]),
  .executableTarget(
    name: "filefuzz", dependencies: ["TestSupport", "CoreData", "Driftless", "DriftlessSQLite"],
    path: "Tests/FileFuzz", swiftSettings: settings),
  .executableTarget(
    name: "storekeeper",
    dependencies: ["Driftless", "DriftlessHTTP", "DriftlessProtocol", "DriftlessSync"],
    path: "Tests/StoreKeeper", swiftSettings: settings),
  .testTarget(
    name: "SimulationTests",
    dependencies: [
      "TestSupport", "DriftlessSync", "DriftlessTesting", "DriftlessProtocol", "Driftless",
      "DriftlessSQLite", "CSQLite", "DriftlessServer", log,
    ],
    path: "Tests/Simulation", swiftSettings: settings),
  test("DriftlessHTTPTests", ["DriftlessHTTP", "DriftlessProtocol"]),
  test(
    "DriftlessServerTests",
    [
      "DriftlessServer", "DriftlessStorageConformance", "ServerCertificates", "DriftlessProtocol",
      "DriftlessSQLite", "ProgramStart",
    ]),
  test(
    "ClientTests",
    [
      "SyncControl", "SyncDaemon", "SwiftSource", "Driftless", "DriftlessSQLite",
      "DriftlessSync", "DriftlessProtocol", "DriftlessTesting", "ProgramStart",
    ]),
  // What a stranger writes: it sees of the package what is public alone.
  .testTarget(
    name: "OwnStorageTests",
    dependencies: ["DriftlessServer", "DriftlessStorageConformance", "DriftlessProtocol", log],
    path: "Tests/OwnStorageTests", packageAccess: false, swiftSettings: settings),
  test("TidyTests", []),
  test(
    "EndToEndTests",
    [
      "syncctl", "syncd", "driftless-server", "storekeeper", "Driftless", "DriftlessSQLite",
      "DriftlessHTTP", "DriftlessProtocol", "DriftlessSync", "DriftlessServer",
      "ServerCertificates",
    ],
    // Put into the programs that the tests run, not into the tests.
    exclude: ["FaultCalls.c"]),
]

/// A test target: each sees `TestSupport`.
func test(
  _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [],
  plugins: [Target.PluginUsage] = []
) -> Target {
  .testTarget(
    name: name, dependencies: ["TestSupport"] + dependencies, path: "Tests/\(name)",
    exclude: exclude, swiftSettings: settings, plugins: plugins)
}

var dependencies: [Package.Dependency] = []

// The comparison with C and with peers, which nobody who uses the package ever resolves: see `make bench`.
if Context.environment["DRIFTLESS_BENCH"] != nil {
  dependencies.append(.package(url: "https://github.com/groue/GRDB.swift.git", from: "7.10.0"))
  targets += [
    .target(
      name: "CLimits", path: "Benchmarks/Sources/CLimits",
      cSettings: [
        .define("SQLITE_ENABLE_SESSION"), .define("SQLITE_ENABLE_PREUPDATE_HOOK"),
      ],
      linkerSettings: [.linkedLibrary("sqlite3"), .linkedLibrary("z")]),
    // What an application of Core Data's writes.
    .target(
      name: "ManagedRecords", dependencies: ["CoreData"],
      path: "Benchmarks/Sources/ManagedRecords", swiftSettings: settings,
      plugins: ["CoreDataPlugin"]),
    .executableTarget(
      name: "bench",
      dependencies: [
        "CLimits", "ManagedRecords", "CoreData", "Driftless", "DriftlessSQLite", "DriftlessSync",
        "DriftlessProtocol", "DriftlessHTTP", crypto,
        "DriftlessTesting", "DriftlessServer", log, .product(name: "GRDB", package: "GRDB.swift"),
      ],
      path: "Benchmarks/Sources/Bench", swiftSettings: settings),
  ]
}

// Each example is a package of its own. All but the tutorial's, which is built as a stranger's, are built here beside what they are
// made of, and nothing twice. See `Scripts/example`.
if Context.environment["DRIFTLESS_EXAMPLES"] != nil {
  targets.removeAll { $0.isTest }
  for name in ["CoreDataCache", "Notebook", "Template"] {
    let settings: [SwiftSetting] = [.swiftLanguageMode(.v5)]
    targets += [
      .target(
        name: name, dependencies: ["CoreData"], path: "Examples/\(name)/Sources/\(name)",
        packageAccess: false, swiftSettings: settings, plugins: ["CoreDataPlugin"]),
      .testTarget(
        name: "\(name)Tests", dependencies: [.byName(name: name)],
        path: "Examples/\(name)/Tests/\(name)Tests", packageAccess: false, swiftSettings: settings),
    ]
  }
  targets += [
    .executableTarget(
      name: "till",
      dependencies: [
        "Driftless", "DriftlessSync", "DriftlessHTTP", arguments,
        .product(name: "Hummingbird", package: "hummingbird"),
      ],
      path: "Examples/PointOfSale/Sources/till", resources: [.copy("page.html")],
      packageAccess: false, swiftSettings: [.treatAllWarnings(as: .error)]),
    .testTarget(
      name: "TillTests", dependencies: ["till"], path: "Examples/PointOfSale/Tests/TillTests",
      packageAccess: false, swiftSettings: [.treatAllWarnings(as: .error)]),
  ]
}

// The plugin that runs DocC, which nobody who uses the package ever resolves either: see `make docs`.
if isForDocumentation {
  dependencies.append(
    .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}

// A subset of the targets, for a quick build of one room: ONLY=CSQLite,DriftlessSQLite swift build.
if let only = Context.environment["ONLY"] {
  var names = Set(only.split(separator: ",").map(String.init))
  if names.contains("DriftlessStoreTests") { names.insert("storeprobe") }
  if names.contains("Driftless") { names.formUnion(["CSwiftRuntime", "ModelXML"]) }
  targets = targets.filter { names.contains($0.name) }
}

let package = Package(
  name: "driftless",
  products: [
    "Driftless", "CoreData", "DriftlessProtocol", "DriftlessSync", "DriftlessHTTP",
    "DriftlessTesting", "DriftlessServer", "DriftlessStorageConformance",
  ]
  .filter { name in targets.contains { $0.name == name } }
  .map { .library(name: $0, targets: [$0]) }
    + (targets.contains { $0.name == "CoreDataPlugin" }
      ? [.plugin(name: "CoreDataPlugin", targets: ["CoreDataPlugin"])] : []),
  traits: [
    .trait(
      name: "PostgreSQL",
      description: "The server keeps zones in PostgreSQL as well. Needs libpq-dev.")
  ],
  dependencies: dependencies + [
    .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
    .package(url: "https://github.com/apple/swift-protobuf.git", from: "1.39.0"),
    .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.6"),
    .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-certificates.git", from: "1.21.1"),
    .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.4"),
    .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1"),
    .package(
      url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
  ],
  targets: targets,
  swiftLanguageModes: [.v6]
)
