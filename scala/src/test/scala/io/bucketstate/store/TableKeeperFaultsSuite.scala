package io.bucketstate.store

import java.lang.reflect.{InvocationTargetException, Method, Proxy}
import java.util.UUID
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{CountDownLatch, Executors, TimeUnit}

import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext, ExecutionContextExecutorService, Future}

import io.bucketstate.background.{Patience, Ticker}
import io.bucketstate.checkpoint.recovery.Recovered
import io.bucketstate.history.{StoreHistory, UnwrittenBytes}
import io.bucketstate.record.{BucketAssigner, BucketKey, FamilySpec, Scans}
import io.bucketstate.table.{StateTable, StateTables}
import io.bucketstate.testkit.{Changes, MemoryFileStore, StepFault, TextRecords, TidySuite}

/** What becomes of the table when something goes wrong with it, and of tasks that want the same one at the same time. */
class TableKeeperFaultsSuite extends TidySuite {
  import TableKeeperFaultsSuite._

  private val assigner = new BucketAssigner(2)
  private val spec = FamilySpec(Changes.descriptor(0), BucketKey.Whole, Scans.Nothing)

  private final class Room(limitMs: Long = 60000L) {
    val loads: AtomicInteger = new AtomicInteger
    var published: Seq[Long] = Nil
    @volatile var onLoad: Long => Unit = _ => ()
    @volatile var alive: () => Unit = () => ()
    @volatile var failing = ""
    val keeper: TableKeeper = new TableKeeper(
      (version, _) => {
        loads.incrementAndGet()
        onLoad(version)
        val table = StateTables.heap(assigner, version, Seq(spec))
        Recovered(failingAt(table, name => name == failing))
      },
      new StoreHistory(new MemoryFileStore, isFollowed = false, new UnwrittenBytes),
      2,
      () => 0L,
      Patience(limitMs, Ticker.System, () => alive()),
      recovered => published :+= recovered.table.newest
    )

    def write(version: Long): Opened = {
      val opened = keeper.openForWrite(version, None)
      (1 to 100).foreach(n =>
        opened.table.families.head.put(TextRecords.key(s"$version $n", assigner))
      )
      opened
    }

    def commit(opened: Opened): Unit =
      keeper.committed(opened.table, UUID.randomUUID(), None)
  }

  private def isReloaded(opened: Opened): Boolean = opened match {
    case Opened.Reloaded(_, isKept) => isKept
    case _                          => false
  }

  for (at <- Seq("before", "after"))
    test(s"a table that cannot be undone is not opened again, where it fails $at its work") {
      val room = new Room
      room.commit(room.write(0))
      val opened = room.write(1)
      room.failing = s"$at abort"
      assertThrows[StepFault.StepError](room.keeper.aborted(opened.table))
      room.failing = ""
      assert(isReloaded(room.write(1)))
    }

  for (at <- Seq("before", "after"))
    test(s"a table that cannot take its commit is not opened again, where it fails $at its work") {
      val room = new Room
      room.commit(room.write(0))
      val opened = room.write(1)
      room.failing = s"$at commit"
      assertThrows[StepFault.StepError](room.commit(opened))
      room.failing = ""
      assert(isReloaded(room.write(1)) && room.keeper.commitOf(2).isEmpty)
    }

  test("what another table's task cannot undo is no matter of this one") {
    val room = new Room
    val first = room.write(0)
    room.keeper.forget()
    room.commit(room.write(0))
    room.failing = "before abort"
    assertThrows[StepFault.StepError](room.keeper.aborted(first.table))
    room.failing = ""
    assert(!isReloaded(room.write(1)))
  }

  test("two tasks that want the same version load it once, and see all that follows from it") {
    withThreads { implicit threads =>
      val room = new Room
      val (begun, goOn) = (new CountDownLatch(1), new CountDownLatch(1))
      room.onLoad = _ => { begun.countDown(); goOn.await() }
      val reader = Future(room.keeper.openForRead(3, None))
      begun.await()
      val writer = Future {
        val opened = room.keeper.openForWrite(3, None)
        (opened, room.published)
      }
      assert(!writer.isCompleted)
      // Nobody else waits for the load.
      assert(room.keeper.coldParts.isEmpty && room.keeper.isLoading && !room.keeper.isResident)
      room.keeper.whenIdle(_ => fail("there is no table"))
      goOn.countDown()
      val (opened, told) = Await.result(writer, 1.minute)
      assert(!isReloaded(opened) && told == Seq(3L))
      assert(Await.result(reader, 1.minute).table eq opened.table)
      assert(room.loads.get == 1)
    }
  }

  test("a task that is killed waits for no load of another one") {
    withThreads { implicit threads =>
      val room = new Room
      val (begun, goOn) = (new CountDownLatch(1), new CountDownLatch(1))
      room.onLoad = _ => { begun.countDown(); goOn.await() }
      val reader = Future(room.keeper.openForRead(3, None))
      begun.await()
      room.alive = () => throw new IllegalStateException("killed")
      assertThrows[IllegalStateException](room.keeper.openForWrite(3, None))
      Thread.currentThread().interrupt()
      assertThrows[InterruptedException](room.keeper.openForWrite(3, None))
      goOn.countDown()
      assert(isReloaded(Await.result(reader, 1.minute)))
    }
  }

  test("a load that hangs holds up nobody for ever, and is nobody else's when it comes to an end") {
    withThreads { implicit threads =>
      val room = new Room(limitMs = 20L)
      val (begun, goOn) = (new CountDownLatch(1), new CountDownLatch(1))
      room.onLoad = _ => { begun.countDown(); goOn.await() }
      val reader = Future(room.keeper.openForRead(3, None))
      begun.await()
      room.onLoad = _ => ()
      val writer = room.write(3)
      assert(isReloaded(writer))
      room.commit(writer)
      goOn.countDown()
      val late = Await.result(reader, 1.minute)
      assert((late.table ne writer.table) && !isReloaded(late))
      assert(!isReloaded(room.write(4)) && room.published == Seq(3L))
    }
  }

  test("a load that fails is tried by who waits for it") {
    withThreads { implicit threads =>
      val room = new Room
      val (begun, goOn) = (new CountDownLatch(1), new CountDownLatch(1))
      room.onLoad = _ => {
        begun.countDown()
        goOn.await()
        room.onLoad = _ => ()
        throw new IllegalStateException("storage is away")
      }
      val reader = Future(room.keeper.openForRead(3, None))
      begun.await()
      val writer = Future(room.keeper.openForWrite(3, None))
      goOn.countDown()
      assert(isReloaded(Await.result(writer, 1.minute)))
      assertThrows[IllegalStateException](Await.result(reader, 1.minute))
    }
  }

  test("what is forgotten while it is loaded is loaded anew for a writer, and is a reader's own") {
    val room = new Room
    room.onLoad = _ => if (room.loads.get == 1) room.keeper.forget()
    assert(isReloaded(room.keeper.openForWrite(3, None)) && room.loads.get == 2)
    room.keeper.forget()
    room.onLoad = _ => if (room.loads.get == 3) room.keeper.forget()
    assert(!isReloaded(room.keeper.openForRead(4, None)) && room.published == Seq(3L))
  }

  test("a reader of another version than the one that is loaded to be written has it for itself") {
    val room = new Room
    var other = Option.empty[Opened]
    room.onLoad = version => if (version == 3) other = Some(room.keeper.openForRead(4, None))
    assert(isReloaded(room.keeper.openForWrite(3, None)))
    assert(!other.exists(isReloaded))
  }

  test(
    "tables that are read count until their readers have ended, whether they are the store's or not"
  ) {
    val room = new Room
    room.commit(room.write(0))
    val own = room.keeper.memoryBytes
    val first = room.keeper.openForRead(1, None).table
    assert(room.keeper.memoryBytes == own)
    room.keeper.forget()
    assert(room.keeper.memoryBytes == own)
    room.keeper.endRead(first, 1)
    assert(room.keeper.memoryBytes == 0)

    room.commit(room.write(5))
    val newer = room.keeper.memoryBytes
    val alone = room.keeper.openForRead(2, None).table
    assert(room.keeper.memoryBytes == newer + alone.memoryBytes && alone.memoryBytes > 0)
    room.keeper.endRead(alone, 2)
    assert(room.keeper.memoryBytes == newer)
    val replayed = StateTables.heap(assigner, 3, Seq(spec))
    room.keeper.reading(replayed)
    assert(room.keeper.memoryBytes > newer)
    room.keeper.endRead(replayed, 3)
    assert(room.keeper.memoryBytes == newer)
  }
}

private object TableKeeperFaultsSuite {

  def withThreads(body: ExecutionContext => Any): Unit = {
    val threads: ExecutionContextExecutorService =
      ExecutionContext.fromExecutorService(Executors.newCachedThreadPool())
    try {
      body(threads)
      ()
    } finally {
      threads.shutdown()
      assert(threads.awaitTermination(1, TimeUnit.MINUTES))
    }
  }

  /** A table of which a method, such as `abort`, fails before or after its work while `isFailing` says so of it. */
  def failingAt(inner: StateTable, isFailing: String => Boolean): StateTable = {
    def fail(step: String): Unit = if (isFailing(step)) throw new StepFault.StepError(step)
    Proxy
      .newProxyInstance(
        classOf[StateTable].getClassLoader,
        Array[Class[_]](classOf[StateTable]),
        (_: Any, method: Method, arguments: Array[AnyRef]) => {
          fail(s"before ${method.getName}")
          val result =
            try
              method.invoke(inner, (if (arguments == null) Array.empty[AnyRef] else arguments): _*)
            catch { case e: InvocationTargetException => throw e.getCause }
          fail(s"after ${method.getName}")
          result
        }
      )
      .asInstanceOf[StateTable]
  }
}
