import DriftlessSQLite
import Foundation

/// Files of large values that no row names: they are looked for where some may be left, and removed.
extension PersistentStore {
  /// There in a store whose model had attributes with large values before a migration: rows that named files may be gone.
  static let sweepingSetting = "filesToSweep"

  /// Removes what is left of files where somebody says that there is some: who had the store open last did not close it, or has it
  /// open still, or migrated it. Where others use the store, who opens it next will.
  ///
  /// - Parameter hasLog: Whether there was a log as the store was opened.
  func sweepLeftFiles(hasLog: Bool) throws {
    guard !isReadOnly, !hasDeferredCleanup, let url else { return }
    let isAsked = try read { try $0.setting(Self.sweepingSetting) != nil }
    guard isAsked || hasLog, !ExternalDataFolder(store: url.path).names.isEmpty else {
      return isAsked ? noteSwept() : ()
    }
    guard checkpointNow(sweeps: true), isAsked else { return }
    noteSwept()
  }

  /// Where it cannot be noted, since somebody writes for long or the disk is full, the store opens all the same: whoever opens it
  /// next is asked again.
  private func noteSwept() {
    _ = try? write(TransactionInfo()) { try $0.setSetting(Self.sweepingSetting, nil) }
  }

  /// Whether a migration left tables and columns for later (``StoreOptions/defersMigrationCleanup``): the files that those name
  /// are named by no column of the model, and go with them.
  var hasDeferredCleanup: Bool { metadata.values[StoreMetadata.deferredCleanupKey] != nil }

  /// Removes the files that no row names. Nobody writes, and nobody reads an older state.
  func sweepFiles(_ writer: SQLiteConnection) {
    do { try content?.check(writer) } catch { return }
    guard !hasDeferredCleanup, let url,
      let referenced = try? ExternalData.referenced(schema.externalColumns, writer),
      let prefix = try? StoreSettings.mintPrefix(on: writer)
    else { return }
    ExternalDataFolder(store: url.path).sweep(keeping: referenced, prefix: prefix)
  }
}
