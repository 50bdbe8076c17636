extension String {
  /// The text as one word of a command line that somebody copies into a shell.
  package var shellWord: String {
    let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")
    guard isEmpty || hasPrefix("-") || !allSatisfy(plain.contains) else { return self }
    let word =
      "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    // An option would be taken for one within quotes as well.
    return hasPrefix("-") ? "./" + word : word
  }
}
