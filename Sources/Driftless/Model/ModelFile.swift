import DriftlessSQLite
public import Foundation
import ModelXML

extension ManagedObjectModel {
  /// Reads a model from a file or folder: an `.xcdatamodeld` or a compiled `.momd` (the current
  /// version), an `.xcdatamodel`, a `.mom`, or a `contents` file.
  ///
  /// All give equal models. One of a `.momd` has the version hashes that Core Data's compiler gave
  /// its entities. Words in a file `<Name>Model.strings` beside the model, or in the folder of a
  /// language there, are its ``localizationDictionary``.
  /// - Throws: ``ModelError``, which names the file or the element that is wrong.
  @_disfavoredOverload
  public convenience init(contentsOf url: URL) throws(ModelError) {
    let versions = try ManagedObjectModel.versions(at: url)
    guard let current = versions.first(where: \.isCurrent) else {
      throw ModelError(
        .unreadable, element: url.path,
        "it holds \(versions.count) versions, and nothing says which is current",
        suggestion: "Give the path of one of them, such as \(versions[0].url.lastPathComponent).")
    }
    try self.init(current)
    localizationDictionary = try ModelFile.words(beside: url)
  }

  /// What the file of a model, of several versions the current one, has and is not read: also where it is refused for it.
  package static func unknownWords(at url: URL) throws(ModelError) -> [UnknownWord] {
    guard let current = try versions(at: url).first(where: \.isCurrent) else { return [] }
    let file = try ModelFile.contents(of: current.url)
    let data = try ModelFile.data(of: file)
    guard ModelFile.isDocument(data) else { return [] }
    return UnknownWords(try ModelElement.parse(data, from: file.path)).words
  }

  /// Reads a model from the XML of a `contents` file.
  ///
  /// - Throws: ``ModelError`` where the XML is no model, with its line where that is known.
  public convenience init(xml data: Data, path: String = "the model") throws(ModelError) {
    self.init()
    file = path
    do throws(ModelError) {
      try ModelReader(path: path).read(ModelElement.parse(data, from: path), into: self)
      linkNames()
    } catch {
      throw error.inFile(path)
    }
  }

  /// Reads a model from the bytes of a `.mom`.
  ///
  /// - Throws: ``ModelError`` where the bytes are no compiled model.
  public convenience init(compiled data: Data, path: String = "the model") throws(ModelError) {
    self.init()
    file = path
    do throws(ModelError) {
      try CompiledModelReader(data, path: path).read(into: self)
      linkNames()
    } catch {
      throw error.inFile(path)
    }
  }

  convenience init(_ version: ModelVersion) throws(ModelError) {
    let file = try ModelFile.contents(of: version.url)
    let data = try ModelFile.data(of: file)
    if file.pathExtension == "mom"
      ? !ModelFile.isDocument(data) : data.starts(with: Array("bplist".utf8))
    {
      try self.init(compiled: data, path: file.path)
    } else {
      try self.init(xml: data, path: file.path)
    }
    try record(version.entityVersionHashes)
  }

  /// Takes the hashes that Core Data's compiler wrote, with our own of the same entities.
  private func record(_ hashes: [String: Data]) throws(ModelError) {
    guard !hashes.isEmpty else { return }
    let own = ownVersionHashesByName
    recordedHashes = hashes.reduce(into: [:]) { recorded, entry in
      recorded[entry.key] = own[entry.key].map { RecordedHash(own: $0, recorded: entry.value) }
    }
  }
}

/// Where the parts of a model on disk are.
enum ModelFile {
  /// Property lists and words are read whole.
  private static let bytesMax = ModelXML.bytesMax

  /// The file with the description of one version.
  static func contents(of url: URL) throws(ModelError) -> URL {
    if url.pathExtension == "omo" {
      throw ModelError(
        .unsupportedFormat, element: url.path, "it is in a format that only Core Data maps",
        suggestion: "Give the .mom beside it, or the .momd around it.")
    }
    guard url.pathExtension == "xcdatamodel" else { return url }
    let contents = url.appendingPathComponent("contents")
    guard exists(contents) else {
      let isOld = exists(url.appendingPathComponent("elements"))
      throw ModelError(
        .unsupportedFormat, element: url.path,
        isOld ? "it is in the binary format of before Xcode 4" : "it has no file named contents",
        suggestion: "Open it in Xcode and save it in the XML format.")
    }
    return contents
  }

  static func isCompiledBundle(_ url: URL) -> Bool {
    url.pathExtension == "momd" || exists(url.appendingPathComponent("VersionInfo.plist"))
  }

  /// Whether bytes are a model as it is edited, which the plugin for builds puts into the bundle that it makes.
  static func isDocument(_ data: Data) -> Bool {
    let start = String(decoding: data.prefix(4096), as: UTF8.self)
    return start.contains("<model") && !start.contains("<plist")
  }

  static func exists(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: url.path) }

  static func data(of file: URL) throws(ModelError) -> Data {
    func unreadable(_ reason: String) -> ModelError {
      ModelError(
        .unreadable, element: file.path, reason,
        suggestion: "Check that the file is there and may be read.")
    }
    var status = stat()
    guard stat(file.path, &status) == 0 else { throw unreadable(String(cString: strerror(errno))) }
    // A pipe would be waited for without end.
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw unreadable(
        "it is \(status.st_mode & S_IFMT == S_IFDIR ? "a folder" : "no plain file")")
    }
    guard status.st_size <= bytesMax else {
      throw ModelError(
        .tooLarge, element: file.path, "no more than \(bytesMax) bytes are read of a model",
        suggestion: "Check that it is a model.")
    }
    // One that is open in this process would lose its locks when a descriptor of it is closed.
    guard SQLiteConnection.isDatabase(at: file.path) != true else {
      throw ModelError(
        .unsupportedFormat, element: file.path, "it is an SQLite database, and no model",
        suggestion: "Give the model's file or bundle: a store that has its model inside needs none."
      )
    }
    let descriptor = open(file.path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw unreadable(String(cString: strerror(errno))) }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    guard let data = try? handle.readToEnd() ?? Data() else {
      throw unreadable("it cannot be read to its end")
    }
    return data
  }

  /// A property list with texts as keys; nil where there is no such file.
  static func propertyList(_ file: URL) throws(ModelError) -> [String: Any]? {
    guard exists(file) else { return nil }
    let data = try data(of: file)
    guard
      let list = BoundedPropertyList.values(data)
        as? [String: Any]
    else {
      throw ModelError(
        .malformed, element: file.path, "it is no property list of keys and values",
        suggestion: "Take it from the bundle as Xcode made it.")
    }
    return list
  }

  /// The localization dictionary of a model: the words in `<Name>Model.strings`, beside the model or
  /// in the folder of the first language that has them.
  static func words(
    beside url: URL, languages: [String] = Locale.preferredLanguages
  ) throws(ModelError) -> [String: String] {
    let name = url.deletingPathExtension().lastPathComponent
    let folder = url.deletingLastPathComponent()
    // A language is asked for with its region, and then without: de-AT, de.
    let spelled = languages.flatMap { [$0, String($0.prefix { $0 != "-" && $0 != "_" })] }
    let folders =
      [folder]
      + (spelled + ["Base", "en"]).map { folder.appendingPathComponent("\($0).lproj") }
    for folder in folders {
      let file = folder.appendingPathComponent("\(name)Model.strings")
      if let words = try propertyList(file) { return words.compactMapValues { $0 as? String } }
    }
    return [:]
  }
}
