import Foundation
import PackagePlugin

/// Makes at a build what Xcode and Objective-C make of an application of Core Data: the accessors of `@NSManaged`.
@main
struct CoreDataPlugin: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    #if os(Linux)
      guard let module = target.sourceModule else { return [] }
      return try accessors(context, module)
    #else
      // Core Data is there.
      return []
    #endif
  }

  /// A file of accessors for each source with `@NSManaged`.
  private func accessors(
    _ context: PluginContext, _ module: any SourceModuleTarget
  ) throws -> [Command] {
    let sources = module.sourceFiles(withSuffix: "swift").map(\.url).sorted { $0.path < $1.path }
    let folder = context.pluginWorkDirectoryURL
    let managed = try sources.filter {
      try String(contentsOf: $0, encoding: .utf8).contains("@NSManaged")
    }
    guard !managed.isEmpty else { return [] }
    let outputs = managed.map { source in
      let name = source.deletingPathExtension().lastPathComponent
      return (source: source, file: folder.appendingPathComponent("\(name).NSManaged.swift"))
    }
    return [
      .buildCommand(
        displayName: "Accessors of @NSManaged in \(module.name)",
        executable: try context.tool(named: "managed-accessors").url,
        arguments: [
          "--module", module.moduleName, "--compiler", try context.tool(named: "swiftc").url.path,
          "--work", folder.appendingPathComponent("managed").path,
        ] + outputs.flatMap { ["--accessors", $0.source.path, $0.file.path] }
          + sources.map(\.path),
        inputFiles: sources, outputFiles: outputs.map(\.file))
    ]
  }
}
