import DriftlessSQLite
import Foundation

/// `Z_METADATA`, one row; `ZDL_MODEL`, the model that travels inside; and `Z_MODELCACHE`, Core Data's copy of it.
struct MetadataCheck: TableCheck {
  let tables = ["Z_METADATA", "ZDL_MODEL"]

  func check(_ inspection: StoreInspection) throws {
    try inspection.check("Z_METADATA", key: ["Z_VERSION"], MetadataTable.rules)
    try checkCount(of: "Z_METADATA", inspection)
    try checkHashes(inspection)
    try checkModel(inspection)
    try checkCache(inspection)
  }

  private func checkCount(of table: String, _ inspection: StoreInspection) throws {
    let count = try inspection.connection.scalar("SELECT COUNT(*) FROM \(table)")
    guard case .integer(let count)? = count, count != 1 else { return }
    inspection.report(.damage, table, "\(table) has \(count) rows in place of one.")
  }

  private func checkHashes(_ inspection: StoreInspection) throws {
    let found = try? MetadataTable.read(on: inspection.connection, path: inspection.file.name)
    guard let (identifier, metadata) = found else {
      return inspection.report(.damage, "Z_METADATA", "Z_METADATA cannot be read.")
    }
    if UUID(uuidString: identifier) == nil {
      inspection.report(
        .damage, "Z_METADATA", "Z_METADATA has the identifier “\(identifier.prefix(40))”.")
    }
    guard metadata.format > 0 else { return }
    let names = Set(inspection.schema.entities.map(\.name))
    let different = inspection.schema.model.incompatibleEntities(metadata.values, among: names)
    guard !different.isEmpty else { return }
    inspection.report(
      .disagreement, "Z_METADATA",
      "Z_METADATA is of another model: different are \(different.prefix(3).joined(separator: ", ")).",
      suggestion: "Open the store with the model that it was written with, or migrate it.")
  }

  private func checkModel(_ inspection: StoreInspection) throws {
    // A file that Core Data wrote, and nobody here, has none.
    guard inspection.isOurs else { return }
    try inspection.check("ZDL_MODEL", key: ["version"], ModelInside.rules)
    try checkCount(of: "ZDL_MODEL", inspection)
    let content = try inspection.connection.scalar("SELECT content FROM ZDL_MODEL")
    guard case .blob(let content)? = content else { return }
    do {
      _ = try ModelArchive.decode(content)
    } catch {
      inspection.report(
        .damage, "ZDL_MODEL", "ZDL_MODEL holds no model that can be read.",
        suggestion: "Open the store with its model, which puts it there anew.")
    }
  }

  private func checkCache(_ inspection: StoreInspection) throws {
    guard inspection.has("Z_MODELCACHE"),
      let content = try inspection.connection.scalar("SELECT Z_CONTENT FROM Z_MODELCACHE LIMIT 1")
    else { return }
    var isRead = false
    if case .blob(let packed) = content, let bytes = Inflate.unpack(packed) {
      isRead = (try? ManagedObjectModel(compiled: bytes, path: "the file's model cache")) != nil
    }
    guard !isRead else { return }
    inspection.report(
      .disagreement, "Z_MODELCACHE", "Z_MODELCACHE holds no model that can be read.",
      suggestion: "Open the store with its model: nothing else reads Core Data's copy.")
  }
}
