/// Every bound and retry limit of the engine, with its unit and its reason.
enum SyncTuning {
  /// Bytes. A page is held in memory once compressed and once decoded: about 40 MB at the usual
  /// ratio.
  static let pullBytesMax = 4 << 20
  /// Objects. Keeps a frame of six-property objects near 4 MB, far below the usual body limit of 16
  /// MB.
  static let pushObjectsMax = 100_000
  /// Attempts. Each loses only to a push that another replica got through in between, so the zone
  /// moves on.
  static let staleRetriesMax = 16
  /// Change sets that one push call sends at most; the next call goes on.
  static let pushChangeSetsMax = 10_000
  /// Journal entries that one read gives at most.
  static let journalEntriesMax = 10_000
}
