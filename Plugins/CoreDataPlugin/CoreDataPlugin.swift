import Foundation
import PackagePlugin

/// Makes at a build what Xcode and Objective-C make of an application of Core Data: the accessors of `@NSManaged`, compiled
/// models, and classes for their entities.
@main
struct CoreDataPlugin: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    #if os(Linux)
      guard let module = target.sourceModule else { return [] }
      let found = Set(module.sourceFiles.compactMap { model(around: $0.url) })
      // A bundle is found by its name: of several models with one name the compiler tells.
      let models = try Dictionary(grouping: found) { $0.deletingPathExtension().lastPathComponent }
        .sorted { $0.key < $1.key }
        .map { try compile($0.value.sorted { $0.path < $1.path }, $0.key, context) }
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
    _ models: [URL], _ name: String, _ context: PluginContext
  ) throws -> (command: Command, classes: URL) {
    let bundle = context.pluginWorkDirectoryURL.appendingPathComponent("\(name).momd")
    let classes = context.pluginWorkDirectoryURL.appendingPathComponent("\(name).Classes.swift")
    let contents = models.flatMap { model in
      (FileManager.default.enumerator(atPath: model.path)?.compactMap { $0 as? String } ?? [])
        .filter { $0.hasSuffix("contents") || $0 == ".xccurrentversion" }
        .sorted().map { model.appendingPathComponent($0) }
    }
    let command = Command.buildCommand(
      displayName: "Model \(name)", executable: try context.tool(named: "model-compiler").url,
      arguments: [bundle.path, classes.path] + models.map(\.path),
      // The folders themselves are named so that they count as handled.
      inputFiles: models + contents,
      outputFiles: [bundle, classes])
    return (command, classes)
  }

  // MARK: Accessors

  /// A file of accessors for each source with `@NSManaged`, and one for the members that key-value coding reaches.
  private func accessors(
    _ context: PluginContext, _ module: any SourceModuleTarget, _ classes: [URL]
  ) throws -> [Command] {
    let sources = module.sourceFiles(withSuffix: "swift").map(\.url).sorted { $0.path < $1.path }
    let folder = context.pluginWorkDirectoryURL
    let texts = try sources.map { (url: $0, text: try String(contentsOf: $0, encoding: .utf8)) }
    guard texts.contains(where: { $0.text.contains("NSManaged") }) else { return [] }
    let outputs = texts.filter { $0.text.contains("@NSManaged") }.map { source, _ in
      let name = source.deletingPathExtension().lastPathComponent
      return (source: source, file: folder.appendingPathComponent("\(name).NSManaged.swift"))
    }
    let keys = folder.appendingPathComponent("\(module.moduleName).ManagedKeys.swift")
    var arguments = [
      "--module", module.moduleName, "--compiler", try context.tool(named: "swiftc").url.path,
      "--work", folder.appendingPathComponent("managed").path, "--keys", keys.path,
    ]
    for (source, file) in outputs { arguments += ["--accessors", source.path, file.path] }
    arguments += (sources + classes).map(\.path)
    return [
      .buildCommand(
        displayName: "Accessors of managed objects in \(module.name)",
        executable: try context.tool(named: "managed-accessors").url, arguments: arguments,
        inputFiles: sources + classes, outputFiles: outputs.map(\.file) + [keys])
    ]
  }
}
