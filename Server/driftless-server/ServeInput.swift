import DriftlessServer
import Foundation

/// Where `serve` hears what it is to do: the command line before the environment before a file. It can be asked again, as files
/// change.
struct ServeInput: Sendable {
  /// What the command line says, by the names that a file has.
  let flags: [String: String]
  let config: String?
  let environment: [String: String]

  struct Read {
    var settings = ServerSettings()
    /// All that is wrong, each with its place.
    var complaints: [String] = []
  }

  func read() -> Read {
    var read = Read()
    let own = ServerSettings(
      texts: flags, at: ServerSettings.flag, complaints: &read.complaints)
    let variables: [String: String] = ServerSettings.names.reduce(into: [:]) { texts, name in
      let text = environment[ServerSettings.variable(name)]
      texts[name] = text?.isEmpty == true ? nil : text
    }
    let surrounding = ServerSettings(
      texts: variables, at: ServerSettings.variable, complaints: &read.complaints)
    read.settings = own.over(surrounding)
    if let file {
      read.settings = read.settings.over(
        ServerSettings(file: file, complaints: &read.complaints))
    }
    return read
  }

  /// The configuration file, where one is named.
  var file: String? {
    let named = environment[ServerSettings.variable("config")]
    return config ?? (named?.isEmpty == true ? nil : named)
  }

  /// What to serve by.
  ///
  /// - Throws: `ServerError` (`.badConfiguration`) with the first of what is wrong, and what `options` throws.
  func settings() throws -> (ServerSettings, ServeOptions) {
    let read = read()
    if let first = read.complaints.first {
      let more = read.complaints.count - 1
      throw ServerError(
        .badConfiguration, more > 0 ? "\(first); and \(more) more" : first,
        suggestion: "Correct it. All that is wrong: driftless-server serve --check, with the same "
          + "options.")
    }
    return (read.settings, try read.settings.options())
  }
}
