// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "template",
  dependencies: [.package(name: "driftless", path: "../..")],
  targets: [
    .target(
      name: "Template",
      dependencies: [
        .product(name: "CoreData", package: "driftless", condition: .when(platforms: [.linux]))
      ],
      plugins: [.plugin(name: "CoreDataPlugin", package: "driftless")]),
    .testTarget(name: "TemplateTests", dependencies: ["Template"]),
  ],
  swiftLanguageModes: [.v5]
)
