// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "notebook",
  dependencies: [.package(name: "driftless", path: "../..")],
  targets: [
    .target(
      name: "Notebook",
      dependencies: [
        .product(name: "CoreData", package: "driftless", condition: .when(platforms: [.linux]))
      ],
      plugins: [.plugin(name: "CoreDataPlugin", package: "driftless")]),
    .testTarget(name: "NotebookTests", dependencies: ["Notebook"]),
  ],
  swiftLanguageModes: [.v5]
)
