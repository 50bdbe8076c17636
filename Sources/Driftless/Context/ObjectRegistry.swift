/// Objects of one hierarchy of entities by primary key, not held.
///
/// Every object that is read, saved or let go passes through it, mostly in the order of the keys: keys that follow each
/// other share a page, and the page that was used last is at hand.
final class ObjectRegistry {
  private typealias Page = UnsafeMutablePointer<Unmanaged<ManagedObject>?>

  /// Keys a page.
  private static let pageSize = 32

  private var pages: [Int64: (objects: Page, count: Int)] = [:]
  /// The page that was used last, which the dictionary knows with an older count.
  private var number: Int64 = -1
  private var objects: Page?
  private var count = 0

  deinit {
    settle()
    for page in pages.values { page.objects.deallocate() }
  }

  func object(_ key: Int64) -> ManagedObject? {
    guard turn(to: key), let objects else { return nil }
    return objects[Self.place(key)]?.takeUnretainedValue()
  }

  func insert(_ object: ManagedObject) {
    if !turn(to: object.key) { startPage(of: object.key) }
    guard let objects else { return }
    let place = Self.place(object.key)
    if objects[place] == nil { count += 1 }
    objects[place] = .passUnretained(object)
  }

  func remove(_ object: ManagedObject) {
    guard turn(to: object.key), let objects else { return }
    let place = Self.place(object.key)
    guard objects[place]?.toOpaque() == Unmanaged.passUnretained(object).toOpaque() else { return }
    objects[place] = nil
    count -= 1
    if count == 0 { endPage() }
  }

  func forEach(_ body: (ManagedObject) -> Void) {
    settle()
    for page in pages.values {
      for place in 0..<Self.pageSize {
        if let object = page.objects[place] { body(object.takeUnretainedValue()) }
      }
    }
  }

  // MARK: Pages

  @inline(__always)
  private static func place(_ key: Int64) -> Int { Int(key & Int64(pageSize - 1)) }

  /// Brings up the page of the key. False when there is none.
  @inline(__always)
  private func turn(to key: Int64) -> Bool {
    let wanted = key / Int64(Self.pageSize)
    return wanted == number ? objects != nil : find(wanted)
  }

  private func find(_ wanted: Int64) -> Bool {
    guard let page = pages[wanted] else { return false }
    settle()
    number = wanted
    objects = page.objects
    count = page.count
    return true
  }

  private func startPage(of key: Int64) {
    settle()
    let page = Page.allocate(capacity: Self.pageSize)
    page.initialize(repeating: nil, count: Self.pageSize)
    number = key / Int64(Self.pageSize)
    objects = page
    count = 0
    pages[number] = (page, 0)
  }

  private func endPage() {
    objects?.deallocate()
    objects = nil
    pages[number] = nil
    number = -1
  }

  /// Writes the count of the page at hand where the dictionary has it.
  private func settle() {
    if let objects { pages[number] = (objects, count) }
  }
}
