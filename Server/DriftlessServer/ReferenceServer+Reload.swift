extension ReferenceServer {
  /// What came of other options while the server serves, by the names of settings and limits.
  package struct Reload: Sendable, Equatable {
    /// What is otherwise from now on.
    package var changed: [String] = []
    /// What changes when the server is started again.
    package var left: [String] = []
  }

  /// Goes by other options, as far as a server can while it serves; by none of them where one is wrong. The certificate's file
  /// is read anew. Connections that are open keep the certificate and the bounds of a connection that they were made with.
  ///
  /// - Throws: `ServerError` for options with which a server would not start; then all is as before.
  package func reload(_ fresh: ServeOptions) throws -> Reload {
    try fresh.check()
    let shown = try ServingCertificate(fresh)
    var reload = Reload()
    if fresh.host != options.host || fresh.port != options.port { reload.left.append("listen") }
    if fresh.allowsPlaintext != options.allowsPlaintext { reload.left.append("allowPlaintext") }
    switch (certificate.current, shown) {
    case (nil, nil): break
    case (let old?, let shown?):
      if old.fingerprint != shown.fingerprint { reload.changed.append("tlsCertificate") }
      if old.clientAuthorities != shown.clientAuthorities { reload.changed.append("tlsClientCA") }
      certificate.take(shown)
      shown.warn(logger)
    default: reload.left.append("tlsCertificate")
    }
    let former = limits.current
    let (taken, left) = Self.fitted(fresh.limits, logger).taken(over: former)
    reload.changed += taken.names(otherwiseThan: former)
    reload.left += left
    noteLimits(taken.changes(from: former))
    limits.take(taken)
    storage.take(taken)
    return reload
  }

  private func noteLimits(_ changes: [String]) {
    guard !changes.isEmpty else { return }
    Task { [storage] in
      let now = Int64(clamping: await storage.time())
      await storage.audit([
        AuditEvent(.limitsChanged, detail: changes.joined(separator: ", "), at: now)
      ])
    }
  }
}
