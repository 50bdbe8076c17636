// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "point-of-sale",
  dependencies: [
    .package(name: "driftless", path: "../.."),
    .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1"),
    .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
  ],
  targets: [
    .executableTarget(
      name: "till",
      dependencies: [
        .product(name: "Driftless", package: "driftless"),
        .product(name: "DriftlessSync", package: "driftless"),
        .product(name: "DriftlessHTTP", package: "driftless"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      resources: [.copy("page.html")], swiftSettings: [.treatAllWarnings(as: .error)]),
    .testTarget(
      name: "TillTests", dependencies: ["till"], swiftSettings: [.treatAllWarnings(as: .error)]),
  ],
  swiftLanguageModes: [.v6]
)
