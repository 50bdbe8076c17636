// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that nobody who uses Driftless ever resolves what the comparison needs.
let package = Package(
  name: "driftless-benchmarks",
  dependencies: [
    .package(name: "driftless", path: ".."),
    .package(url: "https://github.com/groue/GRDB.swift.git", from: "7.10.0"),
  ],
  targets: [
    .target(
      name: "CLimits", cSettings: [.define("SQLITE_ENABLE_SESSION"), .define("SQLITE_ENABLE_PREUPDATE_HOOK")],
      linkerSettings: [.linkedLibrary("sqlite3"), .linkedLibrary("z")]),
    .executableTarget(
      name: "Bench",
      dependencies: [
        "CLimits",
        .product(name: "Driftless", package: "driftless"),
        .product(name: "DriftlessSync", package: "driftless"),
        .product(name: "DriftlessProtocol", package: "driftless"),
        .product(name: "DriftlessTesting", package: "driftless"),
        .product(name: "DriftlessServer", package: "driftless"),
        .product(name: "GRDB", package: "GRDB.swift"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
