import Driftless
import DriftlessSync
import Foundation
import ProgramStart

/// What `store info` prints.
struct StoreInfo: Encodable {
  struct Entity: Encodable {
    var name: String
    var number: Int
    var objects: Int
  }

  var identifier: String
  var writtenBy: String
  /// Where the model came from: `inside`, Core Data's `cache`, the `tables`, or `given`.
  var model: String
  var entities: [Entity]
  var transactions: Int
  var bytes: Int
  var logBytes: Int
  var isReplica: Bool
  /// Of a file of Core Data's: what it held when it was first opened for writing, as a digest.
  var contentDigest: String?

  init(of store: PersistentStore, at url: URL) throws {
    identifier = store.identifier.lowercased()
    let framework = store.metadata.values[StoreMetadata.frameworkVersionKey]
    writtenBy = framework.map { "Core Data \($0)" } ?? "Driftless"
    model = store.modelOrigin.rawValue
    (entities, transactions) = try store.read { transaction in
      let entities = try store.schema.entities.sorted { $0.name < $1.name }.map { entity in
        Entity(
          name: entity.name, number: Int(transaction.schema.entityNumber(of: entity)),
          objects: try transaction.objectCount(of: entity))
      }
      return (entities, try transaction.transactionCount())
    }
    func size(_ path: String) -> Int {
      let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber
      return size?.intValue ?? 0
    }
    bytes = size(url.path)
    logBytes = size(url.path + "-wal")
    isReplica = try SyncEngine.status(of: store).isEnrolled
    contentDigest = try store.contentDigest()
  }

  var lines: [String] {
    let head = [
      "store:".padded(to: 14) + identifier, "written by:".padded(to: 14) + writtenBy,
      "model:".padded(to: 14) + model, "size:".padded(to: 14) + "\(bytes) bytes, log \(logBytes)",
      "history:".padded(to: 14) + CountText.of(transactions, "transaction"),
      "replica:".padded(to: 14) + (isReplica ? "yes" : "no"),
    ]
    let content =
      contentDigest.map {
        ["content:".padded(to: 14) + "\($0) when it was first opened for writing"]
      } ?? []
    return head + content + entities.map { "  \($0.name.padded(to: 28))\($0.objects)" }
  }
}
