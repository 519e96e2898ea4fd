package io.bucketstate.history

import io.bucketstate.testkit.TidySuite

/** Which stores wait for their databases: those with much by themselves, and of all together those with their share. */
class UnwrittenBytesSuite extends TidySuite {

  private final class Stores(most: Long) {
    private val all = new UnwrittenBytes
    private var each = Map.empty[Int, Long]

    def set(bytes: (Int, Long)*): Unit = bytes.foreach { case (store, now) =>
      all.changed(each.getOrElse(store, 0L), now)
      each += store -> now
    }

    def total: Long = all.total

    def waiting: Set[Int] = each.collect {
      case (store, own) if all.areOver(most, own) => store
    }.toSet
  }

  test("one store waits above the limit, and not at it") {
    val stores = new Stores(100)
    stores.set(1 -> 100)
    assert(stores.waiting.isEmpty)
    stores.set(1 -> 101)
    assert(stores.waiting == Set(1))
    stores.set(1 -> 0)
    assert(stores.waiting.isEmpty && stores.total == 0)
  }

  test("where many have a little, those wait that have as much as others or more") {
    val stores = new Stores(100)
    stores.set((1 to 10).map(_ -> 10L): _*)
    assert(stores.waiting.isEmpty)
    stores.set(3 -> 11L)
    assert(stores.waiting.contains(3))
    stores.set(4 -> 1L, 5 -> 30L)
    assert(stores.waiting.contains(5) && !stores.waiting(4))
    stores.set(5 -> 0L)
    assert(stores.waiting.isEmpty && stores.total == 82)
  }

  test("whoever has little does not wait for one that has much, nor for how many have nothing") {
    val stores = new Stores(100)
    stores.set((1 to 200).map(_ -> 1L): _*)
    stores.set((3 to 200).map(_ -> 0L): _*)
    stores.set(1 -> 20L, 2 -> 90L)
    assert(stores.waiting == Set(2))
  }

  test("equal shares that do not add up exactly are shares all the same") {
    val stores = new Stores(100)
    stores.set(1 -> 50L, 2 -> 51L, 3 -> 50L)
    assert(stores.waiting == Set(1, 2, 3))
  }
}
