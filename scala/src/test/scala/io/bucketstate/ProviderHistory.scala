package io.bucketstate

import scala.collection.mutable
import scala.util.{Random, Try}

import org.apache.spark.sql.execution.streaming.state._
import org.scalatest.Assertions

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.config.{ConfigKey, MetricKey}
import io.bucketstate.record.{Expiry, TimedValue}
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{EngineUnderTest, ExpiryModel, ProviderHarness, StandsAlone}

/**
 * One store through its provider's doors, step by step, beside a map per version. A version is found to be what its map
 * is, or a step fails; so does the end, if the history has not come by what it is to show.
 *
 * @param rivals  whether other executors make attempts at versions, too: with checkpoint ids
 * @param windows whether values have times, and old ones are removed together
 * @param short   whether memory is so short that all leaves it that can
 */
final class ProviderHistory(
    harness: ProviderHarness,
    conf: Seq[(String, String)],
    random: Random,
    prefixScans: Boolean = false,
    rivals: Boolean = false,
    expiry: Option[Expiry] = None,
    windows: Boolean = false,
    short: Boolean = false
) extends Assertions {
  import ProviderHistory._

  private val isExact = !conf.contains(Blind)
  private val versions = mutable.ArrayBuffer[Model](ExpiryModel(expiry))
  private val ids = mutable.ArrayBuffer[Option[String]](None)
  private var oldest = 0 // of the versions that can still be opened
  private var provider = harness.provider(conf: _*)
  private var store: StateStore = _
  private var open: Model = ExpiryModel(expiry)
  private var now = 10000L // seconds
  private val readers = mutable.ArrayBuffer.empty[(ReadStateStore, Model)]
  private val ownScans = mutable.ArrayBuffer.empty[HalfScan] // of the open version
  private val readersScans = mutable.ArrayBuffer.empty[(ReadStateStore, HalfScan)]
  private val left = mutable.ArrayBuffer.empty[HalfScan] // that their store has ended under
  private val keepsFew = conf.exists(_._1 == Retained)
  private val retained = conf.toMap.get(Retained).fold(100)(_.toInt)
  private var builtOn = 0 // version that this provider last opened to write on it
  private var isOvertaken = false // the driver has gone on from an older one
  private val figures = mutable.Map.empty[String, Long].withDefaultValue(0L) // of all commits
  private var finished = 0 // scans that came to their end after something was written
  private var deleted = 0 // changelogs
  private val last = mutable.Queue.empty[String] // steps, for whoever looks for what went wrong

  private def newest: Int = versions.size - 1

  /** As a later session has it, which need not say in how many buckets the checkpoint is. */
  private def anew(): StateStoreProvider = {
    val isTold = newest == 0 || random.nextBoolean()
    harness.provider(conf.filter(isTold || _._1 != ConfigKey.NumBuckets.key): _*)
  }

  def run(steps: Int): Unit =
    try {
      for (_ <- 1 to steps) step()
      end()
      (oldest to newest).foreach(requireThere)
      if (steps >= LongEnough) requireMet()
    } finally {
      // Of what stays open after a failure, other suites find threads.
      ownScans.clear() // which would only fail once more
      readersScans.clear()
      Try(end())
      provider.close()
    }

  private def requireThere(version: Int): Unit = {
    val reader = provider.getReadStore(version.toLong, ids(version))
    assert(contents(reader) == versions(version).plain, s"version $version, $oldest is the oldest")
    ours(reader).release()
  }

  /** What these settings must have led to, or the history has shown little. */
  private def requireMet(): Unit = {
    assert(finished > 0)
    assert(deleted > 0 || !keepsFew)
    val evictions = if (short) Seq(MetricKey.Evictions, MetricKey.ColdReads) else Nil
    val runs = if (conf.exists(_._1.contains("snapshot"))) Seq(MetricKey.Runs) else Nil
    (evictions ++ runs).foreach(metric => assert(figures(metric.name) > 0, metric.name))
  }

  private def step(): Unit = random.nextInt(100) match {
    case n if n < 42  => noted("write")(write())
    case n if n < 45  => noted("half a scan")(halfScan())
    case n if n < 58  => noted("remove")(remove())
    case n if n < 60  => noted("maintain")(maintain())
    case n if n < 70  => noted("look")(look())
    case n if n < 72  => noted("look together")(lookTogether())
    case n if n < 82  => noted("commit")(commit())
    case n if n < 85  => noted("abort")(abort())
    case n if n < 88  => noted("retry")(retryOlder())
    case n if n < 92  => noted("open reader")(openReader())
    case n if n < 96  => noted("check reader")(checkReader())
    case n if n < 98  => noted("scan")(scan())
    case 98 if rivals => noted("rival")(rivalAttempt())
    case _            =>
      random.nextInt(6) match {
        case 0 => noted("stand alone")(standAlone())
        case 1 => noted("write anew")(writeAnew())
        case _ => noted("restart")(restart())
      }
  }

  private def noted(name: String)(step: => Unit): Unit = {
    if (last.size == 60) last.dequeue()
    last.enqueue(s"$name of ${if (store == null) newest else store.version}")
    step
  }

  private def someKey(): (Long, String) = {
    val n = random.nextInt(60)
    ((n % 7).toLong, s"k$n" + "x" * (n % 20))
  }

  private def begin(version: Int = newest, snapshot: Boolean = false): Unit = if (store == null) {
    store = EngineUnderTest.orRetry(
      ours(provider)
        .getStore(version.toLong, ids(version), forceSnapshotOnCommit = snapshot, loadEmpty = false)
    )
    open = versions(version).begun()
    builtOn = version
    isOvertaken = false
  }

  private def write(): Unit = {
    begin()
    val k = someKey()
    val v = (someNumber(), "v" * random.nextInt(300))
    store.put(key(k._1, k._2), value(v._1, v._2))
    open = written(open, k, v)
  }

  /** Any, or the microseconds of a time that may be late. */
  private def someNumber(): Long =
    if (expiry.isEmpty && !windows) random.nextLong()
    else {
      now += random.nextInt(3)
      (now - random.nextInt(random.nextInt(150) + 1)) * 1000000 + random.nextInt(1000000)
    }

  private def written(model: Model, k: (Long, String), v: (Long, String)): Model =
    model.put(k, v, expiry.fold(TimedValue.Never)(_.startOf(v._1 / 1000000)))

  private def remove(): Unit = if (windows && random.nextInt(4) == 0) removeOld() else removeOne()

  /** As an operator does behind a watermark, for which some that is not so old may still come. */
  private def removeOld(): Unit = {
    begin()
    val old = open.plain.collect { case (k, v) if v._1 < (now - 60) * 1000000 => k }
    old.foreach(k => store.remove(key(k._1, k._2)))
    open = old.foldLeft(open)(_.removed(_))
  }

  private def removeOne(): Unit = {
    begin()
    val k = someKey()
    store.remove(key(k._1, k._2))
    open = open.removed(k)
  }

  private def look(): Unit = {
    begin()
    val k = someKey()
    val found = store.get(key(k._1, k._2))
    assert(
      Option(found).map(valueOf) == open.get(k),
      s"$k, the last steps were ${last.mkString(", ")}"
    )
    assert(ours(store).keyExists(key(k._1, k._2), Default) == open.get(k).isDefined)
  }

  private def lookTogether(): Unit = {
    begin()
    val wanted = Seq.fill(random.nextInt(20))(someKey())
    val rows = wanted.map(k => key(k._1, k._2)).toArray
    val found = ours(store).multiGet(rows, Default).map(row => Option(row).map(valueOf)).toSeq
    assert(found == wanted.map(open.get(_)))
  }

  /** A scan that goes on while there is more written: what it gives was there when it began. */
  private final class HalfScan(reads: ReadStateStore, model: Model) {
    private val number = random.nextInt(8).toLong
    private val isPart = prefixScans && random.nextBoolean()
    private val pairs = if (isPart) reads.prefixScan(prefix(number)) else reads.iterator()
    private val wanted = model.plain.filter(!isPart || _._1._1 == number)
    private val found = mutable.ArrayBuffer.empty[((Long, String), (Long, String))]

    /** Whether it has come to its end. */
    def goOn(): Boolean = {
      for (_ <- 1 to 1 + random.nextInt(30) if pairs.hasNext) {
        val pair = pairs.next()
        found += keyOf(pair.key) -> valueOf(pair.value)
      }
      val isOver = !pairs.hasNext
      if (isOver) {
        pairs.close()
        assert(found.size == wanted.size && found.toMap == wanted, last.mkString(", "))
        finished += 1
      }
      isOver
    }

    def finish(): Unit = while (!goOn()) ()

    def close(): Unit = pairs.close()
  }

  private def halfScan(): Unit = {
    begin()
    left.filterInPlace { scan =>
      val isClosed = random.nextBoolean()
      if (isClosed) scan.close()
      !isClosed
    }
    ownScans.filterInPlace(!_.goOn())
    readersScans.filterInPlace(!_._2.goOn())
    if (ownScans.size < 2) ownScans += new HalfScan(store, open)
    if (readers.nonEmpty && readersScans.size < 2) {
      val (reader, model) = readers(random.nextInt(readers.size))
      readersScans += reader -> new HalfScan(reader, model)
    }
  }

  /** Some are left half-way, as by whoever looks for the first that fits. */
  private def endOwnScans(): Unit = {
    val (whole, half) = ownScans.toSeq.partition(_ => random.nextInt(4) > 0)
    whole.foreach(_.finish())
    left ++= half
    ownScans.clear()
  }

  /** Maintenance comes by. Versions that are not retained are opened no more; readers of them go on. */
  private def maintain(): Unit = if (!isOvertaken) {
    def changelogs = harness.storeFolder.toFile.list.filter(_.endsWith(".changelog")).toSet
    val before = changelogs
    provider.doMaintenance()
    deleted += (before -- changelogs).size
    oldest = math.max(oldest, builtOn - retained + 1)
    if (random.nextBoolean()) requireThere(oldest)
  }

  private def scan(): Unit = {
    begin()
    if (prefixScans) {
      val p = random.nextInt(8).toLong
      val found = store.prefixScan(prefix(p)).map(x => keyOf(x.key) -> valueOf(x.value)).toMap
      assert(found == open.plain.filter(_._1._1 == p))
    } else assert(contents(store) == open.plain)
  }

  private def commit(): Unit = {
    begin()
    endOwnScans()
    val base = store.version.toInt
    assert(store.commit() == base + 1L)
    val told = store.metrics
    told.customMetrics.foreach { case (metric, n) => figures(metric.name) += n }
    val isOld = told.customMetrics.exists { case (metric, n) =>
      metric.name == MetricKey.Uncounted.name && n > 0
    }
    val made = open
    record(base, made, store.getStateStoreCheckpointInfo())
    store = null
    if (isOld) assert(!isExact, "exact counts are never of an older version")
    else if (told.numKeys != made.size) {
      // Whether it is the count that is wrong, or what was counted.
      val reader = provider.getReadStore(base + 1L, ids(base + 1))
      val there = contents(reader)
      ours(reader).release()
      fail(
        s"version ${base + 1} has ${made.size} keys, ${told.numKeys} were told, and a scan finds " +
          s"${there.size}; wrong are ${(there.toSet -- made.plain) ++ (made.plain.toSet -- there)}; " +
          s"the last steps were ${last.mkString(", ")}"
      )
    }
  }

  /** The driver's view: this attempt is the one that the next batch builds on. */
  private def record(base: Int, made: Model, info: StateStoreCheckpointInfo): Unit = {
    assert(info.batchVersion == base + 1L)
    assert(info.baseStateStoreCkptId == ids(base))
    assert(info.stateStoreCkptId.isDefined == rivals)
    // An id is of one attempt alone, unless one that is made again comes to the very same.
    if (rivals && ids.contains(info.stateStoreCkptId)) {
      assert(ids.indexOf(info.stateStoreCkptId) == base + 1 && versions(base + 1) == made)
    }
    versions.takeInPlace(base + 1)
    ids.takeInPlace(base + 1)
    versions += made
    ids += info.stateStoreCkptId
  }

  /** Another executor makes a version too; the driver then takes its attempt, or does not. */
  private def rivalAttempt(): Unit = {
    val base = Math.max(oldest, newest - random.nextInt(3))
    val rival = harness.provider(conf: _*)
    val k = someKey()
    val v = (someNumber(), "rival")
    val info = attempt(rival, base.toLong, ids(base))(k -> v)()
    rival.close()
    if (random.nextBoolean()) {
      abort() // what is open here may build on a version that is now replaced
      record(base, written(versions(base).begun(), k, v), info)
      isOvertaken ||= builtOn > base
    }
  }

  private def abort(): Unit = if (store != null) {
    endOwnScans()
    store.abort()
    store = null
  }

  private def end(): Unit = {
    abort()
    readersScans.foreach(_._2.finish())
    readersScans.clear()
    readers.foreach { case (reader, _) => ours(reader).release() }
    readers.clear()
  }

  /** A retry: Spark opens a version again that was already built upon. */
  private def retryOlder(): Unit = {
    abort()
    val back = Math.min(newest - oldest, 1 + random.nextInt(4))
    begin(newest - back)
    assert(contents(store) == open.plain)
  }

  private def openReader(): Unit = {
    val version = Math.max(oldest, newest - random.nextInt(3))
    readers += provider.getReadStore(version.toLong, ids(version)) -> versions(version)
  }

  /** What a reader opened stays as it was, also when a retry replaces that version meanwhile. */
  private def checkReader(): Unit = if (readers.nonEmpty) {
    val opened @ (reader, model) = readers(random.nextInt(readers.size))
    assert(contents(reader) == model.plain, s"reader at ${reader.version}")
    if (random.nextBoolean()) {
      readers -= opened
      readersScans.filterInPlace(_._1 ne reader)
      ours(reader).release()
    }
  }

  /** A version is left as a manifest alone, as tools do that move state; perhaps without what was before it. */
  private def standAlone(): Unit = {
    end()
    begin(snapshot = true)
    write()
    commit()
    end()
    provider.close()
    val withOlder = random.nextBoolean()
    if (!withOlder) oldest = newest
    StandsAlone.leave(harness.storeFolder, Attempt(newest.toLong, ids(newest)), withOlder)
    provider = anew()
    builtOn = 0
    isOvertaken = false
  }

  /** A version is written as a state by itself; what has expired of it by then is not written. */
  private def writeAnew(): Unit = {
    abort()
    val base = newest
    store = ours(provider)
      .getStore(base.toLong, None, forceSnapshotOnCommit = false, loadEmpty = true)
    open = ExpiryModel(expiry).begun()
    assert(contents(store).isEmpty)
    versions(base).plain.foreach { case (k, v) =>
      store.put(key(k._1, k._2), value(v._1, v._2))
      open = written(open, k, v)
    }
    assert(contents(store) == open.plain)
    if (random.nextInt(4) == 0) abort()
    else {
      assert(store.commit() == base + 1L)
      if (isExact) assert(store.metrics.numKeys == open.size)
      val info = store.getStateStoreCheckpointInfo()
      assert(info.baseStateStoreCkptId.isEmpty)
      record(base, open, info.copy(baseStateStoreCkptId = ids(base)))
      store = null
    }
  }

  private def restart(): Unit = {
    end() // readers too: a provider is closed when its tasks are over
    provider.close()
    provider = anew()
    builtOn = 0
    isOvertaken = false
  }
}

object ProviderHistory {

  /** Steps in which all comes about that the settings are to bring about; with the second engine histories have fewer. */
  private final val LongEnough = 700

  private type Model = ExpiryModel[(Long, String), (Long, String)]

  /** How many of the newest versions stay: Spark's setting. */
  val Retained: String = "spark.sql.streaming.minBatchesToRetain"

  /** Lets writes look nothing up to count keys. */
  val Blind: (String, String) =
    "spark.sql.streaming.stateStore.bucketed.exactKeyCount" -> "false"
}
