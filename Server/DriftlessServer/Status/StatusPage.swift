import DriftlessProtocol
import Foundation

/// The pages of an operator, as HTML. They have no script: a page loads itself again.
struct StatusPage {
  /// Where the page's own folder is, from it: links hold behind a proxy that puts a path before.
  let home: String
  /// The server's time.
  let now: Int64

  static let secondsToNext = 15

  /// What surrounds every page.
  private static func page(_ title: String, reloads: Bool, _ body: HTML) -> HTML {
    """
    <!DOCTYPE html>
    <html lang="en"><head><meta charset="utf-8"><title>\(title)</title>\
    <meta name="viewport" content="width=device-width,initial-scale=1">\
    <meta name="robots" content="noindex">\
    \(HTML.when(reloads, "<meta http-equiv=\"refresh\" content=\"\(secondsToNext)\">"))\
    <style>\(HTML(stringLiteral: StatusStyle.sheet))</style></head><body>\(body)</body></html>

    """
  }

  // MARK: Signing in

  /// - Parameter complaint: why nobody is signed in.
  static func signIn(_ complaint: String?) -> HTML {
    page(
      "Driftless server", reloads: false,
      """
      <main><form class="sign" method="post" action="sign-in"><h1>Driftless server</h1>\
      \(HTML.of(complaint) { "<p class=\"bad\" role=\"alert\">\($0)</p>" })\
      <label for="token">An operator's token</label>\
      <input id="token" name="token" type="password" required autofocus autocomplete="current-password" \
      maxlength="200"><button class="main">Sign in</button>\
      <p class="quiet">The server's operator makes one: driftless-server operator create --name NAME</p></form></main>
      """)
  }

  static func failure(_ error: ServerError, home: String) -> HTML {
    page(
      "Driftless server", reloads: false,
      """
      <main><h1>\(error.message)</h1><p>\(error.suggestion)</p><p><a href="\(home)">All zones</a></p></main>
      """)
  }

  private func header(_ title: HTML, operator name: String) -> HTML {
    """
    <header><h1>\(title)</h1><span class="quiet">\(name), \(Self.time(now))</span>\
    <form method="post" action="\(home)sign-out"><button>Sign out</button></form></header>
    """
  }

  // MARK: All zones

  struct Server {
    let totals: ServerMetrics.Totals
    let waiting: Int
    let samples: [ServerActivity.Sample]
    let runsMilliseconds: Int64
    let damagedEntries: Int
    let certificateEnds: Date?
  }

  /// - Parameter look: nil where the database cannot be read.
  func zones(
    _ look: StorageLook?, from: String, server: Server, operator name: String
  ) -> HTML {
    Self.page(
      "Driftless server", reloads: true,
      """
      \(header("Driftless server", operator: name))<main>\(cards(look, server))\
      <h2>The last \(Self.minutes(server.samples)) minutes</h2><div class="plots">\(plots(server.samples))</div>\
      <h2>Zones</h2>\(look.map { list($0, from: from) } ?? Self.unreadable)</main>
      """)
  }

  private static let unreadable: HTML =
    "<p class=\"bad\">The database cannot be read: the server's log says why.</p>"

  private func cards(_ look: StorageLook?, _ server: Server) -> HTML {
    var cards: [HTML] = []
    func card(_ name: String, _ value: String, isBad: Bool = false) {
      cards.append(
        "<div class=\"card\"><span class=\"quiet\">\(name)</span><b class=\"\(isBad ? "bad" : "")\">\(value)</b></div>"
      )
    }
    if let look {
      card("Zones", Figure.count(look.zoneCount))
      if let bytes = look.databaseBytes { card("Database", Figure.bytes(bytes)) }
      if let bytes = look.logFileBytes { card("Write-ahead log", Figure.bytes(bytes)) }
      if let bytes = look.freeBytes {
        card("Free on its disk", Figure.bytes(bytes), isBad: bytes < 1 << 30)
      }
    }
    card("Connections", Figure.count(server.totals.connections))
    card("Replicas that listen", Figure.count(server.waiting))
    card("Pushes since the start", Figure.count(server.totals.pushes))
    card("Met other changes", Figure.count(server.totals.stale))
    card("Runs for", Figure.span(milliseconds: server.runsMilliseconds))
    if let end = server.certificateEnds {
      let left = Int64(end.timeIntervalSince1970 * 1000) - now
      card(
        "Certificate ends in", Figure.span(milliseconds: left), isBad: left < 30 * 86_400_000)
    }
    card(
      "Damaged entries", Figure.count(server.damagedEntries), isBad: server.damagedEntries > 0)
    let failed = server.totals.failedFolds
    card("Failed folds", Figure.count(failed), isBad: failed > 0)
    return "<div class=\"cards\">\(HTML(joining: cards))</div>"
  }

  /// A server that began a moment ago has little to show: an hour of it would be a line at the edge.
  private static func minutes(_ samples: [ServerActivity.Sample]) -> Int {
    [5, 20].first { samples.count * ServerActivity.spanSeconds <= $0 * 60 } ?? 60
  }

  private func plots(_ samples: [ServerActivity.Sample]) -> HTML {
    let places = Self.minutes(samples) * 60 / ServerActivity.spanSeconds
    return HTML(
      joining: [
        Plot(title: "Pushes", places: places, values: samples.map(\.pushes), text: Figure.rate),
        Plot(
          title: "Pushes that met other changes", places: places, values: samples.map(\.stale),
          text: Figure.rate),
        Plot(
          title: "Received", places: places, values: samples.map(\.bytesReceived),
          text: { "\(Figure.bytes($0))/s" }),
        Plot(
          title: "Sent", places: places, values: samples.map(\.bytesSent),
          text: { "\(Figure.bytes($0))/s" }),
        Plot(
          title: "Connections", places: places, values: samples.map { Double($0.connections) },
          text: Figure.decimal),
        Plot(
          title: "Replicas that listen", places: places,
          values: samples.map { Double($0.longPolls) },
          text: Figure.decimal),
      ].map(\.html))
  }

  private func list(_ look: StorageLook, from: String) -> HTML {
    let rows = HTML(joining: look.zones.map(row))
    let next = look.hasMore ? look.zones.last?.zone.name : nil
    return """
      <form class="find" method="get" action="\(home)"><input name="from" aria-label="From this name on" \
      placeholder="From this name on" maxlength="100" value="\(from)"><button>Show</button></form>\
      <table><thead><tr><th>Zone</th><th class="number">Change sets</th><th class="number">Log</th>\
      <th class="number">Snapshot</th><th class="number">Replicas</th><th class="number">Furthest behind</th>\
      <th class="number">Last push</th><th class="number">Last seen</th></tr></thead><tbody>\(rows)</tbody></table>\
      \(HTML.when(look.zones.isEmpty, "<p class=\"quiet\">No zone comes here: driftless-server zone create NAME</p>"))\
      <nav>\(HTML.when(!from.isEmpty, "<a href=\"\(home)\">From the first</a>"))\
      \(HTML.of(next) { "<a href=\"\(home)?from=\(Self.percent($0))&amp;after=1\">Further zones</a>" })</nav>
      """
  }

  private func row(_ look: ZoneLook) -> HTML {
    let replicas =
      look.replicas.map { $0 >= ZoneLook.replicasMax ? "\($0) or more" : Figure.count($0) } ?? "–"
    let snapshot = look.snapshot.map { "\(Figure.bytes($0.bytes)) at \(Figure.count($0.sequence))" }
    let purged = look.floor > 0 ? " after \(Figure.count(look.floor))" : ""
    return """
      <tr><td data-name="Zone"><a href="\(home)zones/\(Self.percent(look.zone.name))">\(look.zone.name)</a></td>\
      \(Self.number("Change sets", Figure.count(look.zone.head)))\
      \(Self.number("Log", (look.isCounted ? "" : "≥ ") + Figure.bytes(look.logBytes) + purged))\
      \(Self.number("Snapshot", snapshot ?? "–"))\(Self.number("Replicas", replicas))\
      \(Self.number("Furthest behind", look.lag.map { Figure.count($0) } ?? "–"))\
      \(Self.number("Last push", ago(look.lastPushMilliseconds)))\
      \(Self.number("Last seen", ago(look.lastSeenMilliseconds)))</tr>
      """
  }

  // MARK: One zone

  static let replicasMax = 200

  /// - Parameter replicas: nil where nothing is kept of them.
  func zone(_ zone: ZoneRecord, replicas: [ReplicaReport]?, operator name: String) -> HTML {
    let rows = HTML(joining: (replicas ?? []).map(row))
    let note: HTML =
      switch replicas?.count {
      case nil: "<p class=\"quiet\">This database keeps nothing of replicas that only pull.</p>"
      case 0?: "<p class=\"quiet\">No replica was seen so far.</p>"
      case Self.replicasMax?:
        "<p class=\"quiet\">These are the \(Self.replicasMax) furthest behind.</p>"
      default: ""
      }
    return Self.page(
      "\(zone.name), Driftless server", reloads: true,
      """
      \(header("\(zone.name)", operator: name))<main><nav><a href="\(home)">All zones</a></nav>\
      <div class="cards"><div class="card"><span class="quiet">Change sets</span><b>\(Figure.count(zone.head))</b></div>\
      <div class="card"><span class="quiet">Objects made</span><b>\(Figure.count(max(1, zone.nextObject) - 1))</b></div>\
      <div class="card"><span class="quiet">Generation</span><b>\(zone.generation.wireText)</b></div></div>\
      <h2>Replicas</h2><table><thead><tr><th>Replica</th><th>Token</th><th class="number">Cursor</th>\
      <th class="number">Behind</th><th class="number">Pushes</th><th class="number">Last push</th>\
      <th class="number">Last seen</th></tr></thead><tbody>\(rows)</tbody></table>\(note)</main>
      """)
  }

  private func row(_ replica: ReplicaReport) -> HTML {
    let token = replica.tokenName ?? replica.token ?? "–"
    let name: HTML = replica.name.map { "<b>\($0)</b> " } ?? ""
    return """
      <tr><td data-name="Replica">\(name)\(replica.replica.wireText)</td><td data-name="Token">\(token)</td>\
      \(Self.number("Cursor", replica.cursor.map { Figure.count($0) } ?? "–"))\
      \(Self.number("Behind", replica.lag.map { Figure.count($0) } ?? "–"))\
      \(Self.number("Pushes", Figure.count(replica.pushes)))\
      \(Self.number("Last push", ago(replica.lastPushMilliseconds)))\
      \(Self.number("Last seen", ago(replica.lastSeenMilliseconds)))</tr>
      """
  }

  // MARK: -

  private static func number(_ name: String, _ value: String) -> HTML {
    "<td class=\"number\" data-name=\"\(name)\">\(value)</td>"
  }

  private func ago(_ milliseconds: Int64?) -> String {
    milliseconds.map { "\(Figure.span(milliseconds: now - $0)) ago" } ?? "–"
  }

  private static func time(_ milliseconds: Int64) -> String {
    let bounded = min(max(0, milliseconds), 253_402_300_799_999)
    return Date(timeIntervalSince1970: Double(bounded / 1000)).formatted(.iso8601)
  }

  private static func percent(_ text: String) -> String {
    text.utf8.map { byte in
      switch byte {
      case 48...57, 65...90, 97...122, 45, 46, 95: String(Unicode.Scalar(byte))
      default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }.joined()
  }
}
