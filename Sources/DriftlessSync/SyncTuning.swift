/// Every bound and retry limit of the engine, with its unit and its reason.
enum SyncTuning {
  /// Bytes. A page is held in memory once compressed and once decoded: about 40 MB at the usual
  /// ratio.
  static let pullBytesMax = 4 << 20
  /// Bytes. Small entries of a page are applied in one transaction, a larger one by itself: the
  /// memory that it takes inflated is that of one entry.
  static let applyBytesMax = 256 << 10
  /// KiB of SQLite's page cache while a push walks over what is pending, most pages of which it needs once.
  static let walkCacheKibibytes = 8_192
  /// KiB of it while a page is applied, or an answer to a push is taken in. The index of half a million identities takes twice as
  /// much: what does not stay in it comes from the system's own cache.
  static let writeCacheKibibytes = 12_288
  /// Bytes of a change set after which free memory goes back to the system (`SyncOptions.trimsMemory`): to ask for that takes a
  /// millisecond, and what went back is to be had again.
  static let trimBytesMin = 1 << 20
  /// KiB of it while frames are read one after the other: each page of theirs is needed once.
  static let frameCacheKibibytes = 2_048
  /// Objects. Keeps a frame of six-property objects near 4 MB, far below the usual body limit of 64
  /// MiB.
  static let pushObjectsMax = 100_000
  /// Bytes of values, not compressed, in one part of a push: what client and server hold of a push grows with it. With room for
  /// what else a part takes it stays below the usual limits of a body, and over a line of 40 KB/s a part that is not compressible
  /// takes two minutes.
  static let partBytesMax = 4 << 20
  /// Bytes. A binary value of as many goes by itself, once a zone; a smaller one goes with its change set.
  static let largeValueBytesMin = 1 << 20
  /// Bytes of large values that one push brings. Far below what a token may have waiting (`unnamedValueBytesPerTokenMax`).
  static let pushValueBytesMax = 256 << 20
  /// Seconds between two questions for a large value that came damaged, or not at all, and between two searches for one that the
  /// zone lacks and this store has not.
  static let missingValuesSeconds = 3600
  /// Milliseconds between two looks whether another process, which syncs the store, has fetched a large value, or has ended.
  static let otherProcessMilliseconds = 250
  /// Such looks in a row at which nothing has come, before a process whose last sync failed is waited for no longer.
  static let otherProcessRoundsFailing = 8
  /// The same of one whose syncs do not fail: a minute.
  static let otherProcessRoundsMax = 240
  /// Seconds after which a server that takes no large values is asked again whether it does.
  static let valueBoundsSeconds = 3600
  /// Bytes of large values that are not where they belong which one sync sends, or fetches: it is one thing of many.
  static let mendedValueBytesMax = 256 << 20
  /// Seconds that a sync of `run()` takes for large values, with a third more for those that it sends, and the next one begins at once: what was saved meanwhile, and what others
  /// sent, goes between.
  static let mendedValueSeconds = 30
  /// Seconds of those that a request has at least: with less left, none begins.
  static let valueGraceSeconds = 2
  /// Bytes. A value of which less came in what a turn had for it comes behind the others, since something holds it up.
  static let valueStallBytes = 16 << 10
  /// Seconds in which a piece of a value that the zone lost, and gets back from here, has to go in a turn: at first, and at most, which
  /// is what a server gives a body of that size (`bodySeconds`, and a second for each 4 KiB).
  static let offeredPieceSeconds = 30
  static let offeredPieceSecondsMax = 376
  /// Bytes that a value gets when it is sealed, and some more.
  static let sealedCellBytes = 256
  /// Values that the zone lacks, and that a replica hears of: more are heard of once it has some of them back.
  static let lostValuesMax = 10_000
  /// Bytes of large values that are fetched before the entries that name them are applied, one at least.
  static let valueBytesAtOnce = 64 << 20
  /// Of 1. What a byte of the log takes of the disk while it is taken in, where only its compressed bytes are known: rows,
  /// history and indexes, and all of them once more in the write-ahead log.
  static let appliedShare = 8
  /// Of 1. The same of a byte that is not compressed.
  static let inflatedShare = 4
  /// Bytes. So little may use half of what is left to saves: an edit of others, or a delete, comes all the same.
  static let smallApplyBytes = 64 << 10
  /// Of 1. What a byte of a large value takes of the disk until it is sent: of its copy, and of the write-ahead log on its way there.
  static let valueShare = 3
  /// Of 1. The same of one that comes: while it travels it is in the write-ahead log and then in the file, and so it is where it belongs;
  /// what it took before that goes through the log once more.
  static let placedValueShare = 5
  /// Bytes of a write-ahead log that is copied into the file where there is no room for a large value.
  static let cutLogBytesMin = 256 << 10
  /// Attempts at a piece of a large value that does not come while the zone answers to all else, before that goes on without it.
  static let valueAttemptsMax = 2
  /// Such attempts in a row, of whatever values, after which an operation asks for no more of them. Each may take half a minute, where
  /// something on the way swallows large answers.
  static let valueFailuresInARowMax = 3
  /// The same of attempts that failed between others which did not.
  static let valueFailuresMax = 8
  /// Seconds before a value at which the way breaks, and at others not, is asked for again; twice as long each time.
  static let brokenValueSeconds = 60
  /// Places that get their large values in one transaction, and bytes of those: one place at least. Each transaction looks through
  /// what waits to be sent, and is one that a crash, or a full disk, takes back.
  static let placesAtOnce = 64
  static let placedBytesAtOnce = 16 << 20
  /// Large values that are let go of in one transaction.
  static let letGoAtOnce = 16
  /// Pages that the store's file gives back at once after that, where the disk is nearly full: as much goes through the log.
  static let vacuumedPagesMax = 256
  /// Empty properties that are required and are read at once; of more, those that are asked for.
  static let lacksAtOnce = 256
  /// Numbers of objects between two that the zone is asked for at once, when it is asked which values it names.
  static let letGoGapMax: UInt64 = 16
  /// Seconds that a zone is waited for, before it is let go of only what is known of it: it adds up its log first.
  static let letGoDigestWaitSeconds = 30
  /// Bytes. Who sends less of a large value at a time, but at its end, would have a replica ask for ever.
  static let valuePieceBytesMin = 4 << 10
  /// Answers to pieces of a large value that bring it no further, before a server is taken to be none.
  static let valueAnswersMax = 8
  /// Bytes. What is refused as too large is sent in smaller parts, down to this: no server, and no proxy before one, takes less.
  static let partBytesLeast = 64 << 10
  /// Attempts. Each loses only to a push that another replica got through in between, so the zone
  /// moves on.
  static let staleRetriesMax = 16
  /// Bytes. A piece of a snapshot's file: so much is fetched again where a connection breaks.
  static let segmentPieceBytes = 1 << 20
  /// Bytes. Who sends less at a time, but at a file's end, would have a store write for ever.
  static let segmentPieceBytesMin = 128
  /// Attempts. A zone has another snapshot while a slow replica fetches one, or bytes were changed on their way.
  static let snapshotAttemptsMax = 3
  /// Of 1. A snapshot that takes less than this share of the log that a replica has yet to read is taken in its place.
  static let snapshotShare = 1.0
  /// Attempts. A bit that flips on the way is rare: what comes damaged so often is damaged by rule.
  static let damagedAttemptsMax = 3
  /// Objects. So many that are refused one after the other, with nothing taken in between, mean that
  /// the server refuses everything.
  static let quarantinedInARowMax = 8
  /// Objects. So many that are stale for good one after the other are set aside by one push at most: each is found by some
  /// twenty requests. The next push goes on behind them.
  static let conflictingInARowMax = 64
  /// Seconds. What is stale for good is tried again when the log went on: twice at once, then after so long, and twice as
  /// long each time that was in vain.
  static let conflictingPauseSeconds: Double = 30
  /// Seconds. So long at most, also where the log did not go on: the server may have been what was wrong.
  static let conflictingPauseSecondsMax: Double = 3600
  /// Change sets that one push call sends at most; the next call goes on.
  static let pushChangeSetsMax = 10_000
  /// Bytes. The log of a month of a busy shop; a server that lost more gets the rest as offers.
  static let keptFrameBytesMax = 64 << 20
  /// Seconds. Thirty days: as long as backups are usually kept.
  static let keptFrameSeconds: Double = 30 * 86_400
  /// Seconds. Ninety days: as long as a zone tells the names of saves, which say what a copy of a store has sent.
  static let rememberedDeleteSeconds: Double = 90 * 86_400
  /// Seconds. Of what the zone's clock moved between two pulls so much counts as time that passed: who syncs daily ages
  /// what is kept as time passes, and a clock that is wrong once by a day at most.
  static let seenSecondsMax: Double = 86_400
  /// Seconds. What passed is noted so seldom: a term is days, and a replica to which nothing happens writes nothing.
  static let seenSecondsMin: Double = 3_600
  /// Seconds. That all is well still is noted so seldom, where nothing came and nothing went.
  static let contactNotedSeconds: Double = 300
  /// Names of covered saves that are kept of what a server lost, each as a row of some 50 bytes.
  static let lostNamesMax = 100_000
  /// Places of the log that are known one by one: more than a night's backup is behind.
  static let densePlaces = 1024
  /// Rounds of coming back in one operation: a refill, an offer of the rest, and one for a server that
  /// changes meanwhile.
  static let reconcileRoundsMax = 3
  /// Seconds. Offering everything is work for all replicas: twice a day, something else is wrong.
  static let reconcileEverySeconds: Double = 86_400
  /// Generations of a zone that a replica knows again when a server leads back to them.
  static let leftGenerationsMax = 32
  /// Milliseconds. Clocks of hosts that keep time differ by less; what is further ahead is moved back.
  static let clockSlackMilliseconds: UInt64 = 60_000
  /// So often a push that a zone refuses as ahead of its clock is moved back and sent again.
  static let clockRefusalsMax = 10
  /// An answer that came within so long says where the zone's clock stands; a slower one only contradicts.
  static let preciseClockMilliseconds: Int64 = 200
  /// Seconds. A long poll that was answered sooner, without news, was not waited for; a server may have reason to hold none for
  /// longer than a few.
  static let earlyAnswerSeconds = 2.5
  /// Seconds between such polls at most, before jitter: as late news comes then.
  static let earlyPauseSecondsMax = 8.0
  /// Of 1. Nobody means to delete more than half of everything often enough to mind being asked.
  static let massDeleteShare = 0.5
  /// Objects. A small store loses most of its objects in the course of a day's work.
  static let massDeleteFloor = 50
  /// Objects. Ten thousand at once are a purge, which is announced, or a mistake.
  static let massDeleteCount = 10_000
  /// Journal entries that one read gives at most, where its caller says no other number.
  static let journalEntriesMax = 10_000
  /// Changes. So many that are pending are counted for a status, in some 30 ms; of more it says that there are more.
  static let statusChangesMax = 100_000
  /// Comparisons with the zone that one call begins: each is at the place where the zone was when it began.
  static let verifyAttemptsMax = 8
  /// After a zone could not be read anew.
  static let anewPause = Duration.seconds(600)
  /// Rounds of one repair: an object that was missing, what refers to it, and what that lets be seen; the last finds nothing.
  static let repairRoundsMax = 4
  /// Of so many objects one at most may differ for those that do to be fetched by themselves: else all of their blocks are.
  static let differingShare = 8
  /// Columns of digests that one request asks for: their places stand in its address.
  static let digestColumnsMax = 64
  /// Milliseconds between two questions whether the server has added up its log, at first and at last.
  static let digestPauseMilliseconds = 50
  static let digestPauseMillisecondsMax = 2_000
  /// Seconds. A log of ten million objects is added up in minutes.
  static let digestWaitSeconds = 3_600
}
