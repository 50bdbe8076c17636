extension ManagedSource {
  /// The member that begins at a word, where generated code can name it and key-value coding calls it.
  func keyed(_ index: Int) -> [Keyed] {
    guard isOpen(index), port.tokens.indices.contains(index + 1),
      port.tokens[index + 1].kind == .word
    else { return [] }
    let name = port.text(index + 1)
    if port.text(index) == "func" { return validator(index, name) }
    return isPlainProperty(index + 1)
      ? [Keyed(name: name, key: port.name(index + 1), kind: .property)] : []
  }

  /// Whether other files of the module have a declaration in every build. An attribute may say that they do not.
  func isOpen(_ index: Int) -> Bool {
    guard port.isCertain[index] else { return false }
    var place = index - 1
    while place >= 0 {
      // The words of `private(set)` are in parentheses.
      if port.text(place) == ")", place > 2, port.text(place - 2) == "(",
        Self.accessWords.contains(port.text(place - 3))
      {
        place -= 4
        continue
      }
      let word = port.text(place)
      if word == ")" { return attribute(endingAt: place) == nil }
      if ["private", "fileprivate", "static", "class"].contains(word) { return false }
      guard SourcePort.modifiers.contains(word) else { return port.text(place - 1) != "@" }
      place -= 1
    }
    return true
  }

  /// Whether a property neither waits nor throws, nor is one whose accessors go to what is stored.
  private func isPlainProperty(_ name: Int) -> Bool {
    var next = name + 1
    if port.text(next) == ":" { next = port.end(ofType: next + 1) }
    guard port.text(next) == "{" else { return true }
    let body = next..<port.end(ofGroup: next)
    return !body.contains { place in
      port.text(place) == "managedValue"
        || (port.text(place) == "get" && ["async", "throws"].contains(port.text(place + 1)))
    }
  }

  private func validator(_ index: Int, _ name: String) -> [Keyed] {
    let prefix = "validate"
    guard name.hasPrefix(prefix), name.dropFirst(prefix.count).first?.isUppercase == true,
      port.text(index + 2) == "("
    else { return [] }
    let end = port.end(ofGroup: index + 2)
    guard port.text(end - 1) == ")", port.text(end) == "throws",
      let parameters = port.parameters(in: (index + 3)..<(end - 1)), parameters.count == 1,
      parameters[0].label == "_",
      parameters[0].type.hasSuffix("UnsafeMutablePointer<AnyObject?>")
    else { return [] }
    let key = String(name.dropFirst(prefix.count))
    // A property may begin with either letter: a class has one of the two.
    let lower = key.prefix(1).lowercased() + key.dropFirst()
    return [lower, key].map { Keyed(name: name, key: $0, kind: .validator) }
  }
}
