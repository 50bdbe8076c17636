// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "core-data-cache",
  dependencies: [.package(name: "driftless", path: "../..")],
  targets: [
    .target(
      name: "CoreDataCache",
      dependencies: [
        .product(name: "CoreData", package: "driftless", condition: .when(platforms: [.linux]))
      ],
      plugins: [.plugin(name: "CoreDataPlugin", package: "driftless")]),
    .testTarget(name: "CoreDataCacheTests", dependencies: ["CoreDataCache"]),
  ],
  swiftLanguageModes: [.v5]
)
