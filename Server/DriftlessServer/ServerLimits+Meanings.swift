extension ServerLimits {
  /// What each limit is, in the words of its declaration: for a schema.
  package static let meanings: [String: String] = [
    "bodyBytesMax":
      "Bytes of one push as sent (compressed). Larger ones get 413 before they are read. As much as a client makes of one (`ChangeSetLimits.frameBytesMax`): a smaller bound would leave an import stuck.",
    "inflatedBytesMax":
      "Bytes that the index section of a push may inflate to.",
    "bodiesInMemoryBytesMax":
      "Bytes of request bodies held in memory at one time by all requests: pushes, pieces of large values and enrolments share it; above it, 503. A body counts by its `Content-Length` from its head on, up to 8 MiB, and then by what has come. Of one zone half of it; of one token three eighths, or less, so that `bodyBytesMax` is left of the zone's part to other tokens; one body of `bodyBytesMax` in any case. At least four times `bodyBytesMax`: with less, one body that is sent slowly may keep others out. Small bodies have `smallBodiesInMemoryBytesMax` beside it.",
    "smallBodiesInMemoryBytesMax":
      "Bytes beside those in which bodies of `smallBodyBytesMax` and less are held, and no others: a small push gets in however much its token, or all of them, send slowly. Pieces of large values count as large bodies. Of one zone half of it, of one token three eighths; where they are full, a small body counts as others do.",
    "smallBodyBytesMax":
      "Bytes of a body up to which it is a small one.",
    "valuesInMemoryBytesMax":
      "Bytes that pushes inflate to which are in memory at one time: their values until they are checked, their indexes until they are answered. Above it, 503; of one zone half of it, of one token three eighths. At least what one change set may have (`ChangeSetLimits.valuesBytesMax`).",
    "answersInMemoryBytesMax":
      "Bytes of answers that are in memory at one time until they are sent; above it, 503; of one zone half of it, of one token three eighths.",
    "commonPlacesMax":
      "Places that a replica may ask after at one time to find where its log and the zone's part.",
    "bodySeconds":
      "Seconds that a client may take to send one body, beside what its length gives it by `bodyBytesPerSecondMin` and `longBodyBytesPerSecondMin`: bounds a slow sender.",
    "bodyBytesPerSecondMin":
      "Bytes a second for which a body has a second more, up to `longBodyBytes`: a slow line gets on.",
    "longBodyBytes":
      "Bytes of a body beyond which it has to come faster, since it holds much: as much as a client puts into one part of a push.",
    "longBodyBytesPerSecondMin":
      "Bytes a second for which a body has a second more beyond `longBodyBytes`. Each piece is judged by what the whole may take: a body of 64 MiB may take 35 minutes, and has to come with 33 KB/s on the average. For slower lines lower it, or set `valueBytesMax`: what is large goes in pieces of 1 MiB then, each with a time of its own.",
    "objectsPerPushMax":
      "Objects named by one push.",
    "propertiesPerObjectMax":
      "Properties of one object that were set after its insert. A table of SQLite's has 2,000 columns at most, unless it is built otherwise.",
    "propertiesPerZoneMax":
      "Names of properties that one zone may have.",
    "partsPerPushMax":
      "Parts that one push may come in.",
    "stagedBytesPerReplicaMax":
      "Bytes of the parts of one replica's pushes that wait for their last one, beside the log. A larger push is refused.",
    "stagedBytesMax":
      "Bytes of the parts of all replicas' pushes that wait; above it, 503. Of one zone half of it, one replica's in any case.",
    "stagedSeconds":
      "Seconds after its last part came for which a push is waited for (7 days).",
    "stagedIdleSeconds":
      "Seconds without a part after which a push that waits makes room for others, where there is none (10 minutes). What of it is gone is sent once more.",
    "valueBytesMax":
      "Bytes of one large value. A client that has a larger one sets the object aside, with both numbers. 0 means that the server takes none, and clients send such values within their change sets.",
    "unnamedValueBytesPerZoneMax":
      "Bytes of one zone's large values that nothing names so far, as declared; above it, 507.",
    "unnamedValueBytesPerTokenMax":
      "Bytes of those that came with one token; above it, 507.",
    "unnamedValueBytesMax":
      "Bytes of all zones' large values that nothing names so far; above it, 507.",
    "valueLeaseSeconds":
      "Seconds for which a large value that nothing names is kept after somebody asked for it (7 days).",
    "clockAheadMillisecondsMax":
      "Milliseconds that a transaction's time may lie ahead of this host's clock (24 hours).",
    "clockLeapMillisecondsMax":
      "Milliseconds that the host's clock may be set ahead and be followed at once (30 days).",
    "clockLeapAtStartMillisecondsMax":
      "The same in the first `clockLeapSeconds` of a process (400 days): a server may have been off for long, or put back to an old backup, and its host's clock may be set right only after it was started.",
    "clockLeapSeconds":
      "Seconds for which a clock must stay further ahead than that before it is followed.",
    "pageBytesMax":
      "Bytes of log in one answer, whatever the client asks; one entry is always sent whole.",
    "pageEntriesMax":
      "Entries in one answer: bounds the work for a log of many small change sets.",
    "waitSecondsMax":
      "Seconds that a long poll may wait, whatever the client asks. Below common proxy time-outs (60).",
    "waitersMax":
      "Long polls that wait for news at one time; further ones are answered after a second or two.",
    "connectionsMax":
      "Open connections that have shown a token which lets them in, and, as far as these leave room, others. Above `waitersMax`: each long poll has a connection.",
    "connectionsReserve":
      "Open connections beside them that have shown no such token yet; of further ones the oldest is closed.",
    "connectionsPerAddressMax":
      "The same of one address: many hosts may be behind one.",
    "headSeconds":
      "Seconds that a connection may take to its first whole head, TLS included.",
    "idleSeconds":
      "Seconds after which a connection with no request, or with half of one, is closed.",
    "headerBytesMax":
      "Bytes of all header fields of one request.",
    "headerFieldsMax":
      "Header fields of one request.",
    "queuedPushesMax":
      "Pushes that wait for the writer; further ones get 503.",
    "groupPushesMax":
      "Pushes in one group commit: bounds the time until the first of the group is answered.",
    "groupBytesMax":
      "Cost in one group commit: bytes, and 32 for each property of each object that is looked up.",
    "groupMillisecondsMax":
      "Milliseconds of writing after which a group commit ends: a push at least. What is left comes after what other zones have waiting.",
    "checkpointPages":
      "Pages of write-ahead log (4 KiB each) above which the server checkpoints.",
    "databaseBytesMax":
      "Bytes of the database file; above it a push gets 507. 0 means that only the disk bounds it.",
    "reserveBytes":
      "Bytes of the data folder's disk that are kept for operators' commands, at most an eighth of it (`DiskReserve`). 0 for none.",
    "replicasPerZoneMax":
      "Replicas that one zone remembers.",
    "requestsPerTokenMax":
      "Requests with one token in `rateSeconds`; further ones get 429. Many hosts may share a token, so this bounds a client that runs in a circle, not work.",
    "refusalsPerAddressMax":
      "Requests with a wrong token from one address in `rateSeconds` that are told so; further ones get 429. A right token passes all the same: others may be behind that address.",
    "rateSeconds":
      "Seconds in which requests are counted.",
    "wrongSignInsPerAddressMax":
      "Wrong tokens of operators from one address in `rateSeconds` that are told so; further ones get 429.",
    "signInsPerTokenMax":
      "Times in `rateSeconds` that one operator's token signs in at the status page; further ones get 429. Each is a line of the audit.",
    "sessionsMax":
      "Operators that are signed in at the status page at one time; of further ones the one who signed in first is signed out.",
    "sessionSeconds":
      "Seconds after which an operator has to sign in anew (12 hours).",
    "holdStaleAnswers":
      "Stale answers to one replica within `holdStaleSeconds` after which the zone is held for it.",
    "holdStaleSeconds":
      "Seconds in which `holdStaleAnswers` are counted.",
    "holdMilliseconds":
      "Milliseconds for which a zone is held at least.",
    "holdMillisecondsMax":
      "Milliseconds for which a zone is held at most: twice as long as the longest of those tries took. It is open to all for three times as long afterwards.",
    "retryAfterSeconds":
      "Seconds that a refused client is asked to wait when the server is busy.",
    "foldLogBytesMin":
      "Bytes that come to a zone's log before it is added up anew (`ZoneFolding`), where that is more than a quarter of what it came to last. A new replica reads so much of the log at most.",
    "watchSeconds":
      "Seconds between two looks at what operators' commands have changed: requests that wait end when it concerns them.",
    "readers":
      "Connections to the database that serve reads.",
    "databaseConnectionsMax":
      "Connections of one node to PostgreSQL, beside one that listens, one that is kept for `/healthz` and one that adds up logs.",
    "databaseWaitersMax":
      "Requests that wait for such a connection; further ones get 503.",
    "databaseConnectSeconds":
      "Seconds for which PostgreSQL may take to accept a connection.",
    "databaseSeconds":
      "Seconds for which a statement may take in PostgreSQL, and the way to its answer; then the connection is given up.",
  ]
}
