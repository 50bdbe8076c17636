/// Names that wait in a line, each once, however many there are.
struct NameLine {
  /// Those from `first` on wait.
  private var names: [String] = []
  private var first = 0
  private var waiting: Set<String> = []

  var isEmpty: Bool { waiting.isEmpty }

  mutating func append(_ name: String) {
    if waiting.insert(name).inserted { names.append(name) }
  }

  mutating func putFirst(_ name: String) {
    guard waiting.insert(name).inserted else { return }
    if first > 0 {
      first -= 1
      names[first] = name
    } else {
      names.insert(name, at: 0)
    }
  }

  mutating func removeFirst() -> String? {
    guard first < names.count else { return nil }
    let name = names[first]
    first += 1
    waiting.remove(name)
    if first > names.count / 2 {
      names.removeFirst(first)
      first = 0
    }
    return name
  }
}
