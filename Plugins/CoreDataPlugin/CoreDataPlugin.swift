import Foundation
import PackagePlugin

/// Makes at a build what Xcode and Objective-C make of an application of Core Data: the accessors of `@NSManaged`, compiled
/// models, and classes for their entities.
@main
struct CoreDataPlugin: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    #if os(Linux)
      guard let module = target.sourceModule else { return [] }
      let models = try Set(module.sourceFiles.compactMap { model(around: $0.url) })
        .sorted { $0.path < $1.path }.map { try compile($0, context) }
      return try models.map(\.command) + accessors(context, module, models.map(\.classes))
    #else
      // Xcode does it.
      return []
    #endif
  }

  // MARK: Models

  /// The outermost model that a file is in.
  private func model(around file: URL) -> URL? {
    var url = file
    var found: URL?
    while url.pathComponents.count > 1 {
      if ["xcdatamodeld", "xcdatamodel"].contains(url.pathExtension) { found = url }
      url.deleteLastPathComponent()
    }
    return found
  }

  /// The bundle `NAME.momd`, a resource of the target, and a source with the classes.
  private func compile(
    _ model: URL, _ context: PluginContext
  ) throws -> (command: Command, classes: URL) {
    let name = model.deletingPathExtension().lastPathComponent
    let bundle = context.pluginWorkDirectoryURL.appendingPathComponent("\(name).momd")
    let classes = context.pluginWorkDirectoryURL.appendingPathComponent("\(name).Classes.swift")
    let names = FileManager.default.enumerator(atPath: model.path)?.compactMap { $0 as? String }
    let command = Command.buildCommand(
      displayName: "Model \(name)", executable: try context.tool(named: "model-compiler").url,
      arguments: [model.path, bundle.path, classes.path],
      // The folder itself is named so that it counts as handled.
      inputFiles: [model]
        + (names ?? []).filter { $0.hasSuffix("contents") || $0 == ".xccurrentversion" }
        .sorted().map { model.appendingPathComponent($0) },
      outputFiles: [bundle, classes])
    return (command, classes)
  }

  // MARK: Accessors

  /// A file of accessors for each source with `@NSManaged`.
  private func accessors(
    _ context: PluginContext, _ module: any SourceModuleTarget, _ classes: [URL]
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
          + (sources + classes).map(\.path),
        inputFiles: sources + classes, outputFiles: outputs.map(\.file))
    ]
  }
}
