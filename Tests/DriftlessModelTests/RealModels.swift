import Foundation
import TestSupport

/// The model files of real projects, in the shared data.
enum RealModels {
  static let areHere = SharedData.has("xcdatamodel")
  /// Those that Core Data's compiler wrote, beside stores of theirs.
  static let compiledAreHere = SharedData.has("core-data-stores")

  /// Each `.xcdatamodel`.
  static func urls() throws -> [URL] {
    try SharedData.files(in: "xcdatamodel", withSuffix: ".xcdatamodel")
  }

  /// Each `.mom`, in its `.momd`.
  static func compiled() throws -> [URL] {
    try SharedData.files(in: "core-data-stores", withSuffix: ".mom")
  }

  /// Each `.momd`.
  static func compiledBundles() throws -> [URL] {
    try SharedData.files(in: "core-data-stores", withSuffix: ".momd")
  }

  /// The XML of a model by its version's name; nil when none of that name is there.
  static func source(_ bundle: String, _ version: String) throws -> URL? {
    try urls().first {
      $0.deletingPathExtension().lastPathComponent == version
        && $0.deletingLastPathComponent().lastPathComponent == "\(bundle).xcdatamodeld"
    }
  }
}
