import Driftless
import Foundation
import SyncDaemon

/// The folder that `model generate` writes a model's classes to. It writes over nothing but what it wrote itself.
struct ClassFolder {
  /// What became of the files.
  struct Report: Hashable, Encodable {
    /// A file that was not written, and why.
    struct Left: Hashable, Encodable {
      var path: String
      var reason: String
    }

    /// Those that are in place now: written, or there already.
    var files: [String] = []
    var written: [String] = []
    var left: [Left] = []
    /// Files of classes that the model has no more.
    var stale: [String] = []

    /// Lines for a person.
    var lines: [String] {
      let rest =
        left.map { "left: \($0.path): \($0.reason) (--force writes over it)" }
        + stale.map { "stale: \($0): the model has no such class; remove it if nothing needs it" }
      return written.isEmpty && rest.isEmpty ? ["nothing to write"] : written + rest
    }
  }

  let url: URL

  /// Writes the classes.
  ///
  /// - Parameter force: Whether to write over files of others, and those that were changed.
  func write(_ model: ManagedObjectModel, accessLevel: String, force: Bool) throws -> Report {
    do {
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    } catch {
      throw unwritable(url.path, error)
    }
    var report = Report()
    var names: Set<String> = []
    for (name, source) in ModelSource.swift(for: model, accessLevel: accessLevel) {
      names.insert(name)
      let place = url.appendingPathComponent(name)
      try write(GeneratedFile(source: source), to: place, force: force, &report)
    }
    report.stale = stale(besides: names)
    return report
  }

  private func write(
    _ file: GeneratedFile, to place: URL, force: Bool, _ report: inout Report
  ) throws {
    let (standing, text) = GeneratedFile.standing(at: place)
    if standing == .ours,
      text?.replacingOccurrences(of: "\r\n", with: "\n") == file.text
    {
      return report.files.append(place.path)
    }
    switch standing {
    case .changed where !force:
      report.left.append(.init(path: place.path, reason: "it was changed since it was written"))
    case .foreign where !force:
      report.left.append(.init(path: place.path, reason: "it was not written by this command"))
    case .absent, .ours, .changed, .foreign:
      do {
        try Data(file.text.utf8).write(to: place, options: .atomic)
      } catch {
        throw unwritable(place.path, error)
      }
      report.files.append(place.path)
      report.written.append(place.path)
    }
  }

  /// Files that this command wrote, changed since or not, of classes that are not among `names`.
  private func stale(besides names: Set<String>) -> [String] {
    let all = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
    return all.sorted().filter { $0.hasSuffix(".swift") && !names.contains($0) }
      .map { url.appendingPathComponent($0) }
      .filter { [.ours, .changed].contains(GeneratedFile.standing(at: $0).standing) }.map(\.path)
  }

  private func unwritable(_ path: String, _ error: any Error) -> Failure {
    Failure(
      .unwritten, code: "class-unwritable",
      "\(path) cannot be written: \((error as NSError).localizedDescription).",
      suggestion: "name a folder that this user may write, with room in it: --folder")
  }
}
