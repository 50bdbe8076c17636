/// Objects of one hierarchy of entities by primary key, not held.
///
/// Every object that is read, saved or let go passes through it, mostly in the order of the keys: keys that follow each
/// other share a page, and the page that was used last is at hand.
final class ObjectRegistry {
  /// Keys a page.
  private static let pageSize = ReferencePage.size

  private var pages: [Int64: (objects: ReferencePage, count: Int)] = [:]
  /// The page that was used last, which the dictionary knows with an older count.
  private var number: Int64 = -1
  private var page: ReferencePage?
  private var count = 0

  deinit {
    writeCount()
    for page in pages.values {
      for place in 0..<Self.pageSize { page.objects[place]?.drop() }
      page.objects.deallocate()
    }
  }

  func object(_ key: Int64) -> ManagedObject? {
    guard turn(to: key), let page else { return nil }
    return page[Self.place(key)]?.object
  }

  /// - Returns: Another object that had the key.
  func insert(_ object: ManagedObject) -> ManagedObject? {
    assert(object.key > 0, "a temporary key is no place here")
    if !turn(to: object.key) { startPage(of: object.key) }
    guard let page else { return nil }
    let place = Self.place(object.key)
    guard let former = page[place] else {
      count += 1
      page[place] = ObjectReference(object)
      return nil
    }
    page[place] = ObjectReference(object)
    defer { former.drop() }
    return former.object.flatMap { $0 === object ? nil : $0 }
  }

  func remove(_ object: ManagedObject) { remove(object.key) { $0.isOf(object) } }

  /// Takes a reference out of its place, which another may have taken.
  @inline(__always)
  func remove(_ key: Int64, where isMeant: (ObjectReference) -> Bool) {
    guard turn(to: key), let page else { return }
    let place = Self.place(key)
    guard let reference = page[place], isMeant(reference) else { return }
    reference.drop()
    page[place] = nil
    count -= 1
    assert(count >= 0, "a page has as many objects as it counts")
    if count == 0 { endPage() }
  }

  /// All objects, held: whoever goes through them may bring about that some go, or that others come.
  var objects: [ManagedObject] {
    writeCount()
    var objects: [ManagedObject] = []
    for page in pages.values {
      for place in 0..<Self.pageSize {
        if let object = page.objects[place]?.object { objects.append(object) }
      }
    }
    return objects
  }

  // MARK: Pages

  @inline(__always)
  private static func place(_ key: Int64) -> Int { Int(key & Int64(pageSize - 1)) }

  /// Brings up the page of the key. False when there is none.
  @inline(__always)
  private func turn(to key: Int64) -> Bool {
    let wanted = key / Int64(Self.pageSize)
    return wanted == number ? page != nil : find(wanted)
  }

  private func find(_ wanted: Int64) -> Bool {
    guard let found = pages[wanted] else { return false }
    writeCount()
    number = wanted
    page = found.objects
    count = found.count
    return true
  }

  private func startPage(of key: Int64) {
    writeCount()
    let new = ReferencePage()
    number = key / Int64(Self.pageSize)
    page = new
    count = 0
    pages[number] = (new, 0)
  }

  private func endPage() {
    assert((0..<Self.pageSize).allSatisfy { page?[$0] == nil }, "nobody is left on the page")
    page?.deallocate()
    page = nil
    pages[number] = nil
    number = -1
  }

  /// Writes the count of the page at hand where the dictionary has it.
  private func writeCount() {
    if let page { pages[number] = (page, count) }
  }
}
