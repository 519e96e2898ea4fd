package io.bucketstate.bench

import java.lang.management.ManagementFactory
import java.nio.file.{Files, Paths}

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

import com.sun.management.OperatingSystemMXBean

/** What the benchmark takes from the machine it runs on: the clock, the console and the heap. */
object Host {
  // scalafix:off DisableSyntax
  // A benchmark measures real time and talks to a person; both go through here and nowhere else.
  private val started = System.nanoTime()

  def nanos(): Long = System.nanoTime()

  def say(line: String): Unit = println(line)

  /** For the person alone: of a JVM that is asked by another, what it says is its answer. */
  def aside(line: String): Unit = System.err.println(line)
  // scalafix:on DisableSyntax

  def progress(line: String): Unit =
    say(f"[${(nanos() - started) / 1e9}%7.1f s] $line")

  /** Processor time of the calling thread: other processes do not add to it. */
  def threadNanos(): Long = ManagementFactory.getThreadMXBean.getCurrentThreadCpuTime

  /**
   * The share of all processors that other processes took since the last call, 0 to 1: above a tenth
   * or so the times say more about the neighbours than about the stores.
   */
  def loadOfOthers(): Double = ManagementFactory.getOperatingSystemMXBean match {
    case system: OperatingSystemMXBean =>
      math.max(0.0, system.getCpuLoad - system.getProcessCpuLoad)
    case _ => 0.0
  }

  /** The collections of garbage so far. */
  def collections(): Collections = {
    val collectors = ManagementFactory.getGarbageCollectorMXBeans.asScala
    Collections(collectors.map(_.getCollectionCount).sum, collectors.map(_.getCollectionTime).sum)
  }

  /** What this process has in memory and had at most, heap, code and native memory together; none but on Linux. */
  def resident(): Option[Resident] = {
    val status = Paths.get("/proc/self/status")
    Option.when(Files.exists(status)) {
      val lines = Files.readAllLines(status).asScala.map(_.split("\\s+")).map(f => f(0) -> f).toMap
      def bytes(field: String): Long = lines(field)(1).toLong << 10
      val heap = ManagementFactory.getMemoryMXBean.getHeapMemoryUsage.getCommitted
      Resident(bytes("VmRSS:"), bytes("VmHWM:"), heap)
    }
  }

  /** Live heap bytes: collects until two readings agree, so that soft leftovers do not count. */
  def settledHeapBytes(): Long = {
    val memory = ManagementFactory.getMemoryMXBean
    @tailrec
    def settle(previous: Long, attempts: Int): Long = {
      memory.gc()
      val used = memory.getHeapMemoryUsage.getUsed
      val settled = math.abs(used - previous) < (256L << 10)
      if (settled || attempts == 0) used else settle(used, attempts - 1)
    }
    settle(Long.MaxValue, attempts = 8)
  }
}

/**
 * Bytes of a process that are in memory: at a moment, and the most there were until then.
 *
 * @param heap what the heap has taken from the system at that moment, which may be more than is in use
 */
final case class Resident(bytes: Long, most: Long, heap: Long)

/** How many there were, and the milliseconds that they took. */
final case class Collections(count: Long, ms: Long) {
  def -(earlier: Collections): Collections = Collections(count - earlier.count, ms - earlier.ms)
}
