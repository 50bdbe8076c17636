import DriftlessSync
package import ProgramStart

/// What a configuration of the daemon may say.
package enum DaemonSettings {
  package static let all = [
    SettingDeclaration(
      "stores", .objects(store), isRequired: true, "The stores that are kept in step."),
    SettingDeclaration(
      "socket", .path,
      "The unix socket on which syncctl reaches the daemon; its path has at most 107 bytes. It changes with a restart only."
    ),
    .logLevel("The least level that is logged. It changes with a restart only."),
    SettingDeclaration(
      "retrySecondsMax", .number(1...86_400), unit: "seconds", standard: .number(300),
      "The longest pause between two attempts."),
  ]

  package static let store = [
    SettingDeclaration("path", .path, isRequired: true, "The store's file, enrolled."),
    SettingDeclaration(
      "tokenFile", .path,
      "Its token, where that is not beside the store; for the daemon's user alone (mode 0600)."),
    SettingDeclaration(
      "authorityFile", .path,
      "The authorities that it trusts in place of the system's (PEM), where those are not beside the store."
    ),
    SettingDeclaration(
      "clientCertificateFile", .path,
      "The certificate by which this host shows itself to the server, and its key (PEM, mode 0600), where that is not beside the store."
    ),
    SettingDeclaration(
      "keyFile", .path,
      "The key file of its encrypted properties, where that is not beside the store (mode 0600)."),
    SettingDeclaration(
      "keyCommand", .text, rival: "keyFile",
      "A command of the shell that prints the key file, in its place."),
    SettingDeclaration(
      "values", .choice(ValueFetching.allCases.map(\.rawValue)),
      "Which large values are fetched when somebody asks for them, in place of what the store says."
    ),
  ]
}
