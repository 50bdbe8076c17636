import ArgumentParser
import Driftless
import SyncDaemon

struct ModelShowCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Print a model's entities, properties and conflict policies.",
    discussion: "Example: syncctl model show --store shop.sqlite")

  @OptionGroup var source: ModelArguments
  @OptionGroup var output: OutputOptions

  func perform() throws {
    let model = try source.read()
    let entities = model.entities.sorted { $0.name < $1.name }.map(ModelReport.Entity.init)
    try output.put(
      ModelReport(entities: entities), lines: entities.flatMap(\.lines))
  }
}
