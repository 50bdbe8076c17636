// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .treatAllWarnings(as: .error),
]

let package = Package(
  name: "download-cache",
  products: [.library(name: "DownloadCache", targets: ["DownloadCache"])],
  dependencies: [
    .package(name: "driftless", path: "../.."),
    .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
  ],
  targets: [
    .target(
      name: "DownloadCache",
      dependencies: [.product(name: "Driftless", package: "driftless")],
      swiftSettings: settings),
    .executableTarget(
      name: "download-cache",
      dependencies: [
        "DownloadCache", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "DownloadCacheTests", dependencies: ["DownloadCache", "download-cache"],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
